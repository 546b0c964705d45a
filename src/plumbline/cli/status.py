"""``plumbline status``: one screen of text for whoever is on ssh, on a node or on the console."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from math import isnan, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterable, Optional, Sequence

from plumbline.cli.source import add_source, asks_for_site
from plumbline.model.state import worst
from plumbline.units import DAY_S

if TYPE_CHECKING:
    from plumbline.model.course import Course
    from plumbline.model.series import Sample
    from plumbline.model.verdict import Verdict
    from plumbline.output.status import Line, Screen

_OTHER_LINES = 4
"""Of the screen: the counts, the head of the table, how many are left, and the prompt."""

_NO_TERMINAL = (200, 40)
"""Columns and lines where nobody says how large the screen is."""

_BACK_DAYS = 60


def add(subparsers: Any) -> None:
    """Declare the arguments."""
    parser = subparsers.add_parser(
        "status",
        help="show on one screen what is not OK and how it went; ends with the worst state",
        description="Judge what was measured last, as plumbline judge does, and show the states of "
        "all layers and what is not OK with its course.",
        epilog="For example: plumbline status --all",
    )
    add_source(parser)
    parser.add_argument("--all", action="store_true", help="show all components, not one screen")
    parser.add_argument("--json", action="store_true", help="print states and rates for programs")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the screen and return the exit code of the worst verdict."""
    from plumbline.output.status import status

    site = asks_for_site(arguments)
    now = time.time()
    name, lines = _site(arguments, now) if site else _node(arguments, now)
    if arguments.json:
        print(json.dumps({"schema": 1, "of": name, "components": [_raw(one) for one in lines]}))
    else:
        text = status(name, lines, _screen(len(lines) if arguments.all else None))
        print(_written(text, sys.stdout.encoding))
    return worst(one.verdict.state for one in lines)


def _written(text: str, encoding: str) -> str:
    """Return text as a terminal of any encoding can show it; without bars it has digits."""
    from plumbline.output.status import DIGITS

    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(DIGITS).encode(encoding, "replace").decode(encoding)
    return text


def _screen(rows: Optional[int]) -> Screen:
    """Return the terminal's size, with room for ``rows`` where they are given."""
    from plumbline.output.status import Screen

    columns, height = shutil.get_terminal_size(_NO_TERMINAL)
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return Screen(height - _OTHER_LINES if rows is None else rows, columns, colour)


def _node(arguments: argparse.Namespace, now: float) -> tuple[str, list[Line]]:
    from plumbline.output.status import Line
    from plumbline.site.judging import Judging
    from plumbline.store.snapshot import load_expectations, load_snapshot

    expectations = load_expectations(arguments.expectations)
    snapshot = load_snapshot(arguments.snapshot)
    chosen = expectations.every()
    lines = []
    for each, verdict in zip(
        chosen, Judging(snapshot, snapshot, now, evidence=False).components(chosen)
    ):
        samples: dict[str, list[Sample]] = {}
        for one in snapshot.of(each.layer, each.component):
            step = _step(one.latest.operation.value, one.latest.scenario.value)
            samples.setdefault(step, []).extend(one.samples)
        rates = {step: _in_time(found) for step, found in samples.items()}
        lines.append(Line(verdict, rates))
    return expectations.node, lines


def _in_time(samples: Iterable[Sample]) -> list[float]:
    """Return the rates of a component with all its partners, oldest first."""
    ordered = sorted(samples, key=lambda one: one.started_at)
    return [nan if one.rate_Bps is None else one.rate_Bps for one in ordered]


def _site(arguments: argparse.Namespace, now: float) -> tuple[str, list[Line]]:
    from plumbline.output.status import Line
    from plumbline.site.judge import judge_site
    from plumbline.store.course import Pictures
    from plumbline.store.plan import load_plan

    plan, path = load_plan(arguments.plan), Path(arguments.history)
    judged = [one.verdict for one in judge_site(plan, path, now, members=True)]
    with Pictures(path, now - _BACK_DAYS * DAY_S) as pictures:
        rates = _by_component(pictures.courses())
    name = next((node.site for node in plan.nodes.values()), "site without nodes")
    found: Sequence[Verdict] = [one for one in judged if not one.group]
    return name, [Line(one, rates.get((one.layer, one.component), {})) for one in found]


def _by_component(courses: Iterable[Course]) -> dict[tuple[str, str], dict[str, list[float]]]:
    moments: dict[tuple[str, str], dict[str, list[tuple[float, float]]]] = {}
    for one in courses:
        steps = moments.setdefault((one.layer, one.component), {})
        points = steps.setdefault(_step(one.operation, one.scenario), [])
        points.extend(zip(one.times, one.rates))
    return {
        place: {step: [rate for _, rate in sorted(points)] for step, points in steps.items()}
        for place, steps in moments.items()
    }


def _step(operation: str, scenario: str) -> str:
    return operation if scenario == "single" else f"{operation} {scenario}"


def _raw(one: Line) -> dict[str, Any]:
    rates = {
        step: [None if isnan(rate) else rate for rate in found] for step, found in one.rates.items()
    }
    verdict = one.verdict
    return {
        "state": verdict.state.name,
        "layer": verdict.layer,
        "component": verdict.component,
        "sentence": verdict.sentence,
        "rates_Bps": rates,
    }
