"""The next step of looking for a fault at a site, for whoever carries it out.

All that is known comes with each call, so nothing is kept between two calls.
"""

from __future__ import annotations

import shlex
import time
from typing import (
    Any,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
)

from plumbline.layers import GROUPED
from plumbline.locate.advice import advice
from plumbline.locate.corroboration import ordered, quoted
from plumbline.locate.document import document, failed_sets
from plumbline.locate.earlier import unreferenced
from plumbline.locate.failures import (
    failure_rows,
    failure_sentence,
    locate_failures,
    partial_sentences,
)
from plumbline.locate.investigation import NOTHING, Decision, Found, Investigation
from plumbline.locate.measurables import Site
from plumbline.locate.next_probe import NextProbe
from plumbline.locate.observation import Vote
from plumbline.locate.sentences import remarks, rows, sentence, summary
from plumbline.locate.step import Step
from plumbline.model.expectation import Expectation
from plumbline.model.json_text import read_json
from plumbline.model.record import Record
from plumbline.run.temporary import temporary_folder
from plumbline.site.earlier import Earlier
from plumbline.site.limited import within
from plumbline.site.locate import left_out, locate_site
from plumbline.site.request import Request
from plumbline.site.unreachable import Silence
from plumbline.site.used_meanwhile import used_meanwhile
from plumbline.store.history import History
from plumbline.store.places import DATABASE
from plumbline.store.plan import SitePlan
from plumbline.symptoms.reported import TROUBLE, Said, said
from plumbline.units import format_bytes, format_duration

SCHEMA = 1

Row = Sequence[str]


class Answer(NamedTuple):
    """The next step, or what was found, as a document; and the evidence as rows of a table.

    There are rows for each ambiguity set, those of the slow ones first.
    """

    document: dict[str, Any]
    evidence: tuple[tuple[Row, ...], ...]


class _Standing(NamedTuple):
    """What the records say so far."""

    plan: SitePlan
    records: Collection[Record]
    found: Found
    probes: Sequence[Optional[NextProbe]]
    said: Said
    silence: Silence
    remarks: Sequence[str]
    jobs: Sequence[str]
    """Who used slow targets meanwhile, as far as their servers have said it by now."""


def investigate(
    plan: SitePlan, request: Request, measured: Iterable[Record], before: Earlier
) -> Answer:
    """Return the next step of a question, or what was found.

    ``measured`` is read when the question is found to be one that the site can answer; what was
    measured before it was asked does not count.

    Raises:
        UsageError: the question asks for what the site does not have, or a limit leaves out.
        DocumentError: the plan or a record is damaged.
        StoreError: there is no place for what is weighed.
    """
    # a part that does not exist is refused before anything is read
    nodes = within(plan.measured(), request.outside, request.targets)
    alone = unreferenced(nodes, before.memories, time.time())
    investigations = list(_investigations(nodes, request, alone))
    standing = _standing(plan, request, measured, before)
    decision = _decide(investigations, standing, request)
    return Answer(_answer(standing, decision, request), tuple(_evidence(standing)))


def _investigations(
    nodes: Mapping[str, tuple[Expectation, ...]],
    request: Request,
    alone: Collection[tuple[str, str]],
) -> Iterator[Investigation]:
    """Yield what was asked; then, for a site that the budget does not allow, what is known."""
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


def _standing(
    plan: SitePlan, request: Request, measured: Iterable[Record], before: Earlier
) -> _Standing:
    """Locate from what was measured since the beginning, by each node's own clock."""
    # two names of one host give each record twice
    records = {
        one.id: one
        for one in measured
        if one.started_at >= request.begun.get(one.host, float("inf"))
    }.values()
    with temporary_folder() as folder:
        path = folder / DATABASE
        with History(path) as history:
            for one in records:
                # peers are those of the whole investigation: its steps are minutes apart
                history.save(one._replace(run_id=one.layer) if one.layer in GROUPED else one)
        slow, probes, *_ = locate_site(plan, path, time.time(), before.memories, last_run=True)
        jobs = used_meanwhile(plan, path, slow)
    nodes = plan.measured()
    failed = locate_failures(Site(nodes).measurables(), records)
    reports = _said(plan, request)
    found = Found(ordered(slow, reports.symptoms), ordered(failed, reports.symptoms))
    silence = Silence(nodes, request.silent, found, request.outside)
    asked = [
        probe
        for one, probe in zip(found.slow.sets, probes)
        if not silence.explains(found.slow, one)
    ]
    accused = Found(silence.without(found.slow), silence.without(found.failed))
    return _Standing(plan, records, accused, asked, reports, silence, before.remarks, jobs)


def _said(plan: SitePlan, request: Request) -> Said:
    """Return what holds of what the nodes have said, by the clock of each."""
    now = time.time()
    documents = {node: sent_symptoms(raw) for node, raw in request.symptoms.items()}
    return said(documents, {node: request.begun.get(node, now) for node in plan.nodes})


def sent_symptoms(raw: Any) -> Any:
    """Return the symptoms of a node, which may still be text, as its file holds them."""
    try:
        return read_json(raw) if isinstance(raw, str) else raw
    except ValueError as error:
        return {TROUBLE: f"its symptoms are damaged ({error})"}


def _answer(standing: _Standing, decision: Decision, request: Request) -> dict[str, Any]:
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
        "commands": _commands(standing.records),
        "slow": document(located, parts, standing.probes),
        "failed": failed_sets(standing.found.failed, parts),
    }


def _sentences(standing: _Standing, decision: Decision) -> Iterator[str]:
    """Yield unreachable nodes, slow components, failures, and what none of them explains."""
    slow, failed = standing.found
    parts = standing.plan.parts
    probes = dict(zip(map(id, slow.sets), standing.probes))
    yield from standing.silence.sentences(parts)
    for located, one in standing.found.sets():
        more = quoted(one, parts, standing.said.symptoms)
        if decision.step is None and probes.get(id(one)) is None:
            more += advice(one, parts, fails=located is failed)
        if located is slow:
            yield sentence(slow, one, parts, probes[id(one)]) + more
        else:
            text = failure_sentence(failed, one, parts)
            yield f"{text}.{more}" if more else text
    yield from partial_sentences(failed, parts)
    yield from remarks(slow, parts)
    yield from left_out(standing.said)
    yield from standing.remarks
    yield from standing.jobs
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
    for one in standing.found.slow.observations:
        if one.vote is Vote.NONE and one.at:
            yield f"{one.of.name}: {one.reason}"


def _cost(step: Step) -> str:
    return f"{step.words} ({format_duration(step.seconds)}, {format_bytes(step.bytes)})"


def _evidence(standing: _Standing) -> Iterator[tuple[Row, ...]]:
    """Yield the rows of each ambiguity set, those of the slow ones first."""
    for located, one in standing.found.sets():
        row_maker = rows if located is standing.found.slow else failure_rows
        yield tuple(row_maker(located, one))


def _commands(records: Iterable[Record]) -> list[str]:
    """Return the commands of the tools, each once, with the node that ran it."""
    ran = (f"{one.host}: {shlex.join(one.tool.argv)}" for one in records if one.tool)
    return list(dict.fromkeys(ran))
