"""Terms of a parallel run: tests, places of ranks, duration, and contradictions.

Writing ranks of one client share a server only if that cannot be avoided, and a rank reads the file
of another client if there is one.

``ost`` is the five-minute test of the Edison report, section VI: one file with one stripe on each
target, one rank for each file.  The six others are from its table 2, which prints a stripe count of
1 for shared files; no figure of the report agrees with that.  Here a file lies on one target, so
its rate is the target's, unless a person asks for more stripes; the test sets their size.

The console plans with these terms, and a node with terms from options uses them too.
"""

from __future__ import annotations

from typing import Annotated, Mapping, NamedTuple, Optional, Sequence

from plumbline.model.codec import positional
from plumbline.model.errors import UsageError
from plumbline.model.profile import CALL_BYTES
from plumbline.model.units import format_bytes, parse_bytes
from plumbline.model.validation import counts


@positional
class Place(NamedTuple):
    """Place of one rank: its part of a file, which starts at ``offset`` bytes.

    ``server`` is the server of the target, or the target itself if the server is unknown.  Ranks
    with the same ``path`` share the file.
    """

    target: str
    server: str
    path: str
    offset: Annotated[int, counts] = 0


def spread(ranks: int, clients: int) -> tuple[int, ...]:
    """Return the number of ranks of each client: equal, with one more on the first ones."""
    share, remainder = divmod(ranks, clients)
    return tuple(share + (index < remainder) for index in range(clients))


def assign(servers: Sequence[str], clients: Sequence[str]) -> tuple[int, ...]:
    """Return the index of the place of each rank, one to one.

    ``servers`` has the server of each place, ``clients`` the client of each rank; both have the
    same length.  Server by server, places go to the clients with the most remaining ranks: the
    construction of Gale and Ryser, which finds an assignment without two ranks of a client on one
    server if there is one.
    """
    if len(servers) != len(clients):
        raise ValueError(f"{len(servers)} places for {len(clients)} ranks")
    free = {client: [r for r, c in enumerate(clients) if c == client] for client in clients}
    places = [0] * len(clients)
    for waiting in _by_server(servers):
        while waiting:
            ranked = sorted(free, key=lambda client: -len(free[client]))
            for client in [client for client in ranked if free[client]][: len(waiting)]:
                places[free[client].pop(0)] = waiting.pop(0)
    return tuple(places)


def _by_server(servers: Sequence[str]) -> list[list[int]]:
    places: dict[str, list[int]] = {}
    for index, server in enumerate(servers):
        places.setdefault(server, []).append(index)
    # servers with the most places first: the others are easy to divide
    return sorted(places.values(), key=len, reverse=True)


def readers(clients: Sequence[str]) -> tuple[int, ...]:
    """Return for each rank the rank whose file it reads; no two read the same.

    With ranks in order of their clients, a shift by the largest number of ranks of a client leads
    to another client, unless one has more than half of all ranks; with one client it leads to
    another rank.
    """
    counts = {client: clients.count(client) for client in dict.fromkeys(clients)}
    order = sorted(range(len(clients)), key=lambda rank: (-counts[clients[rank]], clients[rank]))
    shift = 1 if len(counts) == 1 else max(counts.values(), default=0)
    read = [0] * len(clients)
    for index, rank in enumerate(order):
        read[rank] = order[(index + shift) % len(order)]
    return tuple(read)


MIB = 1 << 20


@positional
class Aggregation(NamedTuple):
    """Aggregation of small transfers in memory, as with IOBUF.

    There are ``buffers`` of ``size`` bytes; with two or more, one is filled while another is
    written, and reading is ahead by as many.
    """

    buffers: int
    size: int


def parse_aggregation(text: str) -> Optional[Aggregation]:
    """Parse ``2x32MiB``; return None for ``none``; raise UsageError for anything else."""
    number, _, size = text.partition("x")
    if text == "none":
        return None
    size_bytes = parse_bytes(size) if size else 0
    if not number.isdecimal() or len(number) > 3 or not int(number) or size_bytes < 1:
        raise UsageError(f"--gather {text!r} is not NxSIZE; write 2x32MiB or none")
    return Aggregation(int(number), size_bytes)


