"""Terms of a parallel run: tests, places of ranks, duration, and contradictions.

Two rules: the writing ranks of one client share a server only if that cannot be avoided, and a
rank reads the file of another client if there is one.

``ost`` is the five-minute test of the Edison report, section VI: one file of one stripe on each
target, one rank for each file.  The six others are its table 2.  The stripe count of its shared
files is printed as 1, which no figure of that report agrees with.  Here a file lies on one target,
so that its rate belongs to that, unless a person asks for more stripes; of these the test has the
size.

The console plans with these, and a node that takes its terms from options has the same.
"""

from __future__ import annotations

from typing import Annotated, Mapping, NamedTuple, Optional, Sequence

from plumbline.model.codec import positional
from plumbline.model.errors import UsageError
from plumbline.model.units import format_bytes, parse_bytes
from plumbline.model.validation import counts
from plumbline.parallel.profile import CALL_BYTES


@positional
class Place(NamedTuple):
    """Place of one rank: a part of a file, which starts at ``offset`` bytes.

    ``server`` is the server of the target, or the target itself if the server is not known.
    Ranks with the same ``path`` share the file.
    """

    target: str
    server: str
    path: str
    offset: Annotated[int, counts] = 0


def spread(ranks: int, clients: int) -> tuple[int, ...]:
    """Return the number of ranks of each client, equal but for one more on the first ones."""
    each, more = divmod(ranks, clients)
    return tuple(each + (index < more) for index in range(clients))


def assign(servers: Sequence[str], clients: Sequence[str]) -> tuple[int, ...]:
    """Return for each rank the index of its place, one to one.

    ``servers`` names the server of each place, ``clients`` the client of each rank; there are as
    many of the one as of the other.  Server by server, places go to the clients that have the most
    ranks left: that is the construction of Gale and Ryser, which finds an assignment without two
    ranks of a client on one server whenever there is one.
    """
    if len(servers) != len(clients):
        raise ValueError(f"{len(servers)} places for {len(clients)} ranks")
    free = {client: [r for r, c in enumerate(clients) if c == client] for client in clients}
    places = [0] * len(clients)
    for waiting in _by_server(servers):
        while waiting:
            most_left = sorted(free, key=lambda client: -len(free[client]))
            for client in [client for client in most_left if free[client]][: len(waiting)]:
                places[free[client].pop(0)] = waiting.pop(0)
    return tuple(places)


def _by_server(servers: Sequence[str]) -> list[list[int]]:
    places: dict[str, list[int]] = {}
    for index, server in enumerate(servers):
        places.setdefault(server, []).append(index)
    # servers with the most places first, which leaves the last ones easy to divide
    return sorted(places.values(), key=len, reverse=True)


def readers(clients: Sequence[str]) -> tuple[int, ...]:
    """Return for each rank the rank whose place it reads, one to one.

    With ranks in order of their clients, a shift by the largest client's ranks leads to another
    client, if no client has more than half of all ranks; with one client, to another rank.
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
    """Small transfers gathered in memory before the file system sees them, as IOBUF does.

    ``buffers`` of ``size`` bytes; with two or more one is filled while another is written,
    and reading is ahead by as many.
    """

    buffers: int
    size: int


def parse_aggregation(text: str) -> Optional[Aggregation]:
    """Return the buffers of ``2x32MiB``, None for ``none``; raise UsageError."""
    number, _, size = text.partition("x")
    if text == "none":
        return None
    size_bytes = parse_bytes(size) if size else 0
    if not number.isdecimal() or len(number) > 3 or not int(number) or size_bytes < 1:
        raise UsageError(f"--gather {text!r} is not NxSIZE; write 2x32MiB or none")
    return Aggregation(int(number), size_bytes)


class Method(NamedTuple):
    """One way to move bytes.

    ``transfer`` is the bytes of one call.  ``api`` is ``posix`` or ``mpiio``.  ``shared``: the
    ranks of a target write one file.  ``stripe_bytes`` is the size of a stripe where files lie on
    several targets.  ``hints`` are given to MPI-IO.  Each rank writes the data of ``processes``,
    itself among them, and reads for them: a part of each transfer is of each.
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
        """True if a hint is one that ROMIO alone understands."""
        return any(name.startswith("romio_") for name in self.hints)


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


def share_of_memory(memory_bytes: int, ranks_of_client: int) -> int:
    """Return the bytes of one rank that make its client move 1.5 times its memory.

    The report takes 1.5 (section III.D), which leaves no cache large enough.
    """
    return max(1, round(memory_bytes * 1.5 / max(1, ranks_of_client)))


START_S = 60.0
DRAIN_S = 60.0
SPARE_S = 60.0

_BLOCK = 4096
_MOST_NOTES = 1 << 30


class RunSize(NamedTuple):
    """Number of ranks in all, targets and clients."""

    ranks: int
    targets: int
    clients: int


def pattern(test: Method, crowd: RunSize, fixed: str) -> str:
    """Return the terms that a probe's specification has no field for; ``fixed`` is data or time."""
    gathered = test.aggregation
    words = [
        test.name,
        f"fixed {fixed}",
        f"{crowd.ranks} ranks on {crowd.targets} targets",
        f"{crowd.clients} clients",
        f"{gathered.buffers} buffers of {gathered.size} bytes" if gathered else "",
    ]
    return ", ".join(word for word in words if word)


def limit_s(seconds: float, operations: int) -> float:
    """Return the seconds after which a run of so many operations counts as hung."""
    return START_S + operations * (seconds + max(seconds, DRAIN_S))


def may_be_direct(test: Method) -> bool:
    """Return True if the calls of a test can bypass the page cache: POSIX calls of whole blocks.

    Gathered transfers must be whole blocks too, or else the last buffer, filled in part, is none.
    """
    return test.api == "posix" and not _odd(test)


class Names(NamedTuple):
    """Names of the terms for messages: bytes of a rank, of a call, O_DIRECT."""

    bytes: str
    transfer: str
    direct: str


def contradiction(test: Method, rank_bytes: int, *, direct: bool, names: Names) -> str:
    """Return the contradiction between terms and its remedy; empty if there is none."""
    gathered = test.aggregation
    call_bytes = gathered.size if gathered else test.transfer
    notes = CALL_BYTES * rank_bytes // call_bytes
    if rank_bytes < test.transfer:
        return (
            f"{format_bytes(rank_bytes)} for each rank are less than one transfer of "
            f"{test.transfer} bytes; raise {names.bytes}"
        )
    if notes > _MOST_NOTES:
        return (
            f"to note every call of {test.transfer} bytes each rank would need "
            f"{format_bytes(notes)} of memory; lower {names.bytes}, or raise {names.transfer}"
        )
    if direct and test.api == "mpiio":
        return f"MPI-IO, which {test.name} uses, has no {names.direct}; choose another test"
    if direct and _odd(test):
        return (
            f"{names.direct} needs transfers and buffers of whole {_BLOCK} bytes, which "
            f"{test.name} has not; do without it, or choose another {names.transfer}"
        )
    return ""


def _odd(test: Method) -> bool:
    """Return True if a call may not be of whole blocks."""
    gathered = test.aggregation
    return bool(test.transfer % _BLOCK or (gathered and gathered.size % _BLOCK))
