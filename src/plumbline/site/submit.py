"""The verdicts of all services of a site, with a note where another service bears the alarm."""

from __future__ import annotations

from pathlib import Path
from typing import Collection, Mapping

from plumbline.model.judged import Judged
from plumbline.model.reason import Reason
from plumbline.site.judge import judge_services
from plumbline.site.kept import CAUSES, Question, kept_of_site
from plumbline.site.locate import locate_site
from plumbline.site.paths import Site, causes
from plumbline.site.symptoms import judge_symptoms
from plumbline.store.plan import SitePlan


def judge_with_causes(plan: SitePlan, history: Path, now: float) -> list[Judged]:
    """Return the verdicts of all services at ``now``, in seconds since the epoch.

    Raises:
        StoreError: there is no such history, or it cannot be read.
        DocumentError: the plan is damaged.
    """
    judged = judge_services(plan, history, now)
    of_symptoms = judge_symptoms(plan, history, now)
    bad = {
        (one.verdict.layer, one.verdict.component)
        for one in judged
        if not one.verdict.group
        and (one.verdict.state.alarm or one.verdict.reason is Reason.WATCHED)
    }
    if not plan.paths or not bad:
        return [*judged, *of_symptoms]
    found = _causes(plan, history, now)
    return [*(_noted(one, bad, found) for one in judged), *of_symptoms]


_Causes = dict[tuple[str, str], str]
"""In words, what explains a slow component; by layer and name."""


def _causes(plan: SitePlan, history: Path, now: float) -> _Causes:
    """Return what explains alarms, as it was kept where it still holds."""
    if not plan.digest:
        return _located(plan, history, now)

    def find(moment: float) -> list[list[str]]:
        return [[*place, text] for place, text in _located(plan, history, moment).items()]

    found = kept_of_site(plan, history, now, Question(CAUSES, None, find))
    return {(layer, name): text for layer, name, text in found}


def _located(plan: SitePlan, history: Path, now: float) -> _Causes:
    located = locate_site(plan, history, now).located
    return causes(Site(plan.paths, plan.services, plan.parts), located)


def _noted(
    judged: Judged,
    bad: Collection[tuple[str, str]],
    found: Mapping[tuple[str, str], str],
) -> Judged:
    """Return a verdict with a note where a shared component bears its alarm."""
    verdict = judged.verdict
    place = verdict.layer, verdict.component
    if verdict.group or place not in bad or place not in found:
        return judged
    sentence = f"{verdict.sentence}; explained by {found[place]}"
    return judged._replace(verdict=verdict._replace(sentence=sentence))
