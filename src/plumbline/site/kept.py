"""One judgement of a site for all verbs, kept beside its history while nothing is new.

A console shows the verdicts to Nagios, people and Prometheus every few minutes, and most of the day
nothing has been measured in between.  The first verb judges and keeps four files, as most verbs
need only one: the verdicts, the figures of each operation, the suspects, and their evidence.  The
site is judged again if the plan or a record is new, if what notes and suspects rest on has changed,
or once the clock turns a comparison otherwise.  Symptoms and space are judged
each time.
"""

from __future__ import annotations

import os
from contextlib import suppress
from math import isfinite
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Iterable,
    Iterator,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    TypeVar,
    Union,
)

from plumbline.model import parts
from plumbline.model.ages import filled
from plumbline.model.codec import compact, form, lenient, positional
from plumbline.model.errors import DocumentError, StoreError
from plumbline.model.layers import LAYERS
from plumbline.model.published import filled_figure
from plumbline.model.published import parts as pieces
from plumbline.model.service import NODE, KeptService, Service
from plumbline.model.space import SpaceTerms
from plumbline.model.validation import times
from plumbline.model.verdict import Figure, Judged, Reason, State, Verdict
from plumbline.model.verdict_files import stamp
from plumbline.model.watched import Watch
from plumbline.site.nodes import SiteJudgement, judgement
from plumbline.site.verdicts import NodeVerdicts, Step, file_system_of, judge_symptoms, steps
from plumbline.store.facts import notes_fingerprint
from plumbline.store.files import load_document, seal
from plumbline.store.history import History
from plumbline.store.plan import load_plan, without_collector
from plumbline.store.replacing import replace_own


@positional
class _Row(NamedTuple):
    """Verdict with open ages, the fields of each :class:`Figure`, and its note for Nagios."""

    node: str
    layer: str
    component: str
    group: bool
    state: State
    reason: Reason
    sentence: str
    note: str
    counts: bool
    ratio_baseline: Optional[float]
    file_system: str
    figures: tuple[tuple[str, Optional[float], str, str, str, Optional[float]], ...]

    @classmethod
    def of(cls, judged: Judged, note: str, file_system: str) -> _Row:
        node, _, verdict = judged
        figures = tuple(
            (item.label, item.value, item.unit, item.warning, item.critical, item.maximum)
            for item in verdict.figures
        )
        return cls(
            *(node, verdict.layer, verdict.component, verdict.group, verdict.state),
            *(verdict.reason, verdict.sentence, note, verdict.counts, verdict.ratio_baseline),
            *(file_system, figures),
        )

    @property
    def is_member(self) -> bool:
        """Return whether the whole that the component belongs to has a verdict instead of it."""
        return not self.group and self.layer != NODE and LAYERS[self.layer].whole

    def at(self, now: float, note: str = "") -> Verdict:
        """Return the verdict with the ages at ``now`` and a note, without evidence."""
        sentence = filled(pieces(f"{self.sentence}{note}"), now)
        figures = tuple(filled_figure(Figure(*cells), now) for cells in self.figures)
        return Verdict(
            self.layer,
            self.component,
            self.state,
            self.reason,
            sentence,
            ratio_baseline=self.ratio_baseline,
            counts=self.counts,
            figures=figures,
            group=self.group,
        )


class _Head(NamedTuple):
    """Judgement of ``nodes`` at ``judged_at`` that holds before ``until``, in epoch seconds.

    ``ground`` tells its inputs from others; ``noted`` is True if it has suspects, or a verdict that
    could have a note, which rest on facts of the nodes.
    """

    ground: str
    judged_at: Annotated[float, times]
    until: Optional[Annotated[float, times]]
    noted: bool
    nodes: tuple[str, ...]

    def holds(self, ground: str, now: float) -> bool:
        """Return whether the judgement is that which would be made now."""
        in_time = self.judged_at <= now and (self.until is None or now < self.until)
        return in_time and self.ground == ground


_REMEDY = "the next plumbline submit writes it again"


@lenient
@form(3, "list of verdicts", _REMEDY)
class _Verdicts(NamedTuple):
    """Verdicts on all that a site measures, on groups, and on the probes of nodes."""

    head: _Head
    site: str
    space: Mapping[str, tuple[SpaceTerms, ...]]
    """Limits of the file systems whose space a node keeps."""
    services: tuple[KeptService, ...]
    verdicts: tuple[_Row, ...]


@lenient
@form(1, "list of figures", _REMEDY)
class _Figures(NamedTuple):
    """Figures of all operations of a site."""

    head: _Head
    steps: tuple[Step, ...]


