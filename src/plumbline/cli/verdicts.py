"""Verdicts of this node or of a whole site: judge, status, metrics.

A plan and the history of all nodes give the verdicts of the site; judge also takes samples recorded
elsewhere.
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
from typing import Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.cli.options import asks_for_site, nothing_deployed
from plumbline.cli.output import print_json, remark, say
from plumbline.doors.checkmk import local_checks
from plumbline.doors.prometheus import exposition, families
from plumbline.doors.status import DIGITS, Screen, urgent
from plumbline.doors.status import status as screen
from plumbline.doors.table import ScreenText, render
from plumbline.judge.judging import Basis
from plumbline.judge.replay import DayVerdict
from plumbline.model import parts
from plumbline.model.errors import DocumentError, UsageError
from plumbline.model.expectation import Expectations
from plumbline.model.space import SpaceReport
from plumbline.model.symptom import Report
from plumbline.model.verdict import State, Verdict, worst
from plumbline.site.documents import VerdictDocument
from plumbline.site.kept import KeptJudgement
from plumbline.site.nodes import Choice, Judgement, NodeJudgement
from plumbline.site.nodes import judgement as site_judgement
from plumbline.site.published import publish
from plumbline.site.recorded import replay_file
from plumbline.site.survey import last_survey
from plumbline.site.verdicts import (
    Line,
    node_verdicts,
    rates_of_node,
    rates_of_site,
    steps,
    unanswered_nodes,
)
from plumbline.site.verdicts import status as lines_of
from plumbline.store.collection import Unanswered
from plumbline.store.facts import (
    SPACE_REPORT,
    SYMPTOMS_FILE,
    collected_reports,
    load_report,
)
from plumbline.store.files import EXPECTATIONS, SNAPSHOT, load_document
from plumbline.store.plan import load_plan, without_collector
from plumbline.store.replacing import replace_own
from plumbline.store.snapshot import load_expectations, load_snapshot


def judge(arguments: argparse.Namespace) -> int:
    """Print the verdicts and return the worst state."""
    site = asks_for_site(arguments)
    if arguments.last_run and site:
        raise UsageError("--last-run is of one node: leave out --plan and --history")
    if arguments.publish:
        return _publish(arguments, site=site)
    if arguments.replay is not None:
        return _replay(arguments, site=site)
    if arguments.together:
        raise UsageError("--together belongs to --replay FILE.csv: name the file, or leave it out")
    return _judge(arguments, site=site)


def _judge(arguments: argparse.Namespace, *, site: bool) -> int:
    choice = Choice(arguments.layer, arguments.explain or arguments.component)
    # choices and evidence need more than the kept verdicts
    if site and not any((*choice, arguments.json, arguments.verbose)):
        return _judge_site(arguments)
    with _judgement(arguments, arguments.layer) as judgement:
        remark(*judgement.left_out)
        if arguments.explain:
            return _explain(judgement, choice)
        basis = Basis.LAST_RUN if arguments.last_run else Basis.RUNS
        nodes: dict[str, list[Verdict]] = {}
        for judged in judgement.verdicts(choice, evidence=True, basis=basis):
            nodes.setdefault(judged.node, []).append(judged.verdict)
    if not nodes:
        raise judgement.nothing_of(choice)
    verdicts = [verdict for node_verdicts in nodes.values() for verdict in node_verdicts]
    if arguments.json:
        for node, node_verdicts in nodes.items():
            # one line per node of a site, which may have thousands
            document = VerdictDocument(node, tuple(node_verdicts), judgement.now)
            print_json(document, None if site else 1)
    else:
        _print(verdicts, arguments.verbose)
    return worst(verdict.state for verdict in verdicts)


def _judge_site(arguments: argparse.Namespace) -> int:
    """Print the verdicts of a site without their evidence; return the worst state."""
    with without_collector():
        verdicts = _kept(arguments).verdicts().verdicts
    if not verdicts:
        with _judgement(arguments) as judgement:
            raise judgement.nothing_of(Choice())
    _print(verdicts, verbose=False)
    return worst(verdict.state for verdict in verdicts)


def _kept(arguments: argparse.Namespace) -> KeptJudgement:
    return KeptJudgement(arguments.plan, Path(arguments.history), time.time())


@contextmanager
def _judgement(arguments: argparse.Namespace, layer: Optional[str] = None) -> Iterator[Judgement]:
    """Yield the judgement of this node, or of a whole site with a plan and a history."""
    now = time.time()
    if asks_for_site(arguments):
        plan, history = load_plan(arguments.plan), Path(arguments.history)
        with site_judgement(plan, history, now, layer) as judgement:
            yield judgement
    elif arguments.verb == "status" and _is_survey(arguments):
        expectations, snapshot = _survey()
        yield NodeJudgement(expectations, load_snapshot(snapshot), now, layer)
    else:
        expectations = load_expectations(arguments.expectations)
        yield NodeJudgement(expectations, load_snapshot(arguments.snapshot), now, layer)


def _survey() -> tuple[Expectations, str]:
    """Return the user's last survey; raise DocumentError if there is none."""
    last = last_survey()
    if last is None:
        raise DocumentError(
            f"nothing is deployed here ({EXPECTATIONS}) and nothing was surveyed by this user: "
            "deploy the role agent, or call plumbline probe ost --mount /scratch first"
        )
    return last


