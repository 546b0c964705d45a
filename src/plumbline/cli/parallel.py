"""``plumbline probe fs``: all targets at once, from an inventory or given as directories.

The targets are those that this node measures one by one; what a parallel run needs beyond that is
said by its options.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from socket import gethostname
from typing import Any, Mapping, NamedTuple, Sequence

from plumbline.cli.compare import lock_folder, named_directories
from plumbline.cli.history import DATABASE
from plumbline.cli.measure import SNAPSHOT, Manner, Result, measure, print_commands, print_json
from plumbline.cli.ranks_table import print_table
from plumbline.errors import UsageError
from plumbline.model.expectation import Expectation, Expectations, Limits
from plumbline.model.reference import Reference
from plumbline.model.spec import ProbeSpec
from plumbline.profile.calls import CALL_BYTES
from plumbline.ranks.job import Fixed
from plumbline.ranks.tests import Aggregation, Method, named_test, share_of_memory
from plumbline.run.clock import SystemClock
from plumbline.run.fs import FsUnit
from plumbline.run.launch import Client, Launch, parse_clients
from plumbline.run.lock import Locks
from plumbline.run.parallel import Course, limit_s
from plumbline.store.history import History
from plumbline.store.snapshot import EXPECTATIONS, load_expectations
from plumbline.units import format_bytes, format_duration, parse_bytes, parse_duration

ALL = "all"
"""What directories that are given together are called as a whole."""

_TOOL = "mpi"
_OPERATIONS = ("write/together", "read/together", "reread/together")
_SPARE_S = 60.0
_BLOCK = 4096
_MOST_NOTES = 1 << 30


class Members(NamedTuple):
    """The targets of one file system; ``servers`` are known from an inventory alone."""

    node: str
    name: str
    entries: tuple[Expectation, ...]
    servers: Mapping[str, str]
    limits: Limits


class Terms(NamedTuple):
    """What the options say of the run, for so many ``ranks`` in all."""

    test: Method
    ranks_per_target: int
    rank_bytes: int
    seconds: float
    fixed: Fixed
    direct: bool
    launch: Launch

    def spec(self, targets: int) -> ProbeSpec:
        """Return what makes two runs comparable, in figures and in words."""
        ranks = self.ranks_per_target * targets
        gathered = self.test.aggregation
        words = [
            self.test.name,
            f"fixed {self.fixed.value}",
            f"{ranks} ranks on {targets} targets",
            f"{max(1, len(self.launch.clients))} clients",
            f"{gathered.buffers} buffers of {gathered.size} bytes" if gathered else "",
            format_duration(self.seconds) if self.fixed is Fixed.TIME else "",
        ]
        return ProbeSpec(
            _TOOL,
            self.rank_bytes,
            self.seconds,
            self.test.transfer,
            queue_depth=1,
            repeats=1,
            direct=self.direct,
            pattern=", ".join(word for word in words if word),
        )


def probe_fs(arguments: argparse.Namespace) -> int:
    """Measure all targets at once, print what came of it, and return the exit code."""
    members = _given(arguments) if arguments.directory else _expected(arguments)
    terms = _terms(arguments, len(members.entries))
    course = Course(
        terms.test,
        terms.ranks_per_target,
        terms.launch,
        members.servers,
        terms.fixed,
        _work(arguments, terms.launch),
        Path(arguments.profile).absolute() if arguments.profile else None,
    )
    entries = _entries(members, terms)
    unit = FsUnit(entries[-1], entries[:-1], course)
    _refuse_too_much(unit.planned_bytes, parse_bytes(arguments.budget))
    if arguments.dry_run:
        return print_commands([unit])
    expectations = Expectations(members.node, "", tuple(entry.to_json() for entry in entries))
    result = _measured(arguments, expectations, unit)
    if arguments.directory:
        # a sum without a baseline has nothing to be judged by
        kept = tuple(one for one in result.verdicts if one.component != ALL)
        result = result._replace(verdicts=kept)
    if arguments.json:
        print_json(result)
    else:
        print_table(result, members.name)
    return result.end()


def _given(arguments: argparse.Namespace) -> Members:
    directories = named_directories(arguments.directory)
    if ALL in directories:
        raise UsageError(f"--directory {ALL}: that is the name of all together; take another one")
    limits = Limits()
    entries = tuple(
        _entry(name, ALL, {"kind": "directory", "directory": path}, (gethostname(), name))
        for name, path in directories.items()
    )
    return Members(gethostname(), ALL, entries, {}, limits)


def _expected(arguments: argparse.Namespace) -> Members:
    """Return the targets of one file system that this node measures one by one."""
    expectations = load_expectations(arguments.expectations or EXPECTATIONS)
    found = expectations.find("ost")
    names = list(dict.fromkeys(entry.group for entry in found))
    name = arguments.file_system or names[0]
    if name not in names or (len(names) > 1 and not arguments.file_system):
        raise UsageError(
            f"this node has the file systems {', '.join(names)}; choose one with --file-system"
        )
    chosen = [entry for entry in found if entry.group == name]
    wanted = arguments.component or [entry.component for entry in chosen]
    for unknown in set(wanted) - {entry.component for entry in chosen}:
        raise UsageError(f"{name} has no target {unknown} on this node; see plumbline plan")
    kept = [entry for entry in chosen if entry.component in wanted]
    entries = tuple(_entry(one.component, name, one.target, one.path) for one in kept)
    servers = {entry.component: entry.host for entry in kept}
    return Members(expectations.node, name, entries, servers, kept[0].limits)


def _entry(name: str, group: str, target: Mapping[str, Any], path: tuple[str, ...]) -> Expectation:
    references = {operation: Reference(None, None) for operation in _OPERATIONS}
    spec = ProbeSpec(_TOOL, 0, 0.0)
    return Expectation("fs", name, name, group, target, path, spec, references, Limits())


def _entries(members: Members, terms: Terms) -> tuple[Expectation, ...]:
    """Return what is expected of each target and, last, of all together."""
    spec = terms.spec(len(members.entries))
    longest = limit_s(terms.seconds, len(_OPERATIONS)) + _SPARE_S
    limits = members.limits._replace(hung_after_s=longest)
    kept = [one._replace(spec=spec, limits=limits, host=members.node) for one in members.entries]
    # in a group of its own: the sum is nobody's peer
    whole = _entry(
        members.name, f"{members.name} as a whole", {"kind": "parallel"}, (members.node,)
    )
    return (*kept, whole._replace(spec=spec, limits=limits, host=members.node))


def _terms(arguments: argparse.Namespace, targets: int) -> Terms:
    test = _test(arguments)
    if arguments.ranks < 1:
        raise UsageError("--ranks is the number of ranks on each target; give 1 or more")
    launch = Launch(
        arguments.launcher,
        _clients(arguments),
        arguments.python or "",
        tuple(arguments.launcher_option or ()),
    )
    ranks = arguments.ranks * targets
    terms = Terms(
        test,
        arguments.ranks,
        _rank_bytes(arguments, launch.clients, ranks),
        parse_duration(arguments.seconds),
        Fixed.TIME if arguments.fixed_time else Fixed.DATA,
        arguments.direct,
        launch,
    )
    _refuse_contradictions(terms)
    return terms


def _test(arguments: argparse.Namespace) -> Method:
    test = named_test(arguments.test)
    if arguments.transfer:
        test = test._replace(transfer=parse_bytes(arguments.transfer))
    if arguments.gather == "none":
        return test._replace(aggregation=None)
    if arguments.gather:
        number, _, size = arguments.gather.partition("x")
        if not number.isdigit() or not int(number) or not size:
            raise UsageError(f"--gather {arguments.gather!r} is not NxSIZE; write 2x32MiB or none")
        return test._replace(aggregation=Aggregation(int(number), parse_bytes(size)))
    return test


def _clients(arguments: argparse.Namespace) -> tuple[Client, ...]:
    if arguments.clients and arguments.hostfile:
        raise UsageError("--clients and --hostfile say the same; give one of them")
    if arguments.hostfile:
        try:
            return parse_clients(Path(arguments.hostfile).read_text(encoding="utf-8"), "\n")
        except OSError as error:
            raise UsageError(f"--hostfile {arguments.hostfile}: {error.strerror}") from error
    return parse_clients(arguments.clients or "")


def _rank_bytes(arguments: argparse.Namespace, clients: Sequence[Client], ranks: int) -> int:
    """Return the bytes of one rank: given, or 1.5 memories of a client, within the budget."""
    if arguments.bytes:
        return parse_bytes(arguments.bytes)
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    each = -(-ranks // max(1, len(clients)))
    return min(share_of_memory(memory, each), parse_bytes(arguments.budget) // ranks)


def _refuse_contradictions(terms: Terms) -> None:
    test, gathered = terms.test, terms.test.aggregation
    if terms.rank_bytes < test.transfer:
        raise UsageError(
            f"{format_bytes(terms.rank_bytes)} for each rank are less than one transfer of "
            f"{test.transfer} bytes; raise --bytes or --budget"
        )
    notes = CALL_BYTES * terms.rank_bytes // (gathered.size if gathered else test.transfer)
    if notes > _MOST_NOTES:
        raise UsageError(
            f"to note every call of {test.transfer} bytes each rank would need "
            f"{format_bytes(notes)} of memory; lower --bytes, or raise --transfer"
        )
    if terms.direct and (gathered.size if gathered else test.transfer) % _BLOCK:
        raise UsageError(f"--direct needs calls of whole {_BLOCK} bytes; choose another --transfer")
    if test.api == "mpiio" and (terms.direct or (gathered and gathered.buffers > 1)):
        raise UsageError("MPI-IO has no --direct, and --gather with one buffer alone")
    if test.collective and gathered:
        raise UsageError(f"{test.name} writes collectively, which --gather would keep it from")


def _refuse_too_much(planned: int, budget: int) -> None:
    if planned > budget:
        raise UsageError(
            f"the run would write {format_bytes(planned)}, its budget is {format_bytes(budget)}; "
            "lower --bytes or --ranks, or raise --budget"
        )


def _work(arguments: argparse.Namespace, launch: Launch) -> str:
    """Return the folder of the results; several clients must be told one that all of them see."""
    others = {client.name for client in launch.clients} - {"localhost", gethostname()}
    if others and not arguments.work:
        raise UsageError(
            f"--work names a folder that {', '.join(sorted(others))} see as well, for example on "
            "the file system that is measured; give it"
        )
    return os.path.abspath(arguments.work) if arguments.work else ""


def _measured(arguments: argparse.Namespace, expectations: Expectations, unit: FsUnit) -> Result:
    if not arguments.directory:
        state = Path(arguments.state)
        locks = Locks(Path(arguments.locks), SystemClock())
        with History(state / DATABASE) as history:
            manner = Manner(locks, state / SNAPSHOT, arguments.quiet, keep_files=False)
            return measure(expectations, [unit], history, manner)
    places = {
        entry["component"]: entry["target"].get("directory") for entry in expectations.entries
    }
    found = sorted(place for place in places.values() if place)
    places[ALL] = sha256("\n".join(found).encode()).hexdigest()[:12]
    locks = Locks(lock_folder(), SystemClock(), {k: v for k, v in places.items() if v})
    with tempfile.TemporaryDirectory(prefix="plumbline-") as folder:
        manner = Manner(locks, Path(folder) / SNAPSHOT, arguments.quiet, keep_files=False)
        try:
            with History(Path(folder) / DATABASE) as history:
                return measure(expectations, [unit], history, manner)
        finally:
            with suppress(OSError):
                locks.directory.rmdir()
