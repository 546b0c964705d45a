"""``plumbline changes``: changes of nodes, and nodes that differ from their peers."""

from __future__ import annotations

import argparse
import json
import sys
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Mapping, NamedTuple, Sequence

from plumbline.cli.options import add_site, asks_for_site, common, option
from plumbline.model.codec import write
from plumbline.model.errors import StoreError, UsageError
from plumbline.model.units import DAY_S, parse_duration

if TYPE_CHECKING:
    from plumbline.observe.changes import Grouped, Ledger

_SCHEMA = 1
_LATE_S = 2 * DAY_S
"""From the old value to the new one: who found it later did not look every day."""
_CURRENT_S = 3 * DAY_S
"""A bill that is older says nothing of today; collect brings one a day."""


HELP = "show changes of software, firmware and settings, and nodes that differ from peers"
DESCRIPTION = """Show what has changed on this node, or with --plan and --history on all nodes of
a site: software, firmware, parameters of Lustre and of modules, mounts, kernel settings, disks
and links. The timer of plumbline symptoms looks for it."""
EPILOG = "For example: plumbline changes --since 2w"


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_site(parser)
    option(parser, "--since TIME", "only changes since then", default="2w")
    option(parser, "--differences", "with --plan: show nodes that differ from their peers instead")
    common(parser, "--state", "--json")


class _Known(NamedTuple):
    """The ledgers, the kind of each node that has one, and what is missing."""

    ledgers: Sequence[Ledger]
    kinds: Mapping[str, str]
    remarks: Sequence[str] = ()


def run(arguments: argparse.Namespace) -> int:
    """Print changes or differences; return 0, 1 where a node differs, 3 where none is known."""
    site = asks_for_site(arguments)
    if arguments.differences and not site:
        raise UsageError("--differences compares nodes: give --plan and --history")
    since = time.time() - parse_duration(arguments.since)
    known = _of_site(arguments) if site else _of_node(arguments)
    code = (
        _differences(known, arguments)
        if arguments.differences
        else _changes(known, since, arguments)
    )
    for remark in known.remarks:
        print(f"plumbline: {remark}", file=sys.stderr)
    return code


def _of_node(arguments: argparse.Namespace) -> _Known:
    from plumbline.observe.changes import FILE
    from plumbline.store.facts import load_ledger

    ledger = load_ledger(str(Path(arguments.state) / FILE))
    return _Known([ledger], {ledger.node: ""}, ledger.notes)


def _of_site(arguments: argparse.Namespace) -> _Known:
    from plumbline.store.facts import collected_ledgers
    from plumbline.store.plan import load_plan
    from plumbline.topology.names import fold

    plan, history = load_plan(arguments.plan), Path(arguments.history)
    if not history.exists():
        raise StoreError(f"there is no history {history}; bring it with: plumbline collect")
    ledgers, damaged = collected_ledgers(history, plan.nodes)
    missing = sorted(set(plan.nodes) - {ledger.node for ledger in ledgers})
    remarks = [*damaged]
    if not ledgers:
        raise StoreError(
            f"{'; '.join(damaged) or 'no changes are known of any node'}; see that the role "
            "symptoms is deployed, then run plumbline collect"
        )
    if missing:
        remarks.append(
            f"no changes are known of {fold(missing)}; see that the role symptoms is deployed "
            "there, then run plumbline collect"
        )
    return _Known(ledgers, plan.kinds(ledger.node for ledger in ledgers), remarks)


def _changes(known: _Known, since: float, arguments: argparse.Namespace) -> int:
    from plumbline.doors.table import render
    from plumbline.observe.changes import grouped, latest, where

    found = grouped(latest(known.ledgers, since))
    if arguments.json:
        changes = write(found)
        print(json.dumps({"schema": _SCHEMA, "since": since, "changes": changes}, allow_nan=False))
    elif found:
        rows = [
            (_date(change), change.area, _text(change), where(change.nodes, known.kinds))
            for change in found
        ]
        print(render(("found", "area", "change", "on"), rows))
    else:
        print(f"no change since {_moment(since)}{_followed(known, since)}")
    return 0


def _followed(known: _Known, since: float) -> str:
    """Return since when all nodes are followed, where that is later than what was asked for."""
    first = max((ledger.since for ledger in known.ledgers), default=since)
    return f"; followed on all nodes since {_moment(first)}" if first > since else ""


def _differences(known: _Known, arguments: argparse.Namespace) -> int:
    from plumbline.observe.changes import differences
    from plumbline.topology.names import fold

    current = [ledger for ledger in known.ledgers if ledger.taken_at > time.time() - _CURRENT_S]
    old = [ledger.node for ledger in known.ledgers if ledger not in current]
    found = differences(current, known.kinds)
    if arguments.json:
        document = {
            "schema": _SCHEMA,
            "differences": write(found),
        }
        print(json.dumps(document, allow_nan=False))
    else:
        for difference in found:
            print(difference.text)
        if current and not found:
            print(f"no node of {len(current)} differs from most of its kind")
    if old:
        print(f"plumbline: left out, last looked at days ago: {fold(old)}", file=sys.stderr)
    return int(bool(found)) if current else 3


def _text(change: Grouped) -> str:
    """Return a change, and when its old value was last seen where nobody looked for days."""
    if change.at - change.before < _LATE_S:
        return change.text
    return f"{change.text}; old value last seen {_moment(change.before)[:10]}"


def _date(change: Grouped) -> str:
    """Return when a change was found, and to when it took on all nodes."""
    first, last = _moment(change.at), _moment(change.last)
    return first if first[:10] == last[:10] else f"{first[:10]} to {last[:10]}"


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%d %H:%MZ")
