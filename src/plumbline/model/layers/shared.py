"""Layer ``shared``: parts behind several devices or targets, which are read at once to fill them.

A part that lost some of its rate slows no single read that asks for less than it has left.  So the
fewest reads that ask for all of it start on their nodes at one moment, and their sum is judged.
"""

from __future__ import annotations

from plumbline.model.layers.layer import Layer
from plumbline.model.record import Operation, Scenario
from plumbline.model.spec import ProbeSpec

SHARED = Layer(
    name="shared",
    noun="shared part",
    operations=(Operation.READ,),
    scenarios=(Scenario.TOGETHER,),
    spec=ProbeSpec("sgp_dd", bytes=0, seconds=10.0, queue_depth=8, repeats=1),
    min_efficiency=0.5,
    depth=2,
    results="reads of shared parts",
    joint=True,
    if_named=True,
)
