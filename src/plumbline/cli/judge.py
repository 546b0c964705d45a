"""``plumbline judge``: verdicts of this node, of a site, or of samples from elsewhere.

On the console, with a plan and the history of all nodes, those of a whole site.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Optional, Sequence

from plumbline.cli.options import add_source, asks_for_site, common, option
from plumbline.doors.table import render
from plumbline.judge.replay import Judged
from plumbline.model.errors import UsageError
from plumbline.model.layers import LAYERS
from plumbline.model.verdict import State, worst
from plumbline.site.replay import replay_file

if TYPE_CHECKING:
    from plumbline.model.verdict import Verdict


def judge_file(path: Path, *, window_s: float, as_json: bool) -> int:
    """Print a verdict for each component and day and return 0: the past asks for no action.

    Samples of one host within ``window_s`` seconds are one run.

    Raises:
        DocumentError: the file cannot be read or understood, or no row has a figure.
    """
    found = replay_file(path, window_s)
    if as_json:
        for sample in found.judged:
            print(json.dumps(sample.to_json(found.unit), allow_nan=False))
    else:
        _print_replayed(found.judged, found.unit)
    if found.without:
        print(
            f"plumbline: rows without a figure or a component, left out: {found.without}",
            file=sys.stderr,
        )
    if found.hint:
        print(f"plumbline: {found.hint}", file=sys.stderr)
    return 0


def _print_replayed(judged: Sequence[Judged], unit: str) -> None:
    """Print what is not OK for a reason of its own, then how often each state was."""
    bad = [sample for sample in judged if sample.verdict.state.alarm]
    rows = [
        (sample.day, sample.host, sample.verdict.state.name, sample.sentence(unit))
        for sample in bad
    ]
    print(render(("day", "host", "state", "verdict"), rows))
    counts = Counter(sample.verdict.state for sample in judged)
    summary = ", ".join(f"{counts[state]} {state.name}" for state in State if counts[state])
    components = len({(sample.host, sample.component) for sample in judged})
    print(f"{components} components, {len(judged)} days of components: {summary}")


HELP = "judge the records of this node; exit code is the worst state"
DESCRIPTION = """Hold what was measured last against ceiling, baseline and peers, and print a
verdict with its reason for each component. Nothing is measured."""
EPILOG = "For example: plumbline judge --layer ost -v"


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    option(parser, "--layer", "only this layer", choices=LAYERS)
    option(parser, "--component NAME", "only this component, without groups")
    add_source(parser)
    option(
        parser,
        "--replay FILE.csv",
        "judge samples recorded elsewhere instead, each component and day; columns: host, day, ts, "
        "component, latency (microseconds) or rate, perhaps coverage and baseline",
    )
    option(
        parser,
        "--together TIME",
        "with --replay: length of a run, such as 10min (default: the same ts)",
    )
    option(parser, "--explain NAME", "show how each rule judged this component, with its numbers")
    option(
        parser, "--publish", "write the verdicts for the checks, and print how many have changed"
    )
    option(parser, "--json", "print one document per node")
    common(parser, "--last-run", "--verbose")


def run(arguments: argparse.Namespace) -> int:
    """Print the verdicts and return the exit code of the worst."""
    site = asks_for_site(arguments)
    if arguments.last_run and site:
        raise UsageError("--last-run is of one node: leave out --plan and --history")
    if arguments.publish:
        return _publish(arguments, site=site)
    if arguments.replay is not None:
        return _replay(arguments, site=site)
    if arguments.together:
        raise UsageError("--together belongs to --replay FILE.csv: name the file, or leave it out")
    now = time.time()
    if arguments.explain:
        return _explain(arguments, now, site=site)
    nodes = _judged(arguments, now, site=site)
    verdicts = [verdict for found in nodes.values() for verdict in found]
    if arguments.json:
        for node, found in nodes.items():
            _print_json(node, now, found, None if site else 1)
    else:
        _print(verdicts, arguments.verbose)
    return worst(verdict.state for verdict in verdicts)


def _publish(arguments: argparse.Namespace, *, site: bool) -> int:
    """Write what checks read, and return 0 whatever it says."""
    from plumbline.site.verdicts import publish

    chosen = (arguments.layer, arguments.component, arguments.explain, arguments.replay)
    if site or any(chosen) or arguments.last_run or arguments.json or arguments.verbose:
        raise UsageError(
            "--publish is of all that this node measures: give it --expectations and --snapshot "
            "alone"
        )
    changed = publish(arguments.expectations, Path(arguments.snapshot).absolute().parent)
    print(f"{changed} verdicts have changed")
    return 0


def _replay(arguments: argparse.Namespace, *, site: bool) -> int:
    from plumbline.model.units import parse_duration

    chosen = (arguments.layer, arguments.component, arguments.explain, arguments.last_run)
    if site or any(chosen):
        raise UsageError("--replay judges all of a file: give it --together and --json alone")
    window_s = parse_duration(arguments.together) if arguments.together else 0.0
    return judge_file(Path(arguments.replay), window_s=window_s, as_json=arguments.json)


def _judged(arguments: argparse.Namespace, now: float, *, site: bool) -> dict[str, list[Verdict]]:
    """Return the verdicts asked for, by node."""
    from plumbline.site.judge import Choice, judge_here, judge_there, place_here
    from plumbline.store.plan import load_plan

    choice = Choice(arguments.layer, arguments.component)
    if site:
        return judge_there(load_plan(arguments.plan), Path(arguments.history), choice, now)
    node, place = place_here(arguments.expectations, arguments.snapshot, choice)
    return {node: judge_here(place, choice, now, last_run=arguments.last_run)}


def _explain(arguments: argparse.Namespace, now: float, *, site: bool) -> int:
    """Print how the verdicts on a component came about; return the worst of them."""
    from plumbline.site.judge import Choice, explain_all, place_here, places_there
    from plumbline.store.plan import load_plan

    choice = Choice(arguments.layer, arguments.explain)
    if site:
        plan = load_plan(arguments.plan)
        places = places_there(plan, Path(arguments.history), choice)
    else:
        _, place = place_here(arguments.expectations, arguments.snapshot, choice)
        places = iter((place,))
    states = []
    for verdict, lines in explain_all(places, now):
        print(f"{verdict.state.name} {verdict.layer} {verdict.sentence}")
        for line in lines:
            print(f"  {line}")
        states.append(verdict.state)
    return worst(states)


def _print_json(node: str, now: float, verdicts: Sequence[Verdict], indent: Optional[int]) -> None:
    """Print the document of a node, on one line where there may be thousands."""
    from plumbline.site.documents import SCHEMA

    document = {
        "schema": SCHEMA,
        "node": node,
        "judged_at": now,
        "verdicts": [verdict.to_json() for verdict in verdicts],
    }
    print(json.dumps(document, indent=indent, allow_nan=False))


def _print(verdicts: Sequence[Verdict], verbose: bool) -> None:
    from plumbline.doors.table import render

    rows = [(each.state.name, each.layer, each.sentence) for each in verdicts]
    print(render(("state", "layer", "verdict"), rows))
    for each in verdicts if verbose else ():
        print(f"\n{each.state.name} {each.layer} {each.component}")
        print("\n".join(f"  {line}" for line in each.evidence))
