"""Verdicts of this node or of a whole site: judge, status, metrics.

With a plan and the history of all nodes they are those of the site; judge takes samples from
elsewhere as well.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator, Mapping, Optional, Sequence

from plumbline.cli.options import asks_for_site
from plumbline.cli.output import print_json, remark
from plumbline.doors.checkmk import local_checks
from plumbline.doors.prometheus import exposition, families
from plumbline.doors.status import DIGITS, Screen
from plumbline.doors.status import status as screen
from plumbline.doors.table import render
from plumbline.judge.judging import By
from plumbline.judge.replay import Judged
from plumbline.model.errors import DocumentError, UsageError
from plumbline.model.expectation import Expectations
from plumbline.model.units import parse_duration
from plumbline.model.verdict import State, Verdict, worst
from plumbline.observe.command import SystemRunner
from plumbline.observe.gather import LocalSystem
from plumbline.observe.node import Parts
from plumbline.observe.symptom import Report
from plumbline.site.documents import SCHEMA
from plumbline.site.nodes import Choice, Judgement, NodeJudgement
from plumbline.site.nodes import judgement as site_judgement
from plumbline.site.verdicts import (
    publish,
    rates_of_node,
    rates_of_site,
    replay_file,
    tell,
)
from plumbline.site.verdicts import status as lines_of
from plumbline.store.facts import SYMPTOMS_FILE, collected_reports
from plumbline.store.plan import load_plan
from plumbline.store.replacing import replace_own
from plumbline.store.snapshot import load_expectations, load_snapshot
from plumbline.store.verdicts import load_report


def judge(arguments: argparse.Namespace) -> int:
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
    choice = Choice(arguments.layer, arguments.explain or arguments.component)
    with _judgement(arguments) as judgement:
        if arguments.explain:
            return _explain(judgement, choice)
        by = By.LAST_RUN if arguments.last_run else By.RUNS
        nodes: dict[str, list[Verdict]] = {}
        for judged in judgement.verdicts(choice, evidence=True, by=by):
            nodes.setdefault(judged.node, []).append(judged.verdict)
    if not nodes:
        raise judgement.nothing_of(choice)
    verdicts = [verdict for of_node in nodes.values() for verdict in of_node]
    if arguments.json:
        for node, of_node in nodes.items():
            # on one line where there may be thousands
            print_json(_document(node, judgement.now, of_node), None if site else 1)
    else:
        _print(verdicts, arguments.verbose)
    return worst(verdict.state for verdict in verdicts)


@contextmanager
def _judgement(arguments: argparse.Namespace) -> Iterator[Judgement]:
    """Read what is judged now: this node, or with a plan and a history a whole site."""
    now = time.time()
    if asks_for_site(arguments):
        with site_judgement(load_plan(arguments.plan), Path(arguments.history), now) as judgement:
            yield judgement
    else:
        expectations = load_expectations(arguments.expectations)
        yield NodeJudgement(expectations, load_snapshot(arguments.snapshot), now)


def _publish(arguments: argparse.Namespace, *, site: bool) -> int:
    """Write what checks read, and return 0 whatever it says."""
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
    """Print a verdict for each component and day and return 0: the past asks for no action."""
    chosen = (arguments.layer, arguments.component, arguments.explain, arguments.last_run)
    if site or any(chosen):
        raise UsageError("--replay judges all of a file: give it --together and --json alone")
    window_s = parse_duration(arguments.together) if arguments.together else 0.0
    replayed = replay_file(Path(arguments.replay), window_s)
    if arguments.json:
        for sample in replayed.judged:
            print_json(sample.to_json(replayed.unit))
    else:
        _print_replayed(replayed.judged, replayed.unit)
    if replayed.without:
        remark(f"rows without a figure or a component, left out: {replayed.without}")
    if replayed.hint:
        remark(replayed.hint)
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


def _explain(judgement: Judgement, choice: Choice) -> int:
    """Print how the verdicts on a component came about; return the worst of them."""
    states = []
    for verdict, lines in judgement.explained(choice):
        print(f"{verdict.state.name} {verdict.layer} {verdict.sentence}")
        for line in lines:
            print(f"  {line}")
        states.append(verdict.state)
    if not states:
        raise judgement.nothing_of(choice)
    return worst(states)


def _document(node: str, now: float, verdicts: Sequence[Verdict]) -> dict[str, Any]:
    judged = [verdict.to_json() for verdict in verdicts]
    return {"schema": SCHEMA, "node": node, "judged_at": now, "verdicts": judged}


def _print(verdicts: Sequence[Verdict], verbose: bool) -> None:
    rows = [(each.state.name, each.layer, each.sentence) for each in verdicts]
    print(render(("state", "layer", "verdict"), rows))
    for each in verdicts if verbose else ():
        print(f"\n{each.state.name} {each.layer} {each.component}")
        print("\n".join(f"  {line}" for line in each.evidence))


_OTHER_LINES = 4
"""Lines of the screen that are no rows: counts, head of the table, how many are left, prompt."""

_NO_TERMINAL = (200, 40)
"""Columns and lines where nobody says how large the screen is."""


def status(arguments: argparse.Namespace) -> int:
    """Print the screen and return the exit code of the worst verdict."""
    with _judgement(arguments) as judgement:
        if arguments.plan:
            rates, unanswered = rates_of_site(Path(arguments.history), judgement.now)
        else:
            rates, unanswered = rates_of_node(judgement), ()
        lines = lines_of(judgement, rates)
    silent = [node for node in unanswered if node.node in judgement.nodes]
    if arguments.json:
        document = {
            "schema": 1,
            "of": judgement.name,
            "components": [line.to_json() for line in lines],
        }
        print_json({**document, "unanswered": [node.to_json() for node in silent]})
    else:
        rows = len(lines) + len(silent) if arguments.all else None
        text = screen(judgement.name, lines, _screen(rows), silent)
        print(_written(text, sys.stdout.encoding))
    return worst(line.verdict.state for line in lines)


def _written(text: str, encoding: str) -> str:
    """Return text as a terminal of any encoding can show it; without bars it has digits."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(DIGITS).encode(encoding, "replace").decode(encoding)
    return text


