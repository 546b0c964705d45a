"""Look for suspects at a site, and write what ``check_path`` says of each of its services."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Collection, Mapping, NamedTuple

from plumbline.errors import DocumentError
from plumbline.model.standing import NOTHING, Standing
from plumbline.model.verdict import Verdict
from plumbline.site.judge import judge_services
from plumbline.site.kept import PATHS, Question, closed, kept_of_site
from plumbline.site.locate import left_out, locate_site, sentences
from plumbline.site.paths import Site, explained, path_verdicts
from plumbline.site.services import in_alarm
from plumbline.site.standing import Scene, settle
from plumbline.store.paths import document, load_standing
from plumbline.store.plan import SitePlan
from plumbline.store.replacing import replace_own
from plumbline.store.symptoms import collected_symptoms


class Terms(NamedTuple):
    """How suspects are found and shown.

    What is written holds for ``stale_after_s``; an alarm that has stood for ``notified_after_s``
    has been notified.
    """

    stale_after_s: float
    notified_after_s: float


class Published(NamedTuple):
    """The verdicts by the names of their services, the document, and what a person should know."""

    verdicts: Mapping[str, Verdict]
    document: Mapping[str, Any]
    remarks: tuple[str, ...]


def publish(plan: SitePlan, history: Path, to: Path, now: float, terms: Terms) -> Published:
    """Write what services of paths show from ``now`` on, in seconds since the epoch.

    Raises:
        DocumentError: the plan names no such services, or is damaged.
        StoreError: the history cannot be read, or the file not be written.
    """
    if not plan.paths:
        raise DocumentError(
            f"plan {plan.path} names no services of check_path; write it again with: "
            "plumbline plan -i INVENTORY --json"
        )
    before, unknown = _standing(to)
    symptoms = collected_symptoms(history, plan.nodes, now)
    rests_on = symptoms.symptoms, sorted(before.suspicions)
    said, by = _located(plan, history, now, before.suspicions, rests_on)
    alarms = in_alarm(judge_services(plan, history, now), plan.services)
    scene = Scene(plan.paths, plan.services, alarms, by, now, terms.notified_after_s)
    verdicts, standing = settle(scene, said, before)
    made = document(verdicts, now, terms.stale_after_s, standing)
    replace_own(to, json.dumps(made, allow_nan=False, separators=(",", ":")))
    return Published(verdicts, made, (*unknown, *left_out(symptoms)))


_Located = tuple[dict[str, Verdict], dict[tuple[str, str], list[str]]]
"""What path services say, by name, and which of them explain a component, by layer and name."""


def _located(
    plan: SitePlan, history: Path, now: float, standing: Collection[str], rests_on: object
) -> _Located:
    """Look for suspects; what was found the last time is taken where it still holds."""
    site = Site(plan.paths, plan.services, plan.parts)

    def find(moment: float) -> dict[str, Any]:
        found = locate_site(plan, history, moment)
        said = path_verdicts(site, found, sentences(plan, found), standing)
        by = explained(site, found.located, standing)
        return {
            "verdicts": [one.to_json() for one in said.values()],
            "explained": [[*place, names] for place, names in by.items()],
        }

    def read(found: Any) -> _Located:
        verdicts = [closed(Verdict.from_json(one), now) for one in found["verdicts"]]
        by = {(layer, name): names for layer, name, names in found["explained"]}
        return {one.component: one for one in verdicts}, by

    if not plan.digest:
        return read(find(now))
    question = Question(PATHS, rests_on, find, read)
    located: _Located = kept_of_site(plan, history, now, question)
    return located


def _standing(path: Path) -> tuple[Standing, list[str]]:
    """Return what stood before; where that cannot be read, each alarm is a first one."""
    try:
        return load_standing(str(path)), []
    except DocumentError as error:
        return NOTHING, [f"{error}; earlier alarms are not known"]
