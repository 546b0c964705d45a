"""``plumbline symptoms``: signs of faults from hardware and kernel of this node."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from plumbline.cli.options import common, option
from plumbline.model.errors import DocumentError, PrivilegeError
from plumbline.observe.command import by_hand
from plumbline.store.verdicts import COMMANDS

if TYPE_CHECKING:
    from plumbline.model.expectation import Expectations
    from plumbline.observe.gather import Added
    from plumbline.observe.node import Past, System
    from plumbline.observe.symptom import Report

_UNIT = "systemctl start plumbline-symptoms"
_KERNEL_LOG_BYTES = 64 << 20
"""The kernel's log of a bad day is longer than what any other tool prints."""


HELP = "find signs of faults in hardware and kernel"
DESCRIPTION = """Look at arrays, disks, enclosures, links, Lustre connections and the kernel's
messages of this node. Counters are compared with those of earlier looks. Exit code 1 when
something raises the suspicion against a component."""
EPILOG = "For example: plumbline symptoms --save"


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    option(
        parser,
        "--save",
        "keep this look in DIR, for the next one and for checks, and the conditions of the "
        "node, for plumbline changes",
    )
    option(
        parser,
        "--commands FILE",
        "commands of the site's own that print symptoms",
        default=COMMANDS,
    )
    common(parser, "--expectations", "--state", "--json")


def run(arguments: argparse.Namespace) -> int:
    """Look, print what was found and what could not be asked; return 0 or 1."""
    from plumbline.observe.command import SystemRunner
    from plumbline.observe.gather import LocalSystem, gather
    from plumbline.observe.node import Counters, Node, Parts
    from plumbline.observe.symptom import Direction
    from plumbline.store.facts import SYMPTOMS_FILE as FILE
    from plumbline.store.facts import Saved, save_symptoms
    from plumbline.store.snapshot import load_expectations

    path = Path(arguments.state) / FILE
    counters = Counters(_past(str(path)))
    system = LocalSystem(SystemRunner(most_bytes=_KERNEL_LOG_BYTES))
    expectations = load_expectations(arguments.expectations)
    parts = Parts(expectations, system)
    now = time.time()
    report = gather(Node(system, parts, counters, now), _of_the_site(arguments.commands))
    _print(report, arguments.json)
    blind = {look.collector for look in report.looks if look.unavailable} if by_hand() else set()
    if blind and os.geteuid() != 0:
        print(f"plumbline: the unit has more privileges; as root: {_UNIT}", file=sys.stderr)
    if arguments.save:
        _refuse_to_lose(blind, path)
        save_symptoms(path, Saved(report, counters.after(now)))
        _save_conditions(path.parent, system, expectations, now)
    return int(any(symptom.direction is Direction.RAISES for symptom in report.symptoms))


def _of_the_site(path: str) -> dict[str, Added]:
    """Return the collectors that are commands of the site's own, which may print little."""
    from plumbline.observe.command import SystemRunner
    from plumbline.observe.gather import Added, LocalSystem
    from plumbline.observe.site_command import MOST_BYTES, SiteCommand, look
    from plumbline.store.facts import load_site_commands

    system = LocalSystem(SystemRunner(most_bytes=MOST_BYTES))

    def added(command: SiteCommand) -> Added:
        return Added(command.kind, lambda node: look(node._replace(system=system), command))

    return {command.name: added(command) for command in load_site_commands(path)}


def _refuse_to_lose(blind: set[str], path: Path) -> None:
    """Raise PrivilegeError where the saved look has what this one was not permitted to ask."""
    from plumbline.store.facts import load_symptoms

    with suppress(DocumentError):
        looks = load_symptoms(str(path)).report.looks
        lost = sorted(blind & {look.collector for look in looks if not look.unavailable})
        if lost:
            raise PrivilegeError(
                f"not saved: {path} has {', '.join(lost)}, this look has not; as root: {_UNIT}"
            )


def _save_conditions(state: Path, system: System, expectations: Expectations, now: float) -> None:
    """Take the bill of conditions and keep it in the ledger of this node."""
    from plumbline.observe.conditions import take
    from plumbline.store.facts import keep_bill

    bill = take(expectations.node, system, expectations.parameters, now)
    trouble = keep_bill(state, bill)
    if trouble:
        print(f"plumbline: {trouble}", file=sys.stderr)


def _past(path: str) -> Past:
    """Return what the last look has left; nothing before the first one, or from a damaged one."""
    from plumbline.observe.node import Past
    from plumbline.store.facts import load_symptoms

    trouble = f"{path} is not there"
    if os.path.lexists(path):
        try:
            return load_symptoms(path).past
        except DocumentError as error:
            trouble = str(error)
    print(f"plumbline: {trouble}: counters have nothing to be held against", file=sys.stderr)
    return Past()


def _print(report: Report, as_json: bool) -> None:
    from plumbline.doors.table import render
    from plumbline.observe.symptom import quote

    if as_json:
        print(json.dumps(report.to_json(), allow_nan=False))
        return
    headers = ("severity", "component", "suspicion", "found by", "symptom")
    rows = [
        (
            symptom.severity.name,
            symptom.component,
            symptom.direction.value,
            symptom.collector,
            quote(symptom),
        )
        for symptom in report.symptoms
    ]
    print(render(headers, rows) if rows else f"{report.node}: nothing found")
    asked = [
        (
            look.collector,
            "" if look.unavailable else str(look.examined),
            look.unavailable or "; ".join(look.notes),
        )
        for look in report.looks
    ]
    print()
    print(render(("asked", "looked at", "not available"), asked))