def _publish(arguments: argparse.Namespace, *, site: bool) -> int:
    """Write the verdicts for checks and return 0."""
    chosen = (arguments.layer, arguments.component, arguments.explain, arguments.replay)
    if site or any(chosen) or arguments.last_run or arguments.json or arguments.verbose:
        raise UsageError(
            "--publish is of all that this node measures: give it --expectations and --snapshot "
            "alone"
        )
    changed = publish(arguments.expectations, Path(arguments.snapshot).absolute().parent)
    say(f"{changed} verdicts have changed")
    return 0


def _replay(arguments: argparse.Namespace, *, site: bool) -> int:
    """Print a verdict for each component and day and return 0: the past asks for no action."""
    chosen = (arguments.layer, arguments.component, arguments.explain, arguments.last_run)
    if site or any(chosen):
        raise UsageError("--replay judges all of a file: give it --together and --json alone")
    replayed = replay_file(Path(arguments.replay), arguments.together or 0.0)
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


def _print_replayed(judged: Sequence[DayVerdict], unit: str) -> None:
    """Print verdicts that alarm, then the number of each state."""
    bad = [sample for sample in judged if sample.verdict.state.alarm]
    rows = [
        (sample.day, sample.host, sample.verdict.state.name, sample.sentence(unit))
        for sample in bad
    ]
    say(render(("day", "host", "state", "verdict"), rows))
    counts = Counter(sample.verdict.state for sample in judged)
    summary = ", ".join(f"{counts[state]} {state.name}" for state in State if counts[state])
    components = len({(sample.host, sample.component) for sample in judged})
    say(f"{components} components, {len(judged)} days of components: {summary}")


def _explain(judgement: Judgement, choice: Choice) -> int:
    """Print the derivation of the verdicts on a component; return the worst state."""
    states = []
    for verdict, lines in judgement.explained(choice):
        say(f"{verdict.state.name} {verdict.layer} {verdict.sentence}")
        say(*(f"  {line}" for line in lines))
        states.append(verdict.state)
    if not states:
        raise judgement.nothing_of(choice)
    return worst(states)


def _print(verdicts: Sequence[Verdict], verbose: bool) -> None:
    rows = [(verdict.state.name, verdict.layer, verdict.sentence) for verdict in verdicts]
    say(render(("state", "layer", "verdict"), rows))
    for verdict in verdicts if verbose else ():
        say("", f"{verdict.state.name} {verdict.layer} {verdict.component}")
        say(*(f"  {line}" for line in verdict.evidence))


_OTHER_LINES = 4
"""Lines of the screen other than rows: counts, table head, number of hidden rows, prompt."""

_NO_TERMINAL = (200, 40)
"""Columns and lines if the size of the screen is unknown."""


def status(arguments: argparse.Namespace) -> int:
    """Print the screen and return the exit code of the worst verdict."""
    with without_collector():
        seen = _site_seen(arguments) if asks_for_site(arguments) else _node_seen(arguments)
    if arguments.json:
        document = {
            "schema": 1,
            "of": seen.name,
            "components": seen.lines,
            "unanswered": seen.unanswered,
        }
        print_json(document)
    else:
        rows = len(seen.lines) + len(seen.unanswered) if arguments.all else None
        text = screen(seen.name, seen.lines, _screen(rows), seen.unanswered)
        say(ScreenText(_encodable(text, sys.stdout.encoding)))
    return worst(line.verdict.state for line in seen.lines)


class _Seen(NamedTuple):
    """Lines of the status of a node or site."""

    name: str
    lines: Sequence[Line]
    unanswered: Sequence[Unanswered] = ()


def _node_seen(arguments: argparse.Namespace) -> _Seen:
    with _judgement(arguments) as judgement:
        basis = _basis(arguments)
        judged = (result.verdict for result in judgement.verdicts(members=True, basis=basis))
        lines = lines_of(judged, rates_of_node(judgement), basis)
        return _Seen(judgement.name, lines)


