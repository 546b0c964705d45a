"""Verdicts on the services of a site, kept beside its history while nothing is new.

A console hands all verdicts to Nagios every few minutes, and most of the day nothing has been
measured in between.  They are judged again if the plan or a record is new, if what the notes rest
on has changed, or once the clock turns a comparison otherwise.  Symptoms and space are judged each
time.
"""

from __future__ import annotations

import os
from contextlib import suppress
from math import isfinite
from pathlib import Path
from typing import Annotated, Iterable, NamedTuple, Optional, Sequence

from plumbline.model import parts
from plumbline.model.ages import filled
from plumbline.model.codec import compact, form, lenient, positional
from plumbline.model.errors import DocumentError, StoreError
from plumbline.model.layers import LAYERS
from plumbline.model.published import filled_figure
from plumbline.model.published import parts as pieces
from plumbline.model.service import Service
from plumbline.model.validation import times
from plumbline.model.verdict import Figure, Judged, Reason, State, Verdict
from plumbline.model.verdict_files import stamp
from plumbline.model.watched import Watch
from plumbline.site.nodes import SiteJudgement, judgement
from plumbline.site.verdicts import judge_symptoms
from plumbline.store.facts import ground_of_notes
from plumbline.store.files import load_document, seal
from plumbline.store.history import History
from plumbline.store.plan import load_plan
from plumbline.store.replacing import replace_own


def kept_beside(history: Path) -> Path:
    """Return the file with the kept verdicts of a history."""
    return history.with_name(f"{history.name}-verdicts.json")


@positional
class _Row(NamedTuple):
    """Verdict as its service shows it, with open ages and the fields of each :class:`Figure`."""

    node: str
    layer: str
    component: str
    group: bool
    state: State
    reason: Reason
    sentence: str
    figures: tuple[tuple[str, Optional[float], str, str, str, Optional[float]], ...]

    @classmethod
    def of(cls, judged: Judged) -> _Row:
        """Return the row of a verdict."""
        node, _, verdict = judged
        place = verdict.layer, verdict.component, verdict.group
        figures = tuple(
            (item.label, item.value, item.unit, item.warning, item.critical, item.maximum)
            for item in verdict.figures
        )
        return cls(node, *place, verdict.state, verdict.reason, verdict.sentence, figures)

    def at(self, now: float) -> Judged:
        """Return the verdict with the ages at ``now``, without evidence and ratios."""
        sentence = filled(pieces(self.sentence), now)
        figures = tuple(filled_figure(Figure(*cells), now) for cells in self.figures)
        verdict = Verdict(self.layer, self.component, self.state, self.reason, sentence)
        return Judged(self.node, now, verdict._replace(figures=figures, group=self.group))


@lenient
@form(1, "list of verdicts", "plumbline submit writes it again")
class _Kept(NamedTuple):
    """Verdicts judged at ``judged_at`` that hold before ``until``, in epoch seconds.

    ``ground`` tells their inputs from others; ``noted`` is True if one could have a note, which
    rests on facts of the ``nodes``.
    """

    ground: str
    judged_at: Annotated[float, times]
    until: Optional[Annotated[float, times]]
    noted: bool
    nodes: tuple[str, ...]
    services: tuple[Service, ...]
    verdicts: tuple[_Row, ...]

    def holds(self, ground: str, now: float) -> bool:
        """Return whether the verdicts are those that would be judged now."""
        in_time = self.judged_at <= now and (self.until is None or now < self.until)
        return in_time and self.ground == ground


class Answers(NamedTuple):
    """The verdicts of a site, and the services of its plan."""

    judged: Sequence[Judged]
    services: Sequence[Service]


def answers(plan: str, history: Path, now: float) -> Answers:
    """Return the verdicts of all services at ``now``, in seconds since the epoch.

    Raises:
        StoreError: there is no such history, or it cannot be read.
        DocumentError: the plan is missing or damaged.
    """
    kept = _load(history)
    # first, so that records that arrive meanwhile are judged the next time
    records = _records(plan, history)
    if kept is None or not kept.holds(records + _facts(history, kept.noted, kept.nodes, now), now):
        kept = _judge(plan, history, now, records)
        # who may not write here judges anew each time
        with suppress(StoreError):
            replace_own(kept_beside(history), seal(compact(kept)))
    others = [*judge_symptoms(kept.services, history, now), *_space(kept.services, history, now)]
    return Answers([*(row.at(now) for row in kept.verdicts), *others], kept.services)


def _space(services: Iterable[Service], history: Path, now: float) -> list[Judged]:
    """Return the verdicts on space; none without the part of that name."""
    nothing: list[Judged] = []
    return parts.ask("space", "judged", nothing, services, history, now)


def _load(history: Path) -> Optional[_Kept]:
    """Return the kept verdicts; None if they are missing or damaged, so they are judged anew."""
    try:
        return load_document(_Kept, str(kept_beside(history)))
    except DocumentError:
        return None


def _judge(file: str, history: Path, now: float, records: str) -> _Kept:
    plan, watch = load_plan(file), Watch(now)
    with judgement(plan, history, watch.moment) as site:
        judged, noted = _with_notes(site)
    nodes = tuple(plan.nodes)
    ground = records + _facts(history, noted, nodes, now)
    until = watch.until if isfinite(watch.until) else None
    return _Kept(ground, now, until, noted, nodes, plan.services, tuple(map(_Row.of, judged)))


def _with_notes(site: SiteJudgement) -> tuple[Sequence[Judged], bool]:
    """Return all verdicts, with notes where the part that locates is installed."""
    if not parts.is_installed("locate"):
        return site.services(), False
    result: tuple[Sequence[Judged], bool] = parts.load("locate", "contract").with_notes(site)
    return result


def _records(plan: str, history: Path) -> str:
    """Return a text that changes with the plan and with each record and run of the history."""
    with History(history, existing=True) as records:
        revision, running = records.revision([*LAYERS]), records.running()
    ground = [str(revision), compact(running)]
    # a missing file is an error of who reads it
    with suppress(OSError):
        # another installation may judge otherwise
        ground += [stamp(os.stat(path)) for path in (plan, __file__)]
        ground.append(str(os.stat(history).st_ino))
    return " ".join(ground)


def _facts(history: Path, noted: bool, nodes: Iterable[str], now: float) -> str:
    return f" {ground_of_notes(history, nodes, now)}" if noted else ""