@lenient
@form(1, "list of suspects", _REMEDY)
class _Suspects(NamedTuple):
    """Suspects in the form of the part that locates, to be published; None without that part."""

    head: _Head
    suspects: Any


@lenient
@form(1, "list of evidence", _REMEDY)
class _Evidence(NamedTuple):
    """Suspects with their evidence, to be shown; in the same form."""

    head: _Head
    evidence: Any


_Section = Union[_Verdicts, _Figures, _Suspects, _Evidence]
_Kind = TypeVar("_Kind", _Verdicts, _Figures, _Suspects, _Evidence)
_NAMES: dict[type[_Section], str] = {
    _Verdicts: "verdicts",
    _Figures: "figures",
    _Suspects: "suspects",
    _Evidence: "evidence",
}


def kept_beside(history: Path) -> tuple[Path, ...]:
    """Return the files with the kept judgement of a history, that with the verdicts first."""
    return tuple(_file(history, kind) for kind in _NAMES)


def _file(history: Path, kind: type[_Section]) -> Path:
    return history.with_name(f"{history.name}-{_NAMES[kind]}.json")


class Answers(NamedTuple):
    """The verdicts of a site, and the services of its plan."""

    judged: Sequence[Judged]
    services: Sequence[Service]


class SiteVerdicts(NamedTuple):
    """Verdicts of a site and of its nodes, without notes."""

    site: str
    nodes: Sequence[str]
    verdicts: Sequence[Verdict]


class KeptJudgement:
    """The judgement of a site at ``now``, in seconds since the epoch.

    All methods raise StoreError if there is no such history or it cannot be read, and DocumentError
    if the plan is missing or damaged.
    """

    def __init__(self, plan: str, history: Path, now: float) -> None:
        """Take the file of a plan, and the history of all its nodes."""
        self._plan = plan
        self._history = history
        self.now = now
        self._judged: dict[type[_Section], _Section] = {}

    def answers(self) -> Answers:
        """Return the verdicts of all services, with notes."""
        kept = self._section(_Verdicts)
        # no verdicts on probes if the plan has no service for them
        on_nodes = any(service.layer == NODE for service in kept.services)
        judged = [
            Judged(row.node, self.now, row.at(self.now, row.note))
            for row in kept.verdicts
            if not row.is_member and (on_nodes or row.layer != NODE)
        ]
        symptoms = judge_symptoms(kept.services, self._history, self.now)
        space = _space(kept.services, self._history, self.now)
        return Answers([*judged, *symptoms, *space], kept.services)

    def verdicts(self, *, members: bool = False) -> SiteVerdicts:
        """Return the verdicts on components and groups.

        With ``members``, targets driven at once have verdicts besides that on the whole.
        """
        kept = self._section(_Verdicts)
        verdicts = [
            row.at(self.now)
            for row in kept.verdicts
            if row.layer != NODE and (members or not row.is_member)
        ]
        return SiteVerdicts(kept.site, kept.head.nodes, verdicts)

    def by_node(self) -> list[NodeVerdicts]:
        """Return the verdicts of each node, without symptoms."""
        kept = self._section(_Verdicts)
        rows: dict[str, list[_Row]] = {node: [] for node in kept.head.nodes}
        for row in kept.verdicts:
            rows[row.node].append(row)
        return [_node(node, of_node, self.now) for node, of_node in rows.items()]

    def space(self) -> Mapping[str, Sequence[SpaceTerms]]:
        """Return the limits of the file systems whose space a node keeps."""
        return self._section(_Verdicts).space

    def steps(self) -> Sequence[Step]:
        """Return the figures of all operations."""
        return self._section(_Figures).steps

    def suspects(self) -> Any:
        """Return the suspects as the part that locates has made them, or as their document.

        None without that part, or if the plan has no services for them or cannot be located.
        """
        return self._section(_Suspects).suspects

    def evidence(self) -> Any:
        """Return the suspects with their evidence, as ``suspects`` does."""
        return self._section(_Evidence).evidence

    def _section(self, kind: type[_Kind]) -> _Kind:
        kept = self._judged.get(kind) or self._load(kind)
        self._judged[kind] = kept or self._judge(kind)
        section = self._judged[kind]
        assert isinstance(section, kind)
        return section

    def _load(self, kind: type[_Kind]) -> Optional[_Kind]:
        """Return a kept section; None if it is missing, damaged, or no longer true."""
        try:
            kept = load_document(kind, str(_file(self._history, kind)), _MAX_BYTES)
        except DocumentError:
            return None
        head = kept.head
        ground = self._records() + self._facts(head.noted, head.nodes)
        return kept if head.holds(ground, self.now) else None

    def _judge(self, kind: type[_Kind]) -> _Section:
        """Judge the site, keep all sections, and return one."""
        # first, so that records that arrive meanwhile are judged the next time
        records = self._records()
        with without_collector():
            sections = {type(section): section for section in self._sections(records)}
            for section in sections.values():
                # who may not write here judges anew each time, as for a number that JSON lacks
                with suppress(StoreError, ValueError):
                    replace_own(_file(self._history, type(section)), seal(compact(section)))
        self._judged.update(sections)
        return sections[kind]

    def _sections(self, records: str) -> Iterator[_Section]:
        plan, watch = load_plan(self._plan), Watch(self.now)
        with judgement(plan, self._history, watch.moment) as site:
            judged = _judged(site)
            noted = _noted(site, judged)
            figures = tuple(steps(site))
        ground = records + self._facts(noted.rests_on_facts, plan.nodes)
        until = watch.until if isfinite(watch.until) else None
        head = _Head(ground, self.now, until, noted.rests_on_facts, tuple(plan.nodes))
        rows = _rows(site, judged, noted.notes)
        space = {node: document.space for node, document in plan.nodes.items() if document.space}
        services = tuple(map(KeptService._make, plan.services))
        yield _Verdicts(head, plan.site, space, services, tuple(rows))
        yield _Figures(head, figures)
        yield _Suspects(head, noted.suspects)
        yield _Evidence(head, noted.evidence)

    def _records(self) -> str:
        """Return a text that changes with the plan and with each record and run of the history."""
        with History(self._history, existing=True) as records:
            revision, running = records.revision([*LAYERS]), records.running()
        ground = [str(revision), compact(running)]
        # a missing file is an error of who reads it
        with suppress(OSError):
            # another installation may judge otherwise
            ground += [stamp(os.stat(path)) for path in (self._plan, __file__)]
            ground.append(str(os.stat(self._history).st_ino))
        return " ".join(ground)

    def _facts(self, noted: bool, nodes: Iterable[str]) -> str:
        return f" {notes_fingerprint(self._history, nodes, self.now)}" if noted else ""


