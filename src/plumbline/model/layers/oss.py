"""Layer ``oss``: a target's own server writes and reads a file beside it, without the network.

It stands between the device and the target through a client: a loss that it shares with the client
lies in the server, one that it shares with the device in the disk.
"""

from __future__ import annotations

from plumbline.model.layers.layer import Layer, times_of_calls
from plumbline.model.record import Operation, Scenario
from plumbline.model.spec import ProbeSpec

OSS = Layer(
    name="oss",
    noun="target on its server",
    operations=(Operation.WRITE, Operation.READ),
    quantities=times_of_calls(Operation.WRITE, Operation.READ),
    scenarios=(Scenario.SINGLE,),
    spec=ProbeSpec("fio", bytes=1 << 30, seconds=60.0, transfer_bytes=1 << 20, queue_depth=8),
    min_efficiency=0.4,
    depth=3,
    results="file systems of servers",
    measured_by="ost",
    one="write and read of target {} on its server",
    all="write and read of all targets on their servers",
    on_targets=True,
    on_servers=True,
    grouped=True,
    if_named=True,
)
