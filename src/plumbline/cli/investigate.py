"""``plumbline investigate``: the next step of looking for a fault, for whoever carries it out.

The playbook debug_slow_storage asks after each step.  All that is known comes in one document, so
nothing is kept between two calls.
"""

from __future__ import annotations

import argparse
import json
import shlex
import time
from typing import (
    TYPE_CHECKING,
    Any,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
)

from plumbline.units import format_bytes, format_duration

if TYPE_CHECKING:
    from plumbline.cli.earlier import Earlier
    from plumbline.cli.question import Request
    from plumbline.cli.silent import Silence
    from plumbline.locate.investigation import Decision, Found, Investigation
    from plumbline.locate.next_probe import NextProbe
    from plumbline.locate.step import Step
    from plumbline.model.expectation import Expectation
    from plumbline.model.record import Record
    from plumbline.store.plan import SitePlan
    from plumbline.symptoms.said import Said

SCHEMA = 1


class _Standing(NamedTuple):
    """What the records say so far."""

    plan: SitePlan
    records: Collection[Record]
    found: Found
    probes: Sequence[Optional[NextProbe]]
    said: Said
    silence: Silence
    remarks: Sequence[str]


def add(subparsers: Any) -> None:
    """Declare the arguments."""
    parser = subparsers.add_parser(
        "investigate",
        help="say what to measure next while looking for a fault; for debug_slow_storage.yml",
        description="Read a question and what was measured since it was asked; print the next "
        "step, or what was found, as JSON.",
    )
    parser.add_argument(
        "--plan", metavar="FILE", required=True, help="what plumbline plan --json printed"
    )
    parser.add_argument("--request", metavar="FILE", required=True, help="question and progress")
    parser.add_argument(
        "--records",
        metavar="FILE",
        nargs="*",
        default=[],
        help="what plumbline history --json printed on the nodes",
    )
    parser.add_argument(
        "--snapshots",
        metavar="FILE",
        nargs="*",
        default=[],
        help="snapshots of the nodes from before the beginning: references that do not vote",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the answer and return 0."""
    from plumbline.cli.earlier import read_earlier
    from plumbline.cli.limited import within
    from plumbline.cli.question import read_request
    from plumbline.locate.earlier import unreferenced
    from plumbline.store.plan import load_plan

    plan = load_plan(arguments.plan)
    request = read_request(arguments.request)
    # a part that does not exist is refused before anything is read
    nodes = within(plan.measured(), request.outside, request.targets)
    before = read_earlier(arguments.snapshots)
    alone = unreferenced(nodes, before.memories, time.time())
    investigations = list(_investigations(nodes, request, alone))
    standing = _standing(plan, request, arguments.records, before)
    decision = _decide(investigations, standing, request)
    print(json.dumps(_answer(standing, decision, request), allow_nan=False))
    return 0


def _investigations(
    nodes: Mapping[str, tuple[Expectation, ...]],
    request: Request,
    alone: Collection[tuple[str, str]],
) -> Iterator[Investigation]:
    """Yield what was asked; then, for a site that the budget does not allow, what is known."""
    from plumbline.locate.investigation import Investigation

    who = request.unasked, request.forks
    yield Investigation(nodes, request.targets, *who, unreferenced=alone)
    measured = {one.component for found in nodes.values() for one in found}
    known = [name for name in request.known if name in measured]
    if known and not request.targets:
        yield Investigation(nodes, known, *who, unreferenced=alone)


def _decide(
    investigations: Sequence[Investigation], standing: _Standing, request: Request
) -> Decision:
    """Return the next step of the first question that has one, and all that the budget forbids."""
    decisions = [each.decide(standing.found, request.done, request.left) for each in investigations]
    first = decisions[0]
    if first.step or not first.beyond:
        return first
    following = next((each for each in decisions if each.step), first)
    return following._replace(beyond=first.beyond)


def _standing(plan: SitePlan, request: Request, files: Sequence[str], before: Earlier) -> _Standing:
    """Locate from what was measured since the beginning, by each node's own clock."""
    from plumbline.cli.silent import Silence
    from plumbline.documents.records import read_records
    from plumbline.judge.provisional import LAYERS
    from plumbline.locate.failures import locate_failures
    from plumbline.locate.investigation import Found
    from plumbline.locate.leaning import ordered
    from plumbline.locate.measurables import Site
    from plumbline.run.temporary import temporary_folder
    from plumbline.site.locate import locate_site
    from plumbline.store.history import History

    # two names of one host give each record twice
    records = {
        one.id: one
        for one in read_records(files)
        if one.started_at >= request.begun.get(one.host, float("inf"))
    }.values()
    with temporary_folder() as folder:
        path = folder / "history.sqlite"
        with History(path) as history:
            for one in records:
                # peers are those of the whole investigation: its steps are minutes apart
                history.save(one._replace(run_id=one.layer) if one.layer in LAYERS else one)
        slow, probes, *_ = locate_site(plan, path, time.time(), 1, before.memories)
    nodes = plan.measured()
    failed = locate_failures(Site(nodes).measurables(), records)
    said = _said(plan, request)
    found = Found(ordered(slow, said.symptoms), ordered(failed, said.symptoms))
    silence = Silence(nodes, request.silent, found, request.outside)
    asked = [
        probe
        for one, probe in zip(found.slow.sets, probes)
        if not silence.explains(found.slow, one)
    ]
    accused = Found(silence.without(found.slow), silence.without(found.failed))
    return _Standing(plan, records, accused, asked, said, silence, before.remarks)


def _said(plan: SitePlan, request: Request) -> Said:
    """Return what holds of what the nodes have said, by the clock of each."""
    from plumbline.symptoms.said import said

    now = time.time()
    documents = {node: _document(raw) for node, raw in request.symptoms.items()}
    return said(documents, {node: request.begun.get(node, now) for node in plan.nodes})


def _document(raw: Any) -> Any:
    """Return a document that may still be text, as a file of a node holds it."""
    from plumbline.model.json_text import read_json
    from plumbline.symptoms.said import TROUBLE

    try:
        return read_json(raw) if isinstance(raw, str) else raw
    except ValueError as error:
        return {TROUBLE: f"its symptoms are damaged ({error})"}


def _answer(standing: _Standing, decision: Decision, request: Request) -> dict[str, Any]:
    from plumbline.locate.document import document, failed_sets
    from plumbline.locate.words import summary

    located, parts = standing.found.slow, standing.plan.parts
    return {
        "schema": SCHEMA,
        "next": decision.step.to_json() if decision.step else None,
        "idle": standing.silence.idle(decision.step) if decision.step else {},
        "left_s": max(0.0, request.left.seconds),
        "reason": _reason(standing, decision),
        "summary": summary(located),
        "sentences": list(_sentences(standing, decision)),
        "beyond": [_cost(step) for step in decision.beyond],
        "unused": list(_unused(standing)),
        "table": _table(standing),
        "commands": _commands(standing.records),
        "slow": document(located, parts, standing.probes),
        "failed": failed_sets(standing.found.failed, parts),
    }


def _sentences(standing: _Standing, decision: Decision) -> Iterator[str]:
    """Yield who does not answer, what is slow, what fails, and what neither explains."""
    from plumbline.locate.advice import advice
    from plumbline.locate.failures import failure_sentence, partial_sentences
    from plumbline.locate.investigation import NOTHING
    from plumbline.locate.leaning import quoted
    from plumbline.locate.words import remarks, sentence
    from plumbline.site.locate import left_out

    slow, failed = standing.found
    parts = standing.plan.parts
    probes = dict(zip(map(id, slow.sets), standing.probes))
    yield from standing.silence.sentences(parts)
    for located, one in standing.found.sets():
        said = quoted(one, parts, standing.said.symptoms)
        if decision.step is None and probes.get(id(one)) is None:
            said += advice(one, parts, fails=located is failed)
        if located is slow:
            yield sentence(slow, one, parts, probes[id(one)]) + said
        else:
            text = failure_sentence(failed, one, parts)
            yield f"{text}.{said}" if said else text
    yield from partial_sentences(failed, parts)
    yield from remarks(slow, parts)
    yield from left_out(standing.said)
    yield from standing.remarks
    if decision.step is None and decision.reason == NOTHING:
        if _reason(standing, decision) != NOTHING:
            yield "Nothing was measured that could be judged, so nothing is known to be healthy."
            return
        left = len(list(_unused(standing)))
        many = f"; {left} measurements could not be, and say nothing" if left else ""
        yield f"Nothing that could be judged is slow{many}."


def _reason(standing: _Standing, decision: Decision) -> str:
    """Return why it ends; where nothing votes, nothing was found to be healthy either.

    What gave no rate because a node is silent says nothing.
    """
    from plumbline.locate.investigation import NOTHING
    from plumbline.locate.observation import Vote

    voted = any(
        one.vote is not Vote.NONE and not standing.silence.loses(one)
        for located in standing.found
        for one in located.observations
    )
    if decision.step or voted or decision.reason != NOTHING:
        return decision.reason
    return "nothing was measured"


def _unused(standing: _Standing) -> Iterator[str]:
    """Yield what was measured and cannot vote, with the reason."""
    from plumbline.locate.observation import Vote

    for one in standing.found.slow.observations:
        if one.vote is Vote.NONE and one.at:
            yield f"{one.of.name}: {one.reason}"


def _cost(step: Step) -> str:
    return f"{step.words} ({format_duration(step.seconds)}, {format_bytes(step.bytes)})"


def _table(standing: _Standing) -> list[str]:
    """Return the evidence on each ambiguity set as lines, those of the slow ones first."""
    from plumbline.locate.failures import failure_rows
    from plumbline.locate.words import HEADERS, rows
    from plumbline.output.table import render

    lines: list[str] = []
    for located, one in standing.found.sets():
        told = rows if located is standing.found.slow else failure_rows
        lines += render(HEADERS, list(told(located, one))).splitlines()
    return lines


def _commands(records: Iterable[Record]) -> list[str]:
    """Return the commands of the tools, each once, with the node that ran it."""
    said = (f"{one.host}: {shlex.join(one.tool.argv)}" for one in records if one.tool)
    return list(dict.fromkeys(said))