_MAX_BYTES = 1 << 29
"""Limit of a section, for a site with some hundred thousand measurements."""


def answers(plan: str, history: Path, now: float) -> Answers:
    """Return the verdicts of all services of a site; see :class:`KeptJudgement`."""
    return KeptJudgement(plan, history, now).answers()


def _space(services: Iterable[Service], history: Path, now: float) -> list[Judged]:
    """Return the verdicts on space; none without the part of that name."""
    nothing: list[Judged] = []
    return parts.ask("space", "judged", nothing, services, history, now)


class Noted(NamedTuple):
    """A note for each verdict, empty for most.

    ``rests_on_facts`` is whether one may be otherwise with other facts of the nodes.  The suspects
    and their evidence are in the form of the part that locates.
    """

    notes: Sequence[str]
    rests_on_facts: bool
    suspects: Any = None
    evidence: Any = None


def _judged(site: SiteJudgement) -> list[Judged]:
    """Return all verdicts, including those on the probes of nodes."""
    since = os.stat(site.plan.path).st_mtime
    probes = ((name, site.probes(name, since)) for name in site.nodes)
    on_nodes = [Judged(name, site.now, verdict) for name, verdict in probes if verdict]
    return [*site.verdicts(members=True), *on_nodes]


def _noted(site: SiteJudgement, judged: Sequence[Judged]) -> Noted:
    """Return the notes on verdicts, none where the part that locates is not installed."""
    nothing = Noted([""] * len(judged), rests_on_facts=False)
    noted: Noted = parts.ask("locate", "noted", nothing, site, judged)
    return noted


def _rows(site: SiteJudgement, judged: Sequence[Judged], notes: Sequence[str]) -> Iterator[_Row]:
    file_systems = {
        (node, entry.layer, entry.component): file_system_of(entry)
        for node, measured in site.nodes.items()
        for entry in measured
    }
    for result, note in zip(judged, notes):
        place = result.node, result.verdict.layer, result.verdict.component
        yield _Row.of(result, note, file_systems.get(place, ""))


def _node(node: str, rows: Sequence[_Row], now: float) -> NodeVerdicts:
    return NodeVerdicts(
        node,
        [
            (row.file_system, row.at(now))
            for row in rows
            if not (row.group or row.is_member or row.layer == NODE)
        ],
        [row.at(now) for row in rows if row.group],
        next((row.at(now) for row in rows if row.layer == NODE), None),
    )
