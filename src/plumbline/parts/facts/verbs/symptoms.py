"""Verbs on the state of nodes: current symptoms, and changes of their conditions."""

from __future__ import annotations

import argparse
import os
import time
from contextlib import suppress
from pathlib import Path
from socket import gethostname
from typing import Iterator, Mapping, NamedTuple, Sequence
from urllib.parse import quote as quoted

from plumbline.cli.options import asks_for_site, nothing_deployed
from plumbline.cli.output import remark, show
from plumbline.doors.table import render
from plumbline.judge.phrases import date_of, moment
from plumbline.model.errors import DocumentError, PrivilegeError, StoreError, UsageError
from plumbline.model.ledger import FILE as LEDGER
from plumbline.model.ledger import Ledger
from plumbline.model.symptom import KIND_OF, Direction, Report, quote
from plumbline.model.units import DAY_S
from plumbline.observe.command import LocalSystem, SystemRunner, by_hand
from plumbline.parts.facts import saved
from plumbline.parts.facts.changes import ChangeGroup, differences, grouped, latest, where
from plumbline.parts.facts.conditions import collect
from plumbline.parts.facts.fabric import NAME as FABRIC
from plumbline.parts.facts.gather import DAILY, SiteCollector, gather, look_alone
from plumbline.parts.facts.node import Counters, Node, Parts, Past, host_alone
from plumbline.parts.facts.site_command import MAX_BYTES, SiteCommand, look
from plumbline.site.published import publish_symptoms
from plumbline.store import facts
from plumbline.store.files import STATE, own_state
from plumbline.store.plan import SitePlan, load_plan
from plumbline.store.replacing import writing
from plumbline.store.snapshot import load_expectations
from plumbline.topology.names import fold

_UNIT = "systemctl start plumbline-symptoms"
_BARE = (
    "no plan is deployed here: disks and targets have the names that the kernel gives them, and "
    "all other parts the name of this host"
)
_FABRIC_BYTES = 64 << 20
"""Limit for the ports of a fabric: 200 bytes each."""
_KERNEL_LOG_BYTES = 64 << 20
"""Limit for the kernel log, which on a bad day is longer than any other tool's output."""


def symptoms(arguments: argparse.Namespace) -> int:
    """Look, print symptoms and unavailable collectors; return 0, or 1 if one incriminates."""
    bare = nothing_deployed(arguments)
    path = _folder(arguments, bare=bare) / facts.SYMPTOMS_FILE
    system = LocalSystem(SystemRunner(most_bytes=_KERNEL_LOG_BYTES))
    if bare:
        remark(_BARE)
        expectations = host_alone(gethostname(), system)
    else:
        expectations = load_expectations(arguments.expectations)
    counters = Counters(_past(str(path)))
    parts = Parts(expectations, system)
    now = time.time()
    added = _site_collectors(arguments.commands)
    if expectations.fabric is not None:
        added[FABRIC] = _daily_look(path.parent)
    report = gather(Node(system, parts, counters, now), added)
    show(arguments, report, _report_lines(report))
    denied = {look.collector for look in report.looks if look.unavailable} if by_hand() else set()
    if denied and os.geteuid() != 0:
        remark(
            "root sees more" if bare else f"the unit has more privileges; as root: {_UNIT}",
        )
    if arguments.save:
        if bare:
            with writing(path):
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _refuse_to_lose(denied, path)
        saved.save_symptoms(path, saved.SavedLook(report, counters.after(now)))
        publish_symptoms(report, path.parent)
        conditions, notes = collect(system, expectations.parameters)
        look_now = Ledger(expectations.node, now, now, notes, conditions=conditions)
        if trouble := facts.keep_conditions(path.parent, look_now):
            remark(trouble)
    return _exit_code(report)


def _exit_code(report: Report) -> int:
    """Return 1 if a symptom incriminates a component, else 0."""
    return int(
        any(
            symptom.direction is Direction.RAISES and symptom.severity.alarm
            for symptom in report.symptoms
        )
    )


def _daily_look(folder: Path) -> SiteCollector:
    """Return the collector that repeats the daily look at the fabric."""
    path = str(folder / saved.FABRIC_FILE)
    return SiteCollector(KIND_OF[FABRIC], lambda node: saved.load_fabric(path, node.now))


def fabric(arguments: argparse.Namespace) -> int:
    """Look at the InfiniBand fabric; return 0, 1 if a symptom incriminates, 3 if unavailable."""
    bare = nothing_deployed(arguments)
    path = _folder(arguments, bare=bare) / saved.FABRIC_FILE
    system = LocalSystem(SystemRunner(most_bytes=_FABRIC_BYTES))
    expectations = (
        host_alone(gethostname(), system) if bare else load_expectations(arguments.expectations)
    )
    past = _past(str(path))
    counters = Counters(past)
    now = time.time()
    node = Node(system, Parts(expectations, system), counters, now)
    seen = look_alone(node, FABRIC, SiteCollector(KIND_OF[FABRIC], DAILY[FABRIC]))
    report = Report(expectations.node, now, (seen,))
    absent = f"{report.node}: the fabric is not looked at: {seen.unavailable}"
    show(arguments, report, [absent] if seen.unavailable else _report_lines(report))
    if arguments.save:
        if bare:
            with writing(path):
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        kept = past if seen.unavailable else counters.after(now)
        saved.save_symptoms(path, saved.SavedLook(report, kept))
    return 3 if seen.unavailable else _exit_code(report)