def _site_seen(arguments: argparse.Namespace) -> _Seen:
    """Return the lines of a site, of which only those on the screen need their rates."""
    kept, history = _kept(arguments), Path(arguments.history)
    site, nodes, verdicts = kept.verdicts(members=True)
    unanswered = [node for node in unanswered_nodes(history) if node.node in nodes]
    if arguments.json or arguments.all:
        return _Seen(site, lines_of(verdicts, rates_of_site(history, kept.now)), unanswered)
    lines, rows = urgent(lines_of(verdicts, {})), max(1, _screen(None).rows)
    places = dict.fromkeys((line.verdict.layer, line.verdict.component) for line in lines[:rows])
    rates = rates_of_site(history, kept.now, places)
    lines[:rows] = [line.with_rates(rates) for line in lines[:rows]]
    return _Seen(site, lines, unanswered)


def _basis(arguments: argparse.Namespace) -> Basis:
    """Return the basis of a screen: a survey has no services that judge several runs."""
    return Basis.COMPARISON if _is_survey(arguments) else Basis.RUNS


def _is_survey(arguments: argparse.Namespace) -> bool:
    own = arguments.snapshot == SNAPSHOT and nothing_deployed(arguments)
    return own and not arguments.plan


def _encodable(text: str, encoding: str) -> str:
    """Return text that a terminal of ``encoding`` can show, with digits instead of bars."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(DIGITS).encode(encoding, "replace").decode(encoding)
    return text


def _screen(rows: Optional[int]) -> Screen:
    """Return the terminal's size, with room for ``rows`` if given."""
    columns, height = shutil.get_terminal_size(_NO_TERMINAL)
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return Screen(height - _OTHER_LINES if rows is None else rows, columns, colour)


def metrics(arguments: argparse.Namespace) -> int:
    """Write the metrics and return 0."""
    with without_collector():
        site = asks_for_site(arguments)
        text = _site_metrics(arguments) if site else _node_metrics(arguments)
    if arguments.output:
        replace_own(Path(arguments.output), text, mode=0o644)
    else:
        # Prometheus and Checkmk read UTF-8, independent of the locale
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    return 0


def _node_metrics(arguments: argparse.Namespace) -> str:
    with _judgement(arguments) as judgement:
        # records are expected since the document was deployed
        since = os.stat(arguments.expectations).st_mtime
        (verdicts,) = node_verdicts(judgement, since)
        measured, now = list(steps(judgement)), judgement.now
        devices = _devices(judgement.documents[judgement.name])
    folder = os.path.dirname(arguments.snapshot)
    symptoms, space = _symptoms(folder), _space(folder)
    verdicts = verdicts._replace(symptoms=symptoms, devices=devices, space=space)
    if arguments.format == "checkmk":
        return local_checks(verdicts.judged(now))
    return exposition(families([verdicts], measured, now))


def _site_metrics(arguments: argparse.Namespace) -> str:
    kept = _kept(arguments)
    verdicts, now = kept.by_node(), kept.now
    names = [node.node for node in verdicts]
    history = Path(arguments.history)
    reports, spaces = collected_reports(history, names, now), _spaces(kept, history)
    verdicts = [
        node._replace(symptoms=reports[node.node].report, space=spaces.get(node.node))
        for node in verdicts
    ]
    if arguments.format == "checkmk":
        # for a site the names of groups contain the node
        return "".join(local_checks(node.judged(now), node.node) for node in verdicts)
    return exposition(families(verdicts, kept.steps(), now))


def _devices(expectations: Expectations) -> Mapping[str, str]:
    """Return kernel names of device components, which the latency under load needs.

    They are empty without the part of facts, or if the expectations are damaged.
    """
    if not parts.is_installed("facts"):
        return {}
    try:
        names: Mapping[str, str] = parts.load("facts", "contract").device_names(expectations)
        return names
    except DocumentError as error:
        remark(f"without the names of devices: {error}")
        return {}


def _spaces(kept: KeptJudgement, history: Path) -> Mapping[str, SpaceReport]:
    """Return the last look at space of each node; none without the part of that name."""
    nothing: Mapping[str, SpaceReport] = {}
    return parts.ask("space", "reports", nothing, kept.space(), history, kept.now)


def _space(folder: str) -> Optional[SpaceReport]:
    """Return the last report of space saved beside the snapshot; None if there is none."""
    path = os.path.join(folder, SPACE_REPORT)
    if not os.path.lexists(path):
        return None
    try:
        return load_document(SpaceReport, path)
    except DocumentError as error:
        remark(f"without space: {error}")
        return None


def _symptoms(folder: str) -> Optional[Report]:
    """Return the last symptoms report saved beside the snapshot; None if there is none."""
    path = os.path.join(folder, SYMPTOMS_FILE)
    if not os.path.lexists(path):
        return None
    try:
        return load_report(path)
    except DocumentError as error:
        remark(f"without symptoms: {error}")
        return None
