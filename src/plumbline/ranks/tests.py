"""The tests by name: how each moves its bytes.

``ost`` is the five-minute test of the Edison report, section VI: one file of one stripe on each
target, one rank for each file.  The six others are its table 2.  The stripe count of its shared
files is printed as 1, which no figure of that report agrees with.  Here a file lies on one target,
so that its rate belongs to that, unless a person asks for more stripes; of these the test has the
size.
"""

from __future__ import annotations

from typing import Mapping, NamedTuple, Optional

from plumbline.errors import UsageError

MIB = 1 << 20


class Aggregation(NamedTuple):
    """Small transfers gathered in memory before the file system sees them, as IOBUF does.

    ``buffers`` of ``size`` bytes; with two or more one is filled while another is written,
    and reading is ahead by as many.
    """

    buffers: int
    size: int


class Method(NamedTuple):
    """One way to move bytes.

    ``transfer`` is the bytes of one call.  ``api`` is ``posix`` or ``mpiio``.  ``shared``: the
    ranks of a target write one file.  ``stripe_bytes`` is the size of a stripe where files lie on
    several targets.  ``hints`` are given to MPI-IO.
    """

    name: str
    transfer: int
    api: str = "posix"
    shared: bool = False
    stripe_bytes: int = MIB
    collective: bool = False
    hints: Mapping[str, str] = {}
    aggregation: Optional[Aggregation] = None


_BUFFERED = {"romio_cb_read": "enable", "romio_cb_write": "enable"}
_UNBUFFERED = {"romio_cb_read": "disable", "romio_cb_write": "disable"}
# Table 2: IOBUF_PARAMS count=2:size=32m of all three, count=1:size=1000000 of the shared one.
_TWO_OF_32M = Aggregation(2, 32 * MIB)
_ONE_OF_1M = Aggregation(1, 1_000_000)


def _shared(name: str, transfer: int, stripe: int, hints: Mapping[str, str]) -> Method:
    aggregation = None if hints is _BUFFERED else _ONE_OF_1M
    return Method(name, transfer, "mpiio", True, stripe, hints is _BUFFERED, hints, aggregation)


TESTS: Mapping[str, Method] = {
    test.name: test
    for test in (
        Method("ost", MIB),
        Method("posix-fpp-10k", 10_000, aggregation=_TWO_OF_32M),
        Method("posix-fpp-1m1", 1_000_000, aggregation=_TWO_OF_32M),
        Method("posix-fpp-1m2", MIB, aggregation=_TWO_OF_32M),
        _shared("mpiio-shared-10k", 10_000, MIB, _UNBUFFERED),
        _shared("mpiio-shared-1m1", 1_000_000, 4 * MIB, _BUFFERED),
        _shared("mpiio-shared-1m2", MIB, 4 * MIB, _BUFFERED),
    )
}


def named_test(name: str) -> Method:
    """Return a test; raise UsageError for a name that is none."""
    if name not in TESTS:
        raise UsageError(f"there is no test {name!r}; known are {', '.join(TESTS)}")
    return TESTS[name]


def share_of_memory(memory_bytes: int, ranks_of_client: int, factor: float = 1.5) -> int:
    """Return the bytes of one rank that make its client move ``factor`` times its memory.

    The report takes 1.5 (section III.D), which leaves no cache large enough.
    """
    return max(1, round(memory_bytes * factor / max(1, ranks_of_client)))
