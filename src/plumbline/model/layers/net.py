"""Layer ``net``: pairs of hosts; in each slot a host sends to its partner and receives from it."""

from __future__ import annotations

from plumbline.model.layers.layer import Layer
from plumbline.model.record import Operation, Scenario
from plumbline.model.spec import ProbeSpec

NET = Layer(
    name="net",
    noun="host",
    operations=(Operation.SEND, Operation.RECEIVE),
    scenarios=(Scenario.SINGLE,),
    spec=ProbeSpec("netperf", bytes=0, seconds=10.0, queue_depth=1, repeats=1, direct=False),
    min_efficiency=0.1,
    depth=5,
    results="network",
    measured_by="net",
    all="the network between pairs of hosts",
    paired=True,
)
