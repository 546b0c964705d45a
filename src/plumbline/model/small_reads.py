"""Small random reads, as users of flash feel them; layers of storage measure them where chosen.

``randread`` has one read in flight: its rate is the inverse of the mean time of a read.
``randread32`` keeps 32 in flight, which shows what a device does for many users at once.
"""

from __future__ import annotations

from plumbline.model.quantity import OPERATIONS_PER_S, SECONDS
from plumbline.model.record import Operation

SECONDS_OF_A_RUN = 5.0
"""About 50,000 reads of a healthy device with one in flight, so that 50 are above its p99.9."""

RANDOM = "random"
"""Pattern of a specification that reads at random places."""

QUANTILES = {"p50": "50", "p99": "99", "p99.9": "99.9"}
"""Quantities of small reads: the time that so many percent of the reads keep."""

TAIL = "p99.9"
"""Quantity judged besides the rate: a device that is slow by its tail alone has a usual rate."""


def _define(name: str, depth: int) -> Operation:
    return Operation.define(
        name,
        OPERATIONS_PER_S,
        tool="fio",
        seconds=SECONDS_OF_A_RUN,
        transfer_bytes=4096,
        queue_depth=depth,
        pattern=RANDOM,
    )


RANDREAD = _define("randread", 1)
RANDREAD32 = _define("randread32", 32)
SMALL_READS = (RANDREAD, RANDREAD32)

TIMES_OF_SMALL_READS = tuple(
    operation.define_quantity(name, SECONDS) for operation in SMALL_READS for name in QUANTILES
)
TAILS = tuple(operation.quantities[TAIL] for operation in SMALL_READS)
