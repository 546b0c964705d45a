"""Layer ``rdma``: adapters of two hosts, of the same rail, measured by verbs without TCP.

In each slot an adapter writes into the memory of its partner, reads from it, and times small reads.
The layer ``net`` measures TCP between the same hosts, on InfiniBand over IPoIB: neither
shows what the other gives.
"""

from __future__ import annotations

from plumbline.model.layers.layer import Layer
from plumbline.model.quantity import SECONDS
from plumbline.model.record import Operation, Scenario
from plumbline.model.spec import ProbeSpec

READS = 1000
"""Reads whose times are measured, perftest's default: ten are above the 99th percentile."""

LATENCY = Operation.define(
    "latency", SECONDS, transfer_bytes=2, queue_depth=1, pattern=f"{READS} reads"
)
"""Time of a small read, there and back; the median."""

TIMES = ("mean", "p99", "max")
"""Further times of reads, besides the median."""

RDMA = Layer(
    name="rdma",
    noun="adapter",
    operations=(Operation.WRITE, Operation.READ, LATENCY),
    quantities=tuple(LATENCY.define_quantity(name, SECONDS) for name in TIMES),
    scenarios=(Scenario.SINGLE,),
    spec=ProbeSpec(
        "perftest",
        bytes=0,
        seconds=10.0,
        transfer_bytes=1 << 16,
        queue_depth=128,
        repeats=1,
        direct=False,
    ),
    min_efficiency=0.5,
    depth=4,
    results="RDMA",
    measured_by="rdma",
    all="RDMA between pairs of adapters",
    paired=True,
    by_verbs=True,
    if_named=True,
)
