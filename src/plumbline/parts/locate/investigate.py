"""Choose the next step of an investigation at a site, for a playbook to carry out.

Nodes excluded by a limit are not unreachable: they were not asked, and failures behind them are
judged as usual.

Each call gets the whole state, so nothing is kept between calls.
"""

from __future__ import annotations

import shlex
import time
from typing import (
    Annotated,
    Any,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
)

from plumbline.measure.temporary import temporary_folder
from plumbline.model.codec import read
from plumbline.model.errors import DocumentError, UsageError
from plumbline.model.expectation import Expectation
from plumbline.model.layers import LAYERS
from plumbline.model.record import Record
from plumbline.model.rounds import Role, turn
from plumbline.model.series import Snapshot
from plumbline.model.symptom import TROUBLE, SiteSymptoms, site_symptoms
from plumbline.model.units import format_bytes, format_duration, parse_bytes, parse_duration
from plumbline.model.validation import Within, read_json
from plumbline.parts.locate import failures, investigation, sentences
from plumbline.parts.locate.document import document, failed_sets
from plumbline.parts.locate.investigation import Budget, Decision, Findings, Step
from plumbline.parts.locate.next_probe import NextProbe
from plumbline.parts.locate.observation import Nodes, Observation, Site, Vote
from plumbline.parts.locate.observe import unreferenced
from plumbline.parts.locate.sentences import Parts
from plumbline.parts.locate.site import (
    jobs_on_slow_targets,
    left_out,
    locate_site,
    stages_of_slow_targets,
)
from plumbline.parts.locate.suspects import AmbiguitySet, Located
from plumbline.store.files import DATABASE, load
from plumbline.store.history import History
from plumbline.store.plan import SitePlan
from plumbline.store.snapshot import load_snapshot


class Earlier(NamedTuple):
    """Earlier snapshots by node, and a remark on each unusable file.

    ``readings`` are files with counters of the nodes from before and since.
    """

    memories: Mapping[str, Snapshot]
    remarks: tuple[str, ...] = ()
    readings: tuple[str, ...] = ()


def read_earlier(files: Sequence[str], readings: Sequence[str] = ()) -> Earlier:
    """Return the snapshots; a node without one is judged as if it had not measured before."""
    remarks: list[str] = []
    memories = [snapshot for name in files if (snapshot := _snapshot(name, remarks))]
    by_host = {snapshot.host: snapshot for snapshot in memories}
    return Earlier(by_host, tuple(remarks), tuple(readings))


def _snapshot(name: str, remarks: list[str]) -> Optional[Snapshot]:
    try:
        return load_snapshot(name)
    except DocumentError as error:
        remarks.append(f"Earlier runs are left out: {error}.")
        return None


def within(
    nodes: Nodes, outside: Collection[str], targets: Sequence[str]
) -> Mapping[str, tuple[Expectation, ...]]:
    """Return the measurements of the nodes within the limit; empty for all other nodes.

    Raises:
        UsageError: a limit excludes all measurements, or all that cross one of ``targets``.
    """
    within_limit = {
        name: () if name in outside else tuple(expectations) for name, expectations in nodes.items()
    }
    if not any(within_limit.values()):
        raise UsageError("the limit leaves out every node that measures; widen --limit")
    reached = set(_parts(within_limit))
    for target in targets:
        measuring = [
            name for name, expectations in nodes.items() if target in _parts({name: expectations})
        ]
        if measuring and target not in reached:
            raise UsageError(
                f"{target} is measured by {sentences.listed(measuring, ', ')}, which --limit "
                "leaves out; take it into the limit"
            )
    return within_limit


def _parts(nodes: Nodes) -> Iterator[str]:
    for expectations in nodes.values():
        for expectation in expectations:
            yield expectation.component
            yield from expectation.path