class Method(NamedTuple):
    """One way to move bytes.

    ``transfer`` is the bytes of one call.  ``api`` is ``posix`` or ``mpiio``.  ``shared``: all
    ranks of a target write one file.  ``stripe_bytes`` is the stripe size of files on several
    targets.  ``hints`` are passed to MPI-IO.  Each rank writes and reads the data of ``processes``
    processes, itself included: each has an equal part of every transfer.
    """

    name: str
    transfer: Annotated[int, counts]
    api: str = "posix"
    shared: bool = False
    stripe_bytes: int = MIB
    collective: bool = False
    hints: Mapping[str, str] = {}
    aggregation: Optional[Aggregation] = None
    processes: int = 1

    @property
    def romio(self) -> bool:
        """True if there is a hint that only ROMIO understands."""
        return any(name.startswith("romio_") for name in self.hints)


_BUFFERED = {"romio_cb_read": "enable", "romio_cb_write": "enable"}
_UNBUFFERED = {"romio_cb_read": "disable", "romio_cb_write": "disable"}
# Table 2: IOBUF_PARAMS count=2:size=32m for all three, count=1:size=1000000 for the shared one.
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
    """Return a test by its name; raise UsageError for an unknown one."""
    if name not in TESTS:
        raise UsageError(f"there is no test {name!r}; known are {', '.join(TESTS)}")
    return TESTS[name]


def share_of_memory(memory_bytes: int, ranks_of_client: int) -> int:
    """Return the bytes of one rank with which its client moves 1.5 times its memory.

    The factor is from the report (section III.D): no cache is large enough.
    """
    return max(1, round(memory_bytes * 1.5 / max(1, ranks_of_client)))


START_S = 60.0
DRAIN_S = 60.0
SPARE_S = 60.0

_BLOCK = 4096
_MAX_NOTES = 1 << 30


class RunSize(NamedTuple):
    """Total number of ranks, number of targets and clients."""

    ranks: int
    targets: int
    clients: int


def pattern(test: Method, run_size: RunSize, fixed: str) -> str:
    """Return the terms without a field in a probe's specification; ``fixed`` is data or time."""
    gathered = test.aggregation
    words = [
        test.name,
        f"fixed {fixed}",
        f"{run_size.ranks} ranks on {run_size.targets} targets",
        f"{run_size.clients} clients",
        f"{gathered.buffers} buffers of {gathered.size} bytes" if gathered else "",
    ]
    return ", ".join(word for word in words if word)


def limit_s(seconds: float, operations: int) -> float:
    """Return the seconds after which a run with this number of operations counts as hung."""
    return START_S + operations * (seconds + max(seconds, DRAIN_S))


def may_be_direct(test: Method) -> bool:
    """Return True if a test can use O_DIRECT: POSIX calls of whole blocks.

    Gathered transfers must be whole blocks too, or else the last buffer would not be.
    """
    return test.api == "posix" and not _has_partial_blocks(test)


class Names(NamedTuple):
    """Names of terms in messages: bytes of a rank, bytes of a call, O_DIRECT."""

    bytes: str
    transfer: str
    direct: str


def contradiction(test: Method, rank_bytes: int, *, direct: bool, names: Names) -> str:
    """Return a contradiction between the terms, with its remedy; empty if there is none."""
    gathered = test.aggregation
    call_bytes = gathered.size if gathered else test.transfer
    notes = CALL_BYTES * rank_bytes // call_bytes
    if rank_bytes < test.transfer:
        return (
            f"{format_bytes(rank_bytes)} for each rank are less than one transfer of "
            f"{test.transfer} bytes; raise {names.bytes}"
        )
    if notes > _MAX_NOTES:
        return (
            f"to note every call of {test.transfer} bytes each rank would need "
            f"{format_bytes(notes)} of memory; lower {names.bytes}, or raise {names.transfer}"
        )
    if direct and test.api == "mpiio":
        return f"MPI-IO, which {test.name} uses, has no {names.direct}; choose another test"
    if direct and _has_partial_blocks(test):
        return (
            f"{names.direct} needs transfers and buffers of whole {_BLOCK} bytes, which "
            f"{test.name} has not; do without it, or choose another {names.transfer}"
        )
    return ""


def _has_partial_blocks(test: Method) -> bool:
    """Return True if calls may not be whole blocks."""
    gathered = test.aggregation
    return bool(test.transfer % _BLOCK or (gathered and gathered.size % _BLOCK))