def _folder(arguments: argparse.Namespace, *, bare: bool) -> Path:
    """Return the folder of looks: the user's own where nothing is deployed."""
    if bare and arguments.state == STATE:
        return Path(own_state()) / "symptoms" / quoted(gethostname(), safe="")
    return Path(arguments.state)


def _site_collectors(path: str) -> dict[str, SiteCollector]:
    """Return the collectors that run the site's own commands, with limited output."""
    system = LocalSystem(SystemRunner(most_bytes=MAX_BYTES))

    def collector(command: SiteCommand) -> SiteCollector:
        return SiteCollector(command.kind, lambda node: look(node._replace(system=system), command))

    return {command.name: collector(command) for command in saved.load_site_commands(path)}


def _refuse_to_lose(denied: set[str], path: Path) -> None:
    """Raise PrivilegeError if this look lacks permission for collectors that the saved one has."""
    with suppress(DocumentError):
        looks = saved.load_symptoms(str(path)).report.looks
        lost = sorted(denied & {look.collector for look in looks if not look.unavailable})
        if lost:
            raise PrivilegeError(
                f"not saved: {path} has {', '.join(lost)}, which this look cannot read; "
                f"as root: {_UNIT}"
            )


def _past(path: str) -> Past:
    """Return the counters of the last look; empty if there is none or it is damaged."""
    trouble = f"{path} is not there"
    if os.path.lexists(path):
        try:
            return saved.load_symptoms(path).past
        except DocumentError as error:
            trouble = str(error)
    remark(f"{trouble}: counters have no earlier look to compare with")
    return Past()


def _report_lines(report: Report) -> Iterator[str]:
    headers = ("severity", "component", "suspicion", "found by", "symptom")
    rows = [
        (sign.severity.name, sign.component, sign.direction.value, sign.collector, quote(sign))
        for sign in report.symptoms
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
"""Longest time from old to new value if the node is looked at every day."""
_CURRENT_S = 3 * DAY_S
"""Greatest age of a node's conditions to be current; collect brings them daily."""


class _Ledgers(NamedTuple):
    """Ledgers of nodes, the kind of each node with a ledger, and remarks on missing ones."""

    ledgers: Sequence[Ledger]
    kinds: Mapping[str, str]
    remarks: Sequence[str] = ()


def changes(arguments: argparse.Namespace) -> int:
    """Print changes or differences; return 0, 1 if a node differs, 3 if no ledger is current."""
    site = asks_for_site(arguments)
    if arguments.differences and not site:
        raise UsageError("--differences compares nodes: give --plan and --history")
    since = time.time() - arguments.since
    if site:
        ledgers = _collected(load_plan(arguments.plan), Path(arguments.history))
    else:
        own = facts.load_ledger(str(Path(arguments.state) / LEDGER))
        ledgers = _Ledgers([own], {own.node: ""}, own.notes)
    if arguments.differences:
        code = _differences(ledgers, arguments)
    else:
        groups = grouped(latest(ledgers.ledgers, since))
        document = {"schema": 1, "since": since, "changes": groups}
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
    # some nodes may have been followed for a shorter time than --since
    first = max((ledger.since for ledger in ledgers.ledgers), default=since)
    followed = f"; followed on all nodes since {moment(first)}" if first > since else ""
    return f"no change since {moment(since)}{followed}"


def _differences(ledgers: _Ledgers, arguments: argparse.Namespace) -> int:
    oldest = time.time() - _CURRENT_S
    current = [ledger for ledger in ledgers.ledgers if ledger.taken_at > oldest]
    old = [ledger.node for ledger in ledgers.ledgers if ledger not in current]
    differing = differences(current, ledgers.kinds)
    lines = [difference.text for difference in differing]
    if current and not differing:
        lines = [f"no node of {len(current)} differs from most of its kind"]
    show(arguments, {"schema": 1, "differences": differing}, lines)
    if old:
        remark(f"left out, last looked at days ago: {fold(old)}")
    return int(bool(differing)) if current else 3


def _text(change: ChangeGroup) -> str:
    """Return a change, with the date of its old value if nobody looked for days."""
    if change.at - change.before < _LATE_S:
        return change.text
    return f"{change.text}; old value last seen {date_of(change.before)}"


def _date(change: ChangeGroup) -> str:
    """Return the date when a change was found, and when it reached the last node."""
    first, last = date_of(change.at), date_of(change.last)
    return moment(change.at) if first == last else f"{first} to {last}"
