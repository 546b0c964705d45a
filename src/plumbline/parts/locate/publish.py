"""Site as Nagios shows it: suspects as path services, and notes added to other verdicts.

Notes name the service that bears an alarm, and the changes before the loss
of a whole group; both need the data of all nodes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Mapping, NamedTuple, Sequence

from plumbline.judge.judging import Alarming
from plumbline.model.codec import compact, read_document
from plumbline.model.errors import DocumentError
from plumbline.model.evidence import Subject
from plumbline.model.service import NO_ALARMS, ActiveAlarms, PathAlarms
from plumbline.model.symptom import SiteSymptoms
from plumbline.model.verdict import Judged, Reason, State, Verdict
from plumbline.parts.locate.evidence import Evidence
from plumbline.parts.locate.findings import Findings
from plumbline.parts.locate.observation import Nodes, PlannedMeasurement
from plumbline.parts.locate.observation import Site as Measured
from plumbline.parts.locate.observe import any_alarm, observe
from plumbline.parts.locate.path_alarms import Scene, settle
from plumbline.parts.locate.paths import Site, causes, explained, path_verdicts, path_votes
from plumbline.parts.locate.site import (
    SiteLocated,
    left_out,
    less_shared,
    locate_in,
    shared_losses,
)
from plumbline.parts.locate.suspects import locate
from plumbline.site.kept import KeptJudgement, Noted
from plumbline.site.nodes import SiteJudgement, judgement
from plumbline.store.facts import collected_symptoms
from plumbline.store.files import seal
from plumbline.store.plan import SitePlan, load_plan
from plumbline.store.replacing import replace_own
from plumbline.store.verdicts import load_standing, published_paths


class Terms(NamedTuple):
    """Terms for finding and showing suspects.

    The document is valid for ``stale_after_s``; an alarm is notified after ``notified_after_s``.
    """

    stale_after_s: float
    notified_after_s: float


class Published(NamedTuple):
    """Verdicts by the names of their services, the document, and remarks for people."""

    verdicts: Mapping[str, Verdict]
    document: Mapping[str, Any]
    remarks: tuple[str, ...]


def publish(plan: str, history: Path, to: Path, now: float, terms: Terms) -> Published:
    """Write the verdicts of path services at ``now``, in seconds since the epoch.

    Raises:
        DocumentError: the plan has no such services, or is damaged.
        StoreError: the history cannot be read, or the file cannot be written.
    """
    findings = _findings(plan, history, now)
    symptoms = collected_symptoms(history, findings.nodes, now)
    suspects = findings.suspects(symptoms, now)
    previous, unknown = _standing(to)
    site, texts = findings.site, findings.texts(symptoms.symptoms)
    unsettled = path_verdicts(site, suspects, texts, findings.votes, previous.red)
    raising = explained(site, suspects.located, previous.red)
    alarms = frozenset(findings.alarms)
    scene = Scene(site.paths, site.services, alarms, raising, now, terms.notified_after_s)
    verdicts, standing = settle(scene, unsettled, previous)
    fields = published_paths(verdicts, now, terms.stale_after_s, standing)
    replace_own(to, seal(compact(fields)))
    return Published(verdicts, fields, (*unknown, *left_out(symptoms)))


def _findings(file: str, history: Path, now: float) -> Findings:
    """Return the findings on a site, the kept ones if they are still true."""
    kept = KeptJudgement(file, history, now).suspects()
    if kept is not None:
        return read_document(Findings, kept)
    plan = load_plan(file)
    if not plan.paths:
        raise DocumentError(
            f"plan {plan.path} names no services of check_path; write it again with: "
            "plumbline plan -i INVENTORY --json"
        )
    with judgement(plan, history, now) as site:
        return Findings.of(site, locate_in(site), site.services())


def _standing(path: Path) -> tuple[ActiveAlarms, list[str]]:
    """Return the standing alarms; none, with a remark, if they cannot be read."""
    try:
        return load_standing(str(path)), []
    except DocumentError as error:
        return NO_ALARMS, [f"{error}; earlier alarms are not known"]


def noted(site: SiteJudgement, judged: Sequence[Judged]) -> Noted:
    """Return the notes on the verdicts on a site, its suspects as findings, and their evidence."""
    may_have_a_note = [_may_have_a_note(result.verdict) for result in judged]
    try:
        located = locate_in(site) if site.plan.paths else None
    except DocumentError:
        # without a note nobody misses the suspects, and publish says why there are none
        if any(may_have_a_note):
            raise
        located = None
    if located is None:
        return Noted([""] * len(judged), rests_on_facts=False)
    notes = _notes(site.plan, located)
    texts = [
        _note(result.verdict, notes) if may else "" for result, may in zip(judged, may_have_a_note)
    ]
    rests_on_facts = located.state is State.WARNING or any(may_have_a_note)
    findings, evidence = Findings.of(site, located, judged), Evidence.of(site.plan, located)
    return Noted(texts, rests_on_facts, findings, evidence)


def _may_have_a_note(verdict: Verdict) -> bool:
    if verdict.group:
        return verdict.reason is Reason.SLOW
    return verdict.state.alarm or verdict.reason is Reason.WATCHED


def _notes(plan: SitePlan, located: SiteLocated) -> dict[Subject, str]:
    """Return notes to append to the sentences on components and groups."""
    borne = causes(Site.of(plan), located.located)
    return {
        **{(*place, False): f"explained by {text}" for place, text in borne.items()},
        **{
            (loss.layer, loss.group, True): f"since {loss.changes}"
            for loss in located.shared
            if loss.changes
        },
    }


def _note(verdict: Verdict, notes: Mapping[Subject, str]) -> str:
    """Return the note on a verdict as the end of its sentence, empty if there is none."""
    note = notes.get((verdict.layer, verdict.component, verdict.group))
    return "" if note is None else f"; {note}"


_NOTIFIED_AFTER_S = 1800.0
"""Shorter than a day, so alarms of the day before count as notified."""


class DailySuspects:
    """Path services of one fleet in alarm, day after day and without symptoms."""

    def __init__(self, site: Site) -> None:
        """Begin without standing alarms."""
        self._site = site
        self._standing = NO_ALARMS
        self._nodes: Nodes = {}
        self._planned: tuple[PlannedMeasurement, ...] = ()

    def __call__(self, day: Alarming) -> PathAlarms:
        """Return the names of the path services in alarm, and of those that notify nobody."""
        if day.nodes is not self._nodes:
            self._nodes = day.nodes
            self._planned = tuple(Measured(day.nodes).measurables())
        if not (
            day.alarms or self._standing != NO_ALARMS or any_alarm(self._planned, day.weighing)
        ):
            # most days
            return PathAlarms(frozenset(), frozenset())
        suspects, before = self._located(day), self._standing.red
        texts = [""] * len(suspects.located.sets)
        votes = path_votes(self._site, suspects.located)
        verdicts = path_verdicts(self._site, suspects, texts, votes, before)
        raising = explained(self._site, suspects.located, before)
        paths, services = self._site.paths, self._site.services
        scene = Scene(paths, services, day.alarms, raising, day.judging.now, _NOTIFIED_AFTER_S)
        settled, self._standing = settle(scene, verdicts, self._standing)
        red = frozenset(name for name, verdict in settled.items() if verdict.state.alarm)
        return PathAlarms(red, self._standing.heirs)

    def _located(self, day: Alarming) -> SiteLocated:
        judging = dict.fromkeys(day.nodes, day.judging)
        observed = list(observe(self._planned, judging, day.weighing))
        located, shared = less_shared(
            locate(observed), tuple(shared_losses(day.nodes, day.weighing))
        )
        return SiteLocated(located, (), SiteSymptoms(), {}, shared)
