"""The verdicts of all services of a site, with notes that no node knows alone.

They name the service that bears an alarm, and what changed before a group lost as a whole.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Mapping

from plumbline.model.evidence import Subject
from plumbline.model.verdict import Judged, Reason, Verdict
from plumbline.site.judge import CAUSES, Question, judge_services, kept_of_site
from plumbline.site.locate import locate_remembered
from plumbline.site.nodes import Memories
from plumbline.site.paths import Site, causes
from plumbline.site.verdicts import judge_symptoms
from plumbline.store.facts import collected_symptoms
from plumbline.store.plan import SitePlan


def judge_with_causes(plan: SitePlan, history: Path, now: float) -> list[Judged]:
    """Return the verdicts of all services at ``now``, in seconds since the epoch.

    Raises:
        StoreError: there is no such history, or it cannot be read.
        DocumentError: the plan is damaged.
    """
    read = Memories(history)
    judged = judge_services(plan, history, now, read)
    of_symptoms = judge_symptoms(plan, history, now)
    if not plan.paths or not any(_may_have_a_note(verdict.verdict) for verdict in judged):
        return [*judged, *of_symptoms]
    found = _notes(plan, read, now)
    return [*(_noted(verdict, found) for verdict in judged), *of_symptoms]


def _may_have_a_note(verdict: Verdict) -> bool:
    if verdict.group:
        return verdict.reason is Reason.SLOW
    return verdict.state.alarm or verdict.reason is Reason.WATCHED


_Notes = dict[Subject, str]
"""Note behind the sentence on a component or group."""


def _notes(plan: SitePlan, read: Memories, now: float) -> _Notes:
    """Return what is said of alarms, as it was kept where it still holds."""
    if not plan.digest:
        return _located(plan, read, now)

    def find(moment: float) -> list[list[object]]:
        return [[*subject, text] for subject, text in _located(plan, read, moment).items()]

    said = collected_symptoms(read.history, plan.nodes, now)
    question = Question(CAUSES, said.symptoms, find, _read)
    notes: _Notes = kept_of_site(plan, read.history, now, question)
    return notes


def _read(found: Any) -> _Notes:
    return {(layer, name, group): str(text) for layer, name, group, text in found}


def _located(plan: SitePlan, read: Memories, now: float) -> _Notes:
    found = locate_remembered(plan, read, now)
    borne = causes(Site(plan.paths, plan.services, plan.parts), found.located)
    return {
        **{(*place, False): f"explained by {text}" for place, text in borne.items()},
        **{
            (loss.layer, loss.group, True): f"since {loss.changes}"
            for loss in found.shared
            if loss.changes
        },
    }


def _noted(judged: Judged, found: Mapping[Subject, str]) -> Judged:
    """Return a verdict with what is said of it, where something is."""
    verdict = judged.verdict
    note = found.get((verdict.layer, verdict.component, verdict.group))
    if note is None or not _may_have_a_note(verdict):
        return judged
    return judged._replace(verdict=verdict._replace(sentence=f"{verdict.sentence}; {note}"))
