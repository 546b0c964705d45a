"""The verdicts of all services of a site, with notes that no node knows alone.

They name the service that bears an alarm, and what changed before a group lost as a whole.
"""

from __future__ import annotations

from pathlib import Path
from typing import Mapping

from plumbline.model.evidence import Subject
from plumbline.model.verdict import Judged, Reason, Verdict
from plumbline.site.locate import locate_in
from plumbline.site.nodes import Judgement, judgement
from plumbline.site.paths import Site, causes
from plumbline.site.verdicts import judge_symptoms
from plumbline.store.plan import SitePlan


def judge_with_causes(plan: SitePlan, history: Path, now: float) -> list[Judged]:
    """Return the verdicts of all services at ``now``, in seconds since the epoch.

    Raises:
        StoreError: there is no such history, or it cannot be read.
        DocumentError: the plan is damaged.
    """
    with judgement(plan, history, now) as site:
        judged = site.services()
        if plan.paths and any(_may_have_a_note(each.verdict) for each in judged):
            notes = _notes(site)
            judged = [_noted(each, notes) for each in judged]
    return [*judged, *judge_symptoms(plan, history, now)]


def _may_have_a_note(verdict: Verdict) -> bool:
    if verdict.group:
        return verdict.reason is Reason.SLOW
    return verdict.state.alarm or verdict.reason is Reason.WATCHED


def _notes(site: Judgement) -> dict[Subject, str]:
    """Return what is said behind the sentence on a component or group."""
    plan, located = site.plan, locate_in(site)
    borne = causes(Site(plan.paths, plan.services, plan.parts), located.located)
    return {
        **{(*place, False): f"explained by {text}" for place, text in borne.items()},
        **{
            (loss.layer, loss.group, True): f"since {loss.changes}"
            for loss in located.shared
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