def _screen(rows: Optional[int]) -> Screen:
    """Return the terminal's size, with room for ``rows`` where they are given."""
    columns, height = shutil.get_terminal_size(_NO_TERMINAL)
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return Screen(height - _OTHER_LINES if rows is None else rows, columns, colour)


def metrics(arguments: argparse.Namespace) -> int:
    """Write the metrics and return 0, whatever they say."""
    with _judgement(arguments) as judgement:
        now, site = judgement.now, bool(arguments.plan)
        # what a document asks for is expected since it was deployed
        since = os.stat(arguments.plan or arguments.expectations).st_mtime
        nodes = list(tell(judgement, since))
    if site:
        reports = collected_reports(Path(arguments.history), judgement.documents, now)
        nodes = [node._replace(symptoms=reports[node.node].report) for node in nodes]
    else:
        symptoms = _symptoms(os.path.dirname(arguments.snapshot))
        devices = _devices(judgement.documents[judgement.name])
        nodes = [node._replace(symptoms=symptoms, devices=devices) for node in nodes]
    if arguments.format == "checkmk":
        # of a site, with the node in the name of each group
        text = "".join(local_checks(each.every(now), each.node if site else "") for each in nodes)
    else:
        text = exposition(families(nodes, now))
    if arguments.output:
        replace_own(Path(arguments.output), text, mode=0o644)
    else:
        # whatever the locale of who asks: both read UTF-8
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    return 0


def _devices(expectations: Expectations) -> Mapping[str, str]:
    """Return the kernel's name of each component that is a device; none of damaged expectations."""
    try:
        return Parts(expectations, LocalSystem(SystemRunner())).disks
    except DocumentError as error:
        remark(f"without the names of devices: {error}")
        return {}


def _symptoms(folder: str) -> Optional[Report]:
    """Return what the last look at symptoms has kept beside the snapshot; None where none has."""
    path = os.path.join(folder, SYMPTOMS_FILE)
    if not os.path.lexists(path):
        return None
    try:
        return load_report(path)
    except DocumentError as error:
        remark(f"without symptoms: {error}")
        return None
