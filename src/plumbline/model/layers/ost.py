"""Layer ``ost``: single storage targets; a client writes and reads a file on one target.

File systems that the policy names have small random reads of that file as well.
"""

from __future__ import annotations

from plumbline.model.layers.layer import Layer, times_of_calls, times_of_requests
from plumbline.model.record import Operation, Scenario
from plumbline.model.small_reads import SMALL_READS, TIMES_OF_SMALL_READS
from plumbline.model.spec import ProbeSpec

OST = Layer(
    name="ost",
    noun="target",
    operations=(Operation.WRITE, Operation.READ),
    chosen=SMALL_READS,
    quantities=(
        *times_of_calls(Operation.WRITE, Operation.READ),
        *TIMES_OF_SMALL_READS,
        *times_of_requests(Operation.WRITE, Operation.READ, *SMALL_READS),
    ),
    scenarios=(Scenario.SINGLE,),
    spec=ProbeSpec("fio", bytes=1 << 30, seconds=60.0, transfer_bytes=1 << 20, queue_depth=8),
    min_efficiency=0.3,
    depth=6,
    results="targets",
    measured_by="ost",
    one="write and read of target {}",
    all="write and read of all targets",
    on_targets=True,
    grouped=True,
)
