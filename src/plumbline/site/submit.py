"""The verdicts of all services of a site, with a note where another service bears the alarm."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Collection, Mapping, Optional

from plumbline.model.ages import WatchedMoment
from plumbline.model.json_text import read_json
from plumbline.model.judged import Judged
from plumbline.model.reason import Reason
from plumbline.site.judge import judge_services
from plumbline.site.kept import CAUSES, digest, keep, known
from plumbline.site.locate import locate_site
from plumbline.site.paths import Site, causes
from plumbline.site.symptoms import judge_symptoms
from plumbline.store.conditions import collected_stamp
from plumbline.store.kept import Kept
from plumbline.store.plan import SitePlan
from plumbline.store.symptoms import collected_symptoms


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
    before = known(history, (plan.digest,), tuple(plan.nodes.values()), CAUSES)
    said = collected_symptoms(history, plan.nodes, now)
    others = said.symptoms, collected_stamp(history)
    rests_on = digest((tuple(before.rests_on.values()), others))
    held = before.holding(CAUSES, rests_on, now)
    found = _read(held) if held else None
    if found is None:
        moment = WatchedMoment(now)
        found = _located(plan, history, moment)
        body = json.dumps([[*place, text] for place, text in found.items()])
        keep(history, [Kept(CAUSES, rests_on, now, moment.until, body)], plan.nodes)
    return found


def _located(plan: SitePlan, history: Path, now: float) -> _Causes:
    located = locate_site(plan, history, now).located
    return causes(Site(plan.paths, plan.services, plan.parts), located)


def _read(kept: Kept) -> Optional[_Causes]:
    """Return what was kept, None where it is damaged."""
    try:
        return {(layer, name): str(text) for layer, name, text in read_json(kept.body)}
    except (ValueError, TypeError):
        return None


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
