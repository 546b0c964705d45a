"""The verdicts of all services of symptoms, by what the console has collected of the nodes."""

from __future__ import annotations

from pathlib import Path
from typing import Iterator

from plumbline.judge.symptoms import JudgedLook, judge_kind, judge_looks, judge_unread
from plumbline.model.service import SYMPTOMS, Service
from plumbline.model.verdict import Judged, Verdict
from plumbline.observe.symptom import HOLDS_S, KINDS, Report, title
from plumbline.store.facts import Collected, collected_reports
from plumbline.store.plan import SitePlan


def judge_symptoms(plan: SitePlan, history: Path, now: float) -> list[Judged]:
    """Return the verdicts at ``now``, in seconds since the epoch; none where the plan asks none.

    Raises:
        StoreError: there is no such history, or it cannot be read.
    """
    services = [service for service in plan.services if service.layer == SYMPTOMS]
    if not services:
        return []
    known = collected_reports(history, dict.fromkeys(service.node for service in services), now)
    return [
        Judged(service.node, now, _judged(service, known[service.node])) for service in services
    ]


def verdicts_on(report: Report, now: float) -> Iterator[Verdict]:
    """Yield the verdicts on a report itself, and on each kind at which a collector could look."""
    look = JudgedLook(report, now, HOLDS_S)
    yield judge_looks(look)
    for kind in KINDS:
        if any(look.kind == kind and not look.unavailable for look in report.looks):
            yield judge_kind(look, kind)


def _judged(service: Service, known: Collected) -> Verdict:
    kinds = {title(service.node, kind): kind for kind in KINDS}
    kind = kinds.get(service.component, "")
    if known.report is None:
        return judge_unread(service.node, kind, known.trouble)
    look = JudgedLook(known.report, known.now, service.freshness_s)
    return judge_kind(look, kind) if kind else judge_looks(look)
