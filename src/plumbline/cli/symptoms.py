"""The verbs on what nodes show of themselves: symptoms now, and changes of their conditions."""

from __future__ import annotations

import argparse
import os
import time
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Iterator, Mapping, NamedTuple, Sequence

from plumbline.cli.options import asks_for_site
from plumbline.cli.output import remark, show
from plumbline.doors.table import render
from plumbline.model.codec import write
from plumbline.model.errors import DocumentError, PrivilegeError, StoreError, UsageError
from plumbline.model.units import DAY_S, parse_duration
from plumbline.observe.changes import FILE as LEDGER
from plumbline.observe.changes import ChangeGroup, Ledger, differences, grouped, latest, where
from plumbline.observe.command import SystemRunner, by_hand
from plumbline.observe.conditions import take
from plumbline.observe.gather import LocalSystem, SiteCollector, gather
from plumbline.observe.node import Counters, Node, Parts, Past
from plumbline.observe.site_command import MOST_BYTES, SiteCommand, look
from plumbline.observe.symptom import Direction, Report, quote
from plumbline.store import facts
from plumbline.store.plan import SitePlan, load_plan
from plumbline.store.snapshot import load_expectations
from plumbline.topology.names import fold

_UNIT = "systemctl start plumbline-symptoms"
_KERNEL_LOG_BYTES = 64 << 20
"""The kernel's log of a bad day is longer than what any other tool prints."""


def symptoms(arguments: argparse.Namespace) -> int:
    """Look, print what was found and what could not be asked; return 0 or 1."""
    path = Path(arguments.state) / facts.SYMPTOMS_FILE
    counters = Counters(_past(str(path)))
    system = LocalSystem(SystemRunner(most_bytes=_KERNEL_LOG_BYTES))
    expectations = load_expectations(arguments.expectations)
    parts = Parts(expectations, system)
    now = time.time()
    report = gather(Node(system, parts, counters, now), _of_the_site(arguments.commands))
    show(arguments, report.to_json(), _report_lines(report))
    blind = {look.collector for look in report.looks if look.unavailable} if by_hand() else set()
    if blind and os.geteuid() != 0:
        remark(f"the unit has more privileges; as root: {_UNIT}")
    if arguments.save:
        _refuse_to_lose(blind, path)
        facts.save_symptoms(path, facts.SavedLook(report, counters.after(now)))
        bill = take(expectations.node, system, expectations.parameters, now)
        if trouble := facts.keep_bill(path.parent, bill):
            remark(trouble)
    return int(any(symptom.direction is Direction.RAISES for symptom in report.symptoms))


def _of_the_site(path: str) -> dict[str, SiteCollector]:
    """Return the collectors that are commands of the site's own, which may print little."""
    system = LocalSystem(SystemRunner(most_bytes=MOST_BYTES))

    def added(command: SiteCommand) -> SiteCollector:
        return SiteCollector(command.kind, lambda node: look(node._replace(system=system), command))

    return {command.name: added(command) for command in facts.load_site_commands(path)}


def _refuse_to_lose(blind: set[str], path: Path) -> None:
    """Raise PrivilegeError where the saved look has what this one was not permitted to ask."""
    with suppress(DocumentError):
        looks = facts.load_symptoms(str(path)).report.looks
        lost = sorted(blind & {look.collector for look in looks if not look.unavailable})
        if lost:
            raise PrivilegeError(
                f"not saved: {path} has {', '.join(lost)}, this look has not; as root: {_UNIT}"
            )


def _past(path: str) -> Past:
    """Return what the last look has left; nothing before the first one, or from a damaged one."""
    trouble = f"{path} is not there"
    if os.path.lexists(path):
        try:
            return facts.load_symptoms(path).past
        except DocumentError as error:
            trouble = str(error)
    remark(f"{trouble}: counters have nothing to be held against")
    return Past()


def _report_lines(report: Report) -> Iterator[str]:
    headers = ("severity", "component", "suspicion", "found by", "symptom")
    rows = [
        (each.severity.name, each.component, each.direction.value, each.collector, quote(each))
        for each in report.symptoms
    ]
    yield render(headers, rows) if rows else f"{report.node}: nothing found"
    looks = [
        (
            look.collector,
            "" if look.unavailable else str(look.examined),
            look.unavailable or "; ".join(look.notes),
        )
        for look in report.looks
    ]
    yield ""
    yield render(("asked", "looked at", "not available"), looks)


