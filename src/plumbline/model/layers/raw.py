"""Layer ``raw``: block devices; their server reads each alone, then all together.

Devices that the topology calls flash have small random reads as well.
"""

from __future__ import annotations

from plumbline.model.layers.layer import Layer
from plumbline.model.record import Operation, Scenario
from plumbline.model.small_reads import SMALL_READS, TIMES_OF_SMALL_READS
from plumbline.model.spec import ProbeSpec

RAW = Layer(
    name="raw",
    noun="disk",
    operations=(Operation.READ,),
    chosen=SMALL_READS,
    quantities=TIMES_OF_SMALL_READS,
    scenarios=(Scenario.SINGLE, Scenario.TOGETHER),
    spec=ProbeSpec("sgp_dd", bytes=1 << 30, seconds=60.0, transfer_bytes=1 << 20, queue_depth=8),
    min_efficiency=0.5,
    depth=1,
    results="raw reads",
    measured_by="raw",
    one="raw read of {}",
    all="raw reads of all devices",
    on_devices=True,
    grouped=True,
)
