"""A sweep as it was asked for: targets, points, and the run of each point."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from plumbline.model.expectation import Expectation
from plumbline.model.record import Operation
from plumbline.run.fs import FsUnit
from plumbline.run.parallel import Course
from plumbline.run.sweep import Budget
from plumbline.site.parallel import Members, Terms, entries_of, in_stripes
from plumbline.sweep.estimate import Load
from plumbline.sweep.grid import Grid, Layout, Point, layout
from plumbline.sweep.ledger import Ledger

LAYER = "sweep"
"""Of all records of sweeps: no series of probes, and so no verdict, ever meets them."""

OPERATIONS = (Operation.WRITE, Operation.READ)


class Plan(NamedTuple):
    """A sweep as it was asked for; ``common`` is what the terms of all points share.

    ``bytes`` are those of each point, ``given`` or left to plumbline.  The targets of ``members``
    are in the order in which points take them.
    """

    members: Members
    grid: Grid
    common: Terms
    bytes: int
    given: bool
    load: Load
    budget: Budget
    alone: bool
    work: str
    state: Path

    def going_on(self, ledger: Ledger) -> Plan:
        """Return the plan with the bytes that the sweep has begun with."""
        return self._replace(bytes=ledger.point_bytes)

    def layout(self, point: Point) -> Layout:
        """Return where the ranks of a point work; raise UsageError when there is no place."""
        return layout(point, len(self.members.entries), self.alone)

    def terms(self, point: Point) -> Terms:
        """Return the terms of a point's run."""
        ranks = self.layout(point)
        return self.common._replace(
            test=self.common.test._replace(transfer=point.transfer),
            stripes=point.stripes,
            ranks_per_target=ranks.ranks,
            rank_bytes=self.bytes // ranks.all_ranks // point.transfer * point.transfer,
        )

    def unit(self, point: Point) -> tuple[FsUnit, Expectation]:
        """Return the run of a point, and what is expected of all its targets together."""
        terms = self.terms(point)
        chosen = self.members._replace(entries=self.members.entries[: self.layout(point).targets])
        chosen = in_stripes(chosen, terms)
        *entries, whole = (one._replace(layer=LAYER) for one in entries_of(chosen, terms))
        course = Course(
            terms.test,
            terms.ranks_per_target,
            terms.launch,
            self.members.servers,
            terms.fixed,
            self.work,
        )
        return FsUnit(whole, entries, course), whole

    def document(self) -> dict[str, Any]:
        """Return what two calls must have in common to be one sweep; budgets may differ."""
        common = self.common._asdict()
        common["test"] = self.common.test._asdict()
        return {
            "file_system": self.members.name,
            "targets": [[one.component, dict(one.target)] for one in self.members.entries],
            "grid": self.grid._asdict(),
            "bytes": self.bytes if self.given else 0,
            "alone": self.alone,
            "common": common,
        }

    @property
    def name(self) -> str:
        """Return what the sweep's file is called after, the same for the same document."""
        text = json.dumps(self.document(), sort_keys=True)
        return f"{self.members.name}-{sha256(text.encode()).hexdigest()[:12]}"

    @property
    def path(self) -> Path:
        """Return the file that keeps what is done."""
        return self.state / f"sweep-{self.name}.json"