_LATE_S = 2 * DAY_S
"""From the old value to the new one: who found it later did not look every day."""
_CURRENT_S = 3 * DAY_S
"""A bill that is older says nothing of today; collect brings one a day."""


class _Ledgers(NamedTuple):
    """The ledgers of nodes, the kind of each node that has one, and what is missing."""

    every: Sequence[Ledger]
    kinds: Mapping[str, str]
    remarks: Sequence[str] = ()


def changes(arguments: argparse.Namespace) -> int:
    """Print changes or differences; return 0, 1 where a node differs, 3 where none is known."""
    site = asks_for_site(arguments)
    if arguments.differences and not site:
        raise UsageError("--differences compares nodes: give --plan and --history")
    since = time.time() - parse_duration(arguments.since)
    if site:
        ledgers = _collected(load_plan(arguments.plan), Path(arguments.history))
    else:
        own = facts.load_ledger(str(Path(arguments.state) / LEDGER))
        ledgers = _Ledgers([own], {own.node: ""}, own.notes)
    if arguments.differences:
        code = _differences(ledgers, arguments)
    else:
        groups = grouped(latest(ledgers.every, since))
        document = {"schema": 1, "since": since, "changes": write(groups)}
        code = 0
        show(arguments, document, [_changes(groups, ledgers, since)])
    remark(*ledgers.remarks)
    return code


def _collected(plan: SitePlan, history: Path) -> _Ledgers:
    if not history.exists():
        raise StoreError(f"there is no history {history}; bring it with: plumbline collect")
    ledgers, damaged = facts.collected_ledgers(history, plan.nodes)
    if not ledgers:
        raise StoreError(
            f"{'; '.join(damaged) or 'no changes are known of any node'}; see that the role "
            "symptoms is deployed, then run plumbline collect"
        )
    names = [ledger.node for ledger in ledgers]
    missing = sorted(set(plan.nodes) - set(names))
    unknown = (
        f"no changes are known of {fold(missing)}; see that the role symptoms is deployed there, "
        "then run plumbline collect"
    )
    return _Ledgers(ledgers, plan.kinds(names), [*damaged, unknown] if missing else damaged)


def _changes(groups: Sequence[ChangeGroup], ledgers: _Ledgers, since: float) -> str:
    if groups:
        rows = [
            (_date(change), change.area, _text(change), where(change.nodes, ledgers.kinds))
            for change in groups
        ]
        return render(("found", "area", "change", "on"), rows)
    # where some nodes are followed for a shorter time than was asked about
    first = max((ledger.since for ledger in ledgers.every), default=since)
    followed = f"; followed on all nodes since {_moment(first)}" if first > since else ""
    return f"no change since {_moment(since)}{followed}"


def _differences(ledgers: _Ledgers, arguments: argparse.Namespace) -> int:
    oldest = time.time() - _CURRENT_S
    current = [ledger for ledger in ledgers.every if ledger.taken_at > oldest]
    old = [ledger.node for ledger in ledgers.every if ledger not in current]
    differing = differences(current, ledgers.kinds)
    lines = [difference.text for difference in differing]
    if current and not differing:
        lines = [f"no node of {len(current)} differs from most of its kind"]
    show(arguments, {"schema": 1, "differences": write(differing)}, lines)
    if old:
        remark(f"left out, last looked at days ago: {fold(old)}")
    return int(bool(differing)) if current else 3


def _text(change: ChangeGroup) -> str:
    """Return a change, and when its old value was last seen where nobody looked for days."""
    if change.at - change.before < _LATE_S:
        return change.text
    return f"{change.text}; old value last seen {_moment(change.before)[:10]}"


def _date(change: ChangeGroup) -> str:
    """Return when a change was found, and to when it took on all nodes."""
    first, last = _moment(change.at), _moment(change.last)
    return first if first[:10] == last[:10] else f"{first[:10]} to {last[:10]}"


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%d %H:%MZ")
