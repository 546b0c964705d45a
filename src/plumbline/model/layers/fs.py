"""Layer ``fs``: all targets of a file system at once, with ranks under MPI."""

from __future__ import annotations

from plumbline.model.layers.layer import Layer, times_of_calls
from plumbline.model.record import Operation, Scenario
from plumbline.model.spec import ProbeSpec

FS = Layer(
    name="fs",
    noun="target",
    operations=(Operation.WRITE, Operation.READ, Operation.REREAD),
    quantities=times_of_calls(Operation.WRITE, Operation.READ, Operation.REREAD),
    scenarios=(Scenario.TOGETHER,),
    spec=ProbeSpec("mpi", bytes=1 << 30, seconds=60.0, queue_depth=1, repeats=1),
    min_efficiency=0.5,
    depth=7,
    results="targets at once",
    on_targets=True,
    whole=True,
)
