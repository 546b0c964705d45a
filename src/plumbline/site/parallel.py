"""All targets of a file system at once: which they are, and how much ranks move, and how."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Sequence

from plumbline.errors import UsageError
from plumbline.layers.fs import FS
from plumbline.model.expectation import Expectation, Expectations
from plumbline.model.limits import Limits
from plumbline.model.record import Operation
from plumbline.model.reference import Reference
from plumbline.model.spec import ProbeSpec
from plumbline.ranks.job import Fixed
from plumbline.ranks.terms import SPARE_S, Names, RunSize, contradiction, limit_s, pattern
from plumbline.ranks.tests import Method
from plumbline.run.launch import Launch
from plumbline.targets import STRIPED
from plumbline.units import format_duration

TOOL = "mpi"
OPERATIONS = (Operation.WRITE, Operation.READ, Operation.REREAD)
REREAD = (Operation.REREAD,)
"""All that is done to files which an earlier run has kept."""

ALL = "all"
"""What directories that are given together are called as a whole."""

_NAMES = Names("--bytes", "--transfer", "--direct")


class Terms(NamedTuple):
    """What makes up a run on any number of targets; ``seconds`` ends each operation.

    With ``stripes`` above 1 so many targets count as one, and each file lies on all of them.
    """

    test: Method
    ranks_per_target: int
    rank_bytes: int
    seconds: float
    fixed: Fixed
    direct: bool
    launch: Launch
    operations: tuple[Operation, ...] = OPERATIONS
    stripes: int = 1

    def spec(self, targets: int) -> ProbeSpec:
        """Return what makes two runs comparable, in figures and in words."""
        ranks = self.ranks_per_target * targets
        crowd = RunSize(ranks, targets * self.stripes, self.launch.hosts)
        words = [pattern(self.test, crowd, self.fixed.value)]
        words += [format_duration(self.seconds)] if self.fixed is Fixed.TIME else []
        words += ["kept files"] if self.operations == REREAD else []
        words += [f"files over {self.stripes} targets"] if self.stripes > 1 else []
        return ProbeSpec(
            TOOL,
            self.rank_bytes,
            self.seconds,
            self.test.transfer,
            queue_depth=1,
            repeats=1,
            direct=self.direct,
            pattern=", ".join(words),
        )

    def refuse_contradictions(self) -> None:
        """Raise UsageError where the options do not go together, naming one to change."""
        test, gathered = self.test, self.test.aggregation
        trouble = contradiction(test, self.rank_bytes, direct=self.direct, names=_NAMES)
        if trouble:
            raise UsageError(trouble)
        if test.api == "mpiio" and gathered and gathered.buffers > 1:
            raise UsageError(f"MPI-IO, which {test.name} uses, has --gather with one buffer alone")
        if test.collective and gathered:
            raise UsageError(f"{test.name} writes collectively, which --gather would keep it from")


class Members(NamedTuple):
    """The targets of one file system; ``servers`` are known from an inventory alone."""

    node: str
    name: str
    entries: tuple[Expectation, ...]
    servers: Mapping[str, str]
    limits: Limits


def member(name: str, group: str, target: Mapping[str, Any], path: tuple[str, ...]) -> Expectation:
    """Return a target of a file system, of which nothing is expected yet."""
    return Expectation(
        FS.name, name, name, group, target, path, ProbeSpec(TOOL, 0, 0.0), {}, Limits()
    )


def entries_of(members: Members, terms: Terms) -> tuple[Expectation, ...]:
    """Return what is expected of each target and, last, of all together."""
    references = {f"{one.value}/together": Reference(None, None) for one in terms.operations}
    longest = limit_s(terms.seconds, len(terms.operations)) + SPARE_S
    # in a group of its own: the sum is nobody's peer
    whole = member(
        members.name, f"{members.name} as a whole", {"kind": "parallel"}, (members.node,)
    )
    return tuple(
        one._replace(
            spec=terms.spec(len(members.entries)),
            references=references,
            limits=members.limits._replace(hung_after_s=longest),
            host=members.node,
        )
        for one in (*members.entries, whole)
    )


def document_of(members: Members, entries: tuple[Expectation, ...]) -> Expectations:
    """Return the entries as a document of this node."""
    return Expectations(members.node, "", tuple(entry.to_json() for entry in entries))


def in_stripes(members: Members, terms: Terms) -> Members:
    """Return the members as sets of ``terms.stripes`` targets, each with files on all of them.

    Targets that do not fill a set are left out.

    Raises:
        UsageError: files over several targets cannot be made on these.
    """
    if terms.stripes == 1:
        return members
    for entry in members.entries:
        if entry.target.get("kind") != "lustre":
            raise UsageError(
                f"{entry.component} is a target of kind {entry.target.get('kind')}; files over "
                "several targets are made on Lustre alone: leave --stripes out"
            )
    last = len(members.entries) - terms.stripes
    sets = tuple(
        _set(members.entries[first : first + terms.stripes], terms.test.stripe_bytes)
        for first in range(0, last + 1, terms.stripes)
    )
    return members._replace(entries=sets)


def _set(entries: Sequence[Expectation], stripe_bytes: int) -> Expectation:
    """Return several targets as one, called after the first and the number of the others."""
    first = entries[0]
    osts = [str(entry.target.get("ost", entry.component)) for entry in entries]
    return first._replace(
        component=f"{first.component}+{len(entries) - 1}",
        target={
            "kind": STRIPED.name,
            "mount": first.target["mount"],
            "osts": ",".join(osts),
            "stripe_bytes": stripe_bytes,
        },
        path=tuple(dict.fromkeys(part for entry in entries for part in entry.path)),
    )