class UnreachableNodes:
    """Unreachable nodes of an investigation, compared with the measurements of the others."""

    def __init__(
        self, nodes: Nodes, silent: Iterable[str], findings: Findings, outside: Iterable[str] = ()
    ) -> None:
        """Take the measurements of each node, the ``silent`` nodes, and the findings without them.

        Nodes ``outside`` of the limit are not waited for either, and may be healthy.

        A node crossed by a good measurement works, although nobody can log in to it.
        """
        self._nodes = nodes
        self._silent = [name for name in nodes if name in set(silent)]
        self._outside = [name for name in nodes if name in set(outside)]
        self._observations = [
            observation for located in findings for observation in located.observations
        ]
        crossed = {
            name
            for observation in self._observations
            if observation.vote is Vote.GOOD
            for name in observation.of.path
        }
        self._dead = [name for name in self._silent if name not in crossed]

    def explains(self, located: Located, ambiguity: AmbiguitySet) -> bool:
        """Return whether all measurements of a set gave no rate and cross an unreachable node."""
        return all(self.loses(located.observations[index]) for index in ambiguity.explains)

    def without(self, located: Located) -> Located:
        """Return the located sets without those explained by an unreachable node."""
        sets = tuple(
            ambiguity_set
            for ambiguity_set in located.sets
            if not self.explains(located, ambiguity_set)
        )
        return located._replace(sets=sets)

    def loses(self, observation: Observation) -> bool:
        """Return whether a measurement gave no rate and crosses an unreachable node."""
        return _without_rate(observation) and not set(self._dead).isdisjoint(observation.of.path)

    def sentences(self, parts: Parts) -> Iterator[str]:
        """Yield a sentence on each unreachable node, with the failures that it explains.

        The nodes outside of the limit share one sentence.
        """
        for name in self._silent:
            own = [
                f"{expectation.layer} {expectation.component}" for expectation in self._nodes[name]
            ]
            text = f"Does not answer: {sentences.titled(name, parts)}; nothing is concluded about "
            text += f"{sentences.listed(own, ', ')}, which it measures."
            lost = [
                observation
                for observation in self._observations
                if _without_rate(observation) and name in observation.of.path
            ]
            if name in self._dead and lost:
                many = "measurement that crosses" if len(lost) == 1 else "measurements that cross"
                text += f" That explains {len(lost)} failed {many} it; nothing else is accused."
            yield text
        if outside := [sentences.titled(name, parts) for name in self._outside]:
            yield f"Outside of the limit, so not measured on: {sentences.listed(outside, ', ')}."

    def idle(self, step: Step) -> dict[str, list[str]]:
        """Return by slot of a step the nodes whose partner is not asked."""
        hosts = {
            expectation.component: (name, expectation.target["hosts"])
            for name, expectations in self._nodes.items()
            for expectation in expectations
            if LAYERS[expectation.layer].paired and expectation.layer == step.layer
        }
        return {str(slot): list(self._waiting(hosts, slot)) for slot in step.slots}

    def _waiting(self, hosts: Mapping[str, tuple[str, Sequence[str]]], slot: int) -> Iterator[str]:
        """Yield the nodes that begin in a slot, if all of their partners are not asked."""
        unasked = {*self._silent, *self._outside}
        partners: dict[str, set[str]] = {}
        for component, (node, all_hosts) in hosts.items():
            meeting = turn(all_hosts, component, slot)
            if meeting and meeting.role is Role.INITIATOR:
                partners.setdefault(node, set()).add(hosts[meeting.partner][0])
        yield from (node for node, asked in partners.items() if asked <= unasked)


def _without_rate(observation: Observation) -> bool:
    return observation.vote is Vote.BAD and (
        failures.fails(observation.of) or not observation.measured
    )


_REMEDY = "docs/debugging.md says what it holds"
_CLOSING_S = 30.0
"""Seconds of the budget for fetching and judging the records and updating Nagios."""


class Request(NamedTuple):
    """A question and its progress.

    ``known`` are components with an earlier problem, the worst first; records count from ``begun``
    on, in epoch seconds of each node's own clock; ``forks`` nodes are asked at once.  ``outside``
    are nodes excluded by a limit, which may not measure.
    """

    targets: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    budget: str = "5m"
    budget_bytes: str = "1000 TB"
    elapsed_s: float = 0.0
    done: tuple[Step, ...] = ()
    begun: Mapping[str, float] = {}
    silent: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    symptoms: Mapping[str, Any] = {}
    forks: Annotated[int, Within(1, investigation.ALL_AT_ONCE)] = investigation.ALL_AT_ONCE

    def remaining(self) -> Budget:
        """Return the remaining budget after the steps so far, less the time for the end.

        Raises:
            UsageError: it allows no measurement.
        """
        seconds, size = parse_duration(self.budget), parse_bytes(self.budget_bytes)
        if seconds <= _CLOSING_S:
            raise UsageError(
                f"a budget of {self.budget} is no time to measure anything: {_CLOSING_S:.0f} s of "
                "it are kept for bringing the results back; write 5m"
            )
        if size <= 0:
            raise UsageError(f"a budget of {self.budget_bytes} moves nothing; write 50 GB")
        moved = sum(step.bytes for step in self.done)
        return Budget(seconds - _CLOSING_S - self.elapsed_s, size - moved)

    @property
    def unasked(self) -> tuple[str, ...]:
        """Return the nodes that do not measure: silent or outside of the limit."""
        return (*self.silent, *self.outside)


