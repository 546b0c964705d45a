"""Contract of the part space with the core and other parts; see ``docs/parts.md``."""

from __future__ import annotations

from pathlib import Path
from typing import Iterable, Mapping, NamedTuple, Sequence

from plumbline.model.expectation import Expectations
from plumbline.model.service import Service
from plumbline.model.space import (
    SPACE,
    SpaceReport,
    SpaceTerms,
    SystemCourse,
    SystemSpace,
    TargetCourse,
    TargetOutlook,
)
from plumbline.model.units import DAY_S
from plumbline.model.verdict import Judged, Reason, Verdict
from plumbline.parts.space.history import looks
from plumbline.parts.space.outlook import Look, system_space
from plumbline.parts.space.trend import daily
from plumbline.parts.space.verdict import judge_space, trend, unknown
from plumbline.store.collection import read_clocks
from plumbline.store.database import Store

_NEVER = (
    "no look has arrived; see that the role space is deployed on {node}, then run plumbline collect"
)


class SystemLooks(NamedTuple):
    """All looks of a node at one file system, oldest first, and the last with its trends."""

    node: str
    looks: Sequence[Look]
    system: SystemSpace
    verdict: Verdict


def judged(services: Iterable[Service], history: Path, now: float) -> list[Judged]:
    """Return the verdicts of the space services among some, at ``now`` in epoch seconds.

    Raises:
        StoreError: there is no such history, or it cannot be read.
    """
    own = [service for service in services if service.layer == SPACE]
    if not own:
        return []
    with Store(history, existing=True) as store:
        ahead = _leads(store)
        return [
            Judged(service.node, now, _verdict(store, service, now + ahead.get(service.node, 0.0)))
            for service in own
        ]


def _verdict(store: Store, service: Service, now: float) -> Verdict:
    own = looks(store, service.node, service.component, now)
    if not own:
        text = _NEVER.format(node=service.node)
        return unknown(service.component, Reason.NEVER_MEASURED, text)
    return judge_space(system_space(own), now, service.freshness_s)


def reports(terms: SiteTerms, history: Path, now: float) -> dict[str, SpaceReport]:
    """Return the last look of each node that looks at file systems.

    Raises:
        StoreError: there is no such history, or it cannot be read.
    """
    found: dict[str, list[SystemSpace]] = {}
    for own in system_looks(terms, history, now):
        found.setdefault(own.node, []).append(own.system)
    return {node: SpaceReport(node, tuple(systems)) for node, systems in found.items()}


SiteTerms = Mapping[str, Sequence[SpaceTerms]]
"""Limits of the file systems whose space is kept, by node."""


def terms_of(nodes: Mapping[str, Expectations]) -> SiteTerms:
    """Return the limits in the plan of a site."""
    return {node: document.space for node, document in nodes.items()}


def system_looks(site_terms: SiteTerms, history: Path, now: float) -> list[SystemLooks]:
    """Return the looks at each file system that has any, for eight weeks.

    Raises:
        StoreError: there is no such history, or it cannot be read.
    """
    wanted = [(node, terms) for node, own in site_terms.items() for terms in own]
    if not wanted:
        return []
    with Store(history, existing=True) as store:
        ahead = _leads(store)
        found = []
        for node, terms in wanted:
            node_now = now + ahead.get(node, 0.0)
            own = looks(store, node, terms.file_system, node_now)
            if own:
                system = system_space(own)
                verdict = judge_space(system, node_now, terms.stale_after_s)
                found.append(SystemLooks(node, own, system, verdict))
        return found


def courses(nodes: Mapping[str, Expectations], history: Path, now: float) -> list[SystemCourse]:
    """Return the weeks of each file system of a plan that is read, for the report.

    Raises:
        StoreError: there is no such history, or it cannot be read.
    """
    return [
        SystemCourse(
            own.system.name,
            own.verdict.state,
            own.verdict.sentence,
            tuple(_course(own, item) for item in own.system.targets),
        )
        for own in system_looks(terms_of(nodes), history, now)
    ]


def _course(own: SystemLooks, item: TargetOutlook) -> TargetCourse:
    name = item.target.name
    days = daily(
        [
            (look.at, target.space)
            for look in own.looks
            for target in look.targets
            if target.name == name and target.space
        ]
    )
    return TargetCourse(
        item.target,
        tuple(day.at * DAY_S for day in days),
        tuple(1 - day.free / day.total if day.total else 1.0 for day in days),
        trend(item.space) if item.space else "",
        trend(item.inodes, inodes=True) if item.inodes else "",
    )


def _leads(store: Store) -> dict[str, float]:
    """Return the seconds by which the clock of each node is ahead."""
    return {clock.node: clock.ahead_s for clock in read_clocks(store)}
