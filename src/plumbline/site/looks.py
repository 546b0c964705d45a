"""What the hosts of a site say about themselves, as the report shows it."""

from __future__ import annotations

from pathlib import Path
from typing import Iterator, Mapping, NamedTuple

from plumbline.judge.symptoms import JudgedLook, by_state, judge_kind, judge_looks, judge_unread
from plumbline.model.reason import Reason
from plumbline.model.service import SYMPTOMS
from plumbline.report.site import Looked
from plumbline.site.nodes import require
from plumbline.store.plan import SitePlan
from plumbline.store.symptoms import Collected, collected_reports, has_said
from plumbline.symptoms.kinds import KINDS, title
from plumbline.symptoms.reported import HOLDS_S


class SiteLooks(NamedTuple):
    """The last looks at the hosts of a site, and the hosts at which nobody looks."""

    found: tuple[Looked, ...]
    unseen: tuple[str, ...]


def looks_of(plan: SitePlan, history: Path, now: float) -> SiteLooks:
    """Return what hosts say of themselves at ``now``, in seconds since the epoch.

    Kinds that have no service are among them where a collector could look.

    Raises:
        StoreError: there is no such history, or it cannot be read.
    """
    require(history)
    asked: dict[str, dict[str, float]] = {}
    for one in plan.services:
        if one.layer == SYMPTOMS:
            asked.setdefault(one.node, {})[one.component] = one.freshness_s
    found: list[Looked] = []
    unseen: list[str] = []
    for host, known in collected_reports(history, plan.nodes, now).items():
        if known.report or host in asked or has_said(history, host):
            found += _looks(host, known, asked.get(host, {}))
        else:
            unseen.append(host)
    return SiteLooks(tuple(found), tuple(unseen))


def _looks(host: str, known: Collected, services: Mapping[str, float]) -> Iterator[Looked]:
    """Yield the look itself, and the kinds that have a service or a collector that could look."""
    report = known.report
    if report is None:
        yield Looked(host, "", judge_unread(host, "", known.trouble))
        return
    asked = JudgedLook(report, known.now, services.get(title(host), HOLDS_S))
    yield Looked(host, "", judge_looks(asked), at=report.looked_at)
    for kind in KINDS:
        looks = [look for look in report.looks if look.kind == kind]
        if title(host, kind) in services or not all(look.unavailable for look in looks):
            verdict = judge_kind(asked, kind)
            symptoms = by_state(one for look in looks for one in look.symptoms)
            held = verdict.reason in (Reason.SYMPTOM, Reason.FINE)
            yield Looked(host, kind, verdict, symptoms if held else (), report.looked_at)