def read_request(name: str) -> Request:
    """Return the request in a file; raise DocumentError if it is missing or damaged."""
    raw = load(name, "request", _REMEDY)
    try:
        return read(Request, raw)
    except (KeyError, TypeError) as error:
        raise DocumentError(f"request {name} is damaged ({error!r}); {_REMEDY}") from error


SCHEMA = 1

Row = Sequence[str]


class Answer(NamedTuple):
    """The next step or the result as a document, and the evidence as rows of a table.

    There are rows for each ambiguity set, slow sets first.
    """

    document: dict[str, Any]
    evidence: tuple[tuple[Row, ...], ...]


class _Evidence(NamedTuple):
    """Evidence of the records so far."""

    plan: SitePlan
    records: Collection[Record]
    findings: Findings
    probes: Sequence[Optional[NextProbe]]
    symptoms: SiteSymptoms
    silence: UnreachableNodes
    remarks: Sequence[str]
    jobs: Sequence[str]
    """Jobs on slow targets at the time, as far as their servers have reported them."""
    stages: Sequence[str]
    """Sentences on the time of requests to slow targets, as far as their nodes count it."""


def investigate(
    plan: SitePlan, request: Request, measured: Iterable[Record], earlier: Earlier
) -> Answer:
    """Return the next step of a question, or the result.

    ``measured`` is read after the question is checked; records from before it do not count.

    Raises:
        UsageError: the question names components that the site lacks or a limit excludes, or its
            budget allows no measurement.
        DocumentError: the plan or a record is damaged.
        StoreError: a temporary history cannot be written.
    """
    # refuse an unknown part before reading records
    budget = request.remaining()
    nodes = within(plan.measured(), request.outside, request.targets)
    no_reference = unreferenced(nodes, earlier.memories, time.time())
    investigations = list(_investigations(nodes, request, no_reference))
    weighed = _evidence(plan, request, measured, earlier)
    decision = _decide(investigations, weighed, request.done, budget)
    located = weighed.findings.slow
    evidence = (
        tuple(
            sentences.rows(part, cause) if part is located else failures.failure_rows(part, cause)
        )
        for part, cause in weighed.findings.sets()
    )
    return Answer(_answer(weighed, decision, budget), tuple(evidence))


def _investigations(
    nodes: Mapping[str, tuple[Expectation, ...]],
    request: Request,
    no_reference: Collection[tuple[str, str]],
) -> Iterator[investigation.Investigation]:
    """Yield the requested investigation; for a whole site also one of the known suspects."""
    options = request.unasked, request.forks
    yield investigation.Investigation(nodes, request.targets, *options, unreferenced=no_reference)
    measured = {
        expectation.component for expectations in nodes.values() for expectation in expectations
    }
    suspected = [name for name in request.known if name in measured]
    if suspected and not request.targets:
        yield investigation.Investigation(nodes, suspected, *options, unreferenced=no_reference)


def _decide(
    investigations: Sequence[investigation.Investigation],
    evidence: _Evidence,
    done: Sequence[Step],
    budget: Budget,
) -> Decision:
    """Return the next step of the first investigation with one, and the steps beyond the budget."""
    decisions = [item.decide(evidence.findings, done, budget) for item in investigations]
    first = decisions[0]
    if first.step or not first.beyond:
        return first
    following = next((decision for decision in decisions if decision.step), first)
    return following._replace(beyond=first.beyond)


def _evidence(
    plan: SitePlan, request: Request, measured: Iterable[Record], earlier: Earlier
) -> _Evidence:
    """Locate from the records since the beginning, by each node's own clock."""
    # a host with two names gives each record twice
    records = {
        record.id: record
        for record in measured
        if record.started_at >= request.begun.get(record.host, float("inf"))
    }.values()
    with temporary_folder() as folder:
        path = folder / DATABASE
        with History(path) as history:
            for record in records:
                # all steps are one run of peers, because they are only minutes apart
                history.save(
                    record._replace(run_id=record.layer) if LAYERS[record.layer].grouped else record
                )
        slow, probes, *_ = locate_site(plan, path, time.time(), earlier.memories, last_run=True)
        jobs = jobs_on_slow_targets(plan, path, slow.slow_runs())
    stages = stages_of_slow_targets(plan, earlier.readings, slow)
    nodes = plan.measured()
    failed = failures.locate_failures(Site(nodes).measurables(), records)
    reports = _symptoms(plan, request)
    findings = Findings(
        sentences.ordered(slow, reports.symptoms), sentences.ordered(failed, reports.symptoms)
    )
    silence = UnreachableNodes(nodes, request.silent, findings, request.outside)
    next_probes = [
        probe
        for ambiguity_set, probe in zip(findings.slow.sets, probes)
        if not silence.explains(findings.slow, ambiguity_set)
    ]
    accused = Findings(silence.without(findings.slow), silence.without(findings.failed))
    remarks = earlier.remarks
    return _Evidence(plan, records, accused, next_probes, reports, silence, remarks, jobs, stages)


