"""All that the report draws of a site: measured, judged, located, and the looks at its hosts."""

from __future__ import annotations

from pathlib import Path
from typing import Iterable, Iterator, Mapping, NamedTuple, Optional

from plumbline.judge.symptoms import JudgedLook, by_state, judge_kind, judge_looks, judge_unread
from plumbline.model.layers import BY_DEPTH
from plumbline.model.service import SYMPTOMS
from plumbline.model.units import DAY_S
from plumbline.model.verdict import Reason, Verdict, worst
from plumbline.observe.symptom import HOLDS_S, KINDS, title
from plumbline.report.site import Look, Site
from plumbline.report.suspects import Suspects
from plumbline.site.changed import condition_changes
from plumbline.site.forked import forked
from plumbline.site.jobs import used_meanwhile
from plumbline.site.judge import judge_site
from plumbline.site.locate import locate_site
from plumbline.site.nodes import require
from plumbline.store.collection import read_notes
from plumbline.store.facts import Collected, collected_reports, has_said
from plumbline.store.plan import SitePlan, load_plan
from plumbline.store.trends import Pictures


class SiteLooks(NamedTuple):
    """The last looks at the hosts of a site, and the hosts at which nobody looks."""

    found: tuple[Look, ...]
    unseen: tuple[str, ...]


def looks_of(plan: SitePlan, history: Path, now: float) -> SiteLooks:
    """Return what hosts say of themselves at ``now``, in seconds since the epoch.

    Kinds that have no service are among them where a collector could look.

    Raises:
        StoreError: there is no such history, or it cannot be read.
    """
    require(history)
    asked: dict[str, dict[str, float]] = {}
    for service in plan.services:
        if service.layer == SYMPTOMS:
            asked.setdefault(service.node, {})[service.component] = service.freshness_s
    found: list[Look] = []
    unseen: list[str] = []
    for host, known in collected_reports(history, plan.nodes, now).items():
        if known.report or host in asked or has_said(history, host):
            found += _looks(host, known, asked.get(host, {}))
        else:
            unseen.append(host)
    return SiteLooks(tuple(found), tuple(unseen))


def _looks(host: str, known: Collected, services: Mapping[str, float]) -> Iterator[Look]:
    """Yield the look itself, and the kinds that have a service or a collector that could look."""
    report = known.report
    if report is None:
        yield Look(host, "", judge_unread(host, "", known.trouble))
        return
    asked = JudgedLook(report, known.now, services.get(title(host), HOLDS_S))
    yield Look(host, "", judge_looks(asked), at=report.looked_at)
    for kind in KINDS:
        looks = [look for look in report.looks if look.kind == kind]
        if title(host, kind) in services or not all(look.unavailable for look in looks):
            verdict = judge_kind(asked, kind)
            symptoms = by_state(symptom for look in looks for symptom in look.symptoms)
            held = verdict.reason in (Reason.SYMPTOM, Reason.FINE)
            yield Look(host, kind, verdict, symptoms if held else (), report.looked_at)


def read_site(plan: SitePlan, path: Path, now: float, days: int) -> Site:
    """Return everything that is drawn, read and judged at ``now``, in seconds since the epoch.

    Raises:
        StoreError: there is no such history, or it cannot be read.
        DocumentError: the plan or a record is damaged.
    """
    looks = looks_of(plan, path, now)
    judged = [judgement.verdict for judgement in judge_site(plan, path, now, members=True)]
    measured = plan.measured()
    since = now - days * DAY_S
    with Pictures(path, since) as pictures:
        return Site(
            name=plan.site,
            now=now,
            expectations=[each for expectations in measured.values() for each in expectations],
            parts=plan.parts,
            verdicts={
                (verdict.layer, verdict.component): verdict
                for verdict in judged
                if not verdict.group
            },
            groups=_groups(verdict for verdict in judged if verdict.group),
            courses=pictures.courses(),
            pairs=pictures.pairs(),
            run=pictures.latest_run(
                [layer.name for layer in reversed(BY_DEPTH) if not layer.paired]
            ),
            notes=[note for note in read_notes(path) if note.at >= since],
            changes=pictures.version_changes(),
            conditions=condition_changes(plan, path, since),
            looks=looks.found,
            unseen=looks.unseen,
            nodes={
                (each.layer, each.component): name
                for name, expectations in measured.items()
                for each in expectations
            },
        )


def find_suspects(plan: str, history: Path, now: float) -> Optional[Suspects]:
    """Return the suspects of a site; None for a plan that does not say what the parts are.

    They are found in a process of its own, to be called before the plan in this file is read here:
    of a large site that takes some 800 MB, which would not be given back before the page is drawn.

    Raises:
        DocumentError: the plan or a record is damaged.
        StoreError: there is no such history, or it cannot be read.
    """
    (found,) = forked(lambda path: _suspects(load_plan(path), history, now), [plan], 1)
    return found


def _suspects(plan: SitePlan, history: Path, now: float) -> Optional[Suspects]:
    if not plan.parts:
        return None
    found = locate_site(plan, history, now)
    jobs = used_meanwhile(plan, history, found.located)
    return Suspects(found.located, found.probes, [loss.sentence for loss in found.shared], jobs)


def _groups(judged: Iterable[Verdict]) -> dict[tuple[str, str], Verdict]:
    """Return the verdict on each group, the worst where several nodes measure it."""
    found: dict[tuple[str, str], Verdict] = {}
    for verdict in judged:
        other = found.setdefault((verdict.layer, verdict.component), verdict)
        if worst((verdict.state, other.state)) is not other.state:
            found[verdict.layer, verdict.component] = verdict
    return found