def _symptoms(plan: SitePlan, request: Request) -> SiteSymptoms:
    """Return the symptoms that are not stale, by the clock of each node."""
    now = time.time()
    documents = {node: sent_symptoms(raw) for node, raw in request.symptoms.items()}
    return site_symptoms(documents, {node: request.begun.get(node, now) for node in plan.nodes})


def sent_symptoms(raw: Any) -> Any:
    """Return the symptoms document of a node, parsed if it is still text."""
    try:
        return read_json(raw) if isinstance(raw, str) else raw
    except ValueError as error:
        return {TROUBLE: f"its symptoms are damaged ({error})"}


def _answer(evidence: _Evidence, decision: Decision, budget: Budget) -> dict[str, Any]:
    located, parts = evidence.findings.slow, evidence.plan.parts
    return {
        "schema": SCHEMA,
        "next": decision.step,
        "idle": evidence.silence.idle(decision.step) if decision.step else {},
        "left_s": max(0.0, budget.seconds),
        "reason": _reason(evidence, decision),
        "summary": sentences.summary(located),
        "sentences": list(_sentences(evidence, decision)),
        "beyond": [
            f"{step.words} ({format_duration(step.seconds)}, {format_bytes(step.bytes)})"
            for step in decision.beyond
        ],
        "unused": list(_unused(evidence)),
        "commands": _commands(evidence.records),
        "slow": document(located, parts, evidence.probes),
        "failed": failed_sets(evidence.findings.failed, parts),
    }


def _sentences(evidence: _Evidence, decision: Decision) -> Iterator[str]:
    """Yield sentences on unreachable nodes, slow components, failures, and the unexplained rest."""
    slow, failed = evidence.findings
    parts = evidence.plan.parts
    probes = dict(zip(map(id, slow.sets), evidence.probes))
    yield from evidence.silence.sentences(parts)
    for located, ambiguity_set in evidence.findings.sets():
        more = sentences.quoted(ambiguity_set, parts, evidence.symptoms.symptoms)
        if decision.step is None and probes.get(id(ambiguity_set)) is None:
            more += sentences.advice(ambiguity_set, parts, fails=located is failed)
        if located is slow:
            yield sentences.sentence(slow, ambiguity_set, parts, probes[id(ambiguity_set)]) + more
        else:
            text = failures.failure_sentence(failed, ambiguity_set, parts)
            yield f"{text}.{more}" if more else text
    yield from failures.partial_sentences(failed, parts)
    yield from sentences.remarks(slow, parts)
    yield from left_out(evidence.symptoms)
    yield from evidence.remarks
    yield from evidence.stages
    yield from evidence.jobs
    if decision.step is None and decision.reason == investigation.NOTHING:
        if _reason(evidence, decision) != investigation.NOTHING:
            yield "Nothing was measured that could be judged, so nothing is known to be healthy."
            return
        unused = len(list(_unused(evidence)))
        many = f"; {unused} measurements could not be, and say nothing" if unused else ""
        yield f"Nothing that could be judged is slow{many}."


def _reason(evidence: _Evidence, decision: Decision) -> str:
    """Return the reason of the decision; without a vote nothing was found to be healthy either.

    A measurement without a rate because of an unreachable node does not vote.
    """
    voted = any(
        observation.vote is not Vote.NONE and not evidence.silence.loses(observation)
        for located in evidence.findings
        for observation in located.observations
    )
    if decision.step or voted or decision.reason != investigation.NOTHING:
        return decision.reason
    return "nothing was measured"


def _unused(evidence: _Evidence) -> Iterator[str]:
    """Yield measurements that cannot vote, with the reason."""
    for observation in evidence.findings.slow.observations:
        if observation.vote is Vote.NONE and observation.at:
            yield f"{observation.of.name}: {observation.reason}"


def _commands(records: Iterable[Record]) -> list[str]:
    """Return the distinct commands of the tools, with the node that ran them."""
    ran = (f"{record.host}: {shlex.join(record.tool.argv)}" for record in records if record.tool)
    return list(dict.fromkeys(ran))
