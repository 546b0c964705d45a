"""The next step of an investigation at a site, for a playbook to carry out.

Nodes that a limit leaves out are not silent: they were not asked, and failures beyond them are
judged as anywhere.

All that is known comes with each call, so nothing is kept between two calls.
"""

from __future__ import annotations

import shlex
import time
from typing import Any, Collection, Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.locate import failures, investigation, sentences
from plumbline.locate.document import document, failed_sets
from plumbline.locate.investigation import Budget, Decision, Findings, Step
from plumbline.locate.next_probe import NextProbe
from plumbline.locate.observation import Nodes, Observation, Site, Vote
from plumbline.locate.observe import unreferenced
from plumbline.locate.sentences import Parts
from plumbline.locate.suspects import AmbiguitySet, Located
from plumbline.measure.temporary import temporary_folder
from plumbline.model.errors import DocumentError, UsageError
from plumbline.model.expectation import Expectation
from plumbline.model.layers import LAYERS
from plumbline.model.record import Record
from plumbline.model.rounds import Role, turn
from plumbline.model.series import Snapshot
from plumbline.model.units import format_bytes, format_duration, parse_bytes, parse_duration
from plumbline.model.validation import read_json
from plumbline.observe.symptom import TROUBLE, SiteSymptoms, site_symptoms
from plumbline.site.jobs import used_meanwhile
from plumbline.site.locate import left_out, locate_site
from plumbline.store.files import DATABASE, load
from plumbline.store.history import History
from plumbline.store.plan import SitePlan
from plumbline.store.snapshot import load_snapshot


class Earlier(NamedTuple):
    """The snapshots by node, and a remark on each file that could not be used."""

    memories: Mapping[str, Snapshot]
    remarks: tuple[str, ...] = ()


def read_earlier(files: Sequence[str]) -> Earlier:
    """Return the snapshots; without one a node is judged as if it had measured nothing before."""
    remarks: list[str] = []
    memories = [snapshot for name in files if (snapshot := _snapshot(name, remarks))]
    return Earlier({snapshot.host: snapshot for snapshot in memories}, tuple(remarks))


def _snapshot(name: str, remarks: list[str]) -> Optional[Snapshot]:
    try:
        return load_snapshot(name)
    except DocumentError as error:
        remarks.append(f"Earlier runs are left out: {error}.")
        return None


def within(
    nodes: Nodes, outside: Collection[str], targets: Sequence[str]
) -> Mapping[str, tuple[Expectation, ...]]:
    """Return what the nodes within the limit measure; the others measure nothing.

    Raises:
        UsageError: a limit leaves nothing to measure, or nothing that crosses one of ``targets``.
    """
    own = {
        name: () if name in outside else tuple(expectations) for name, expectations in nodes.items()
    }
    if not any(own.values()):
        raise UsageError("the limit leaves out every node that measures; widen --limit")
    reached = set(_parts(own))
    for target in targets:
        measuring = [
            name for name, expectations in nodes.items() if target in _parts({name: expectations})
        ]
        if measuring and target not in reached:
            raise UsageError(
                f"{target} is measured by {sentences.listed(measuring, ', ')}, which --limit "
                "leaves out; take it into the limit"
            )
    return own


def _parts(nodes: Nodes) -> Iterator[str]:
    """Yield what is measured, and the parts on the way to it."""
    for expectations in nodes.values():
        for expectation in expectations:
            yield expectation.component
            yield from expectation.path


class Silence:
    """The nodes that do not answer, beside what the others have measured."""

    def __init__(
        self, nodes: Nodes, silent: Iterable[str], findings: Findings, outside: Iterable[str] = ()
    ) -> None:
        """Take what each node measures, who is silent, and what was found without them.

        Nobody waits for nodes ``outside`` either, and nothing else is known of them.

        A node that something has crossed without trouble works, though it cannot be logged in to.
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
        """Return whether all that a set explains crosses a silent node and gave no rate at all."""
        return all(self.loses(located.observations[index]) for index in ambiguity.explains)

    def without(self, located: Located) -> Located:
        """Return what was found less the sets that a silent node explains: they accuse nothing."""
        sets = tuple(
            ambiguity_set
            for ambiguity_set in located.sets
            if not self.explains(located, ambiguity_set)
        )
        return located._replace(sets=sets)

    def loses(self, observation: Observation) -> bool:
        """Return whether a measurement gave no rate and crosses a silent node."""
        return _without_rate(observation) and not set(self._dead).isdisjoint(observation.of.path)

    def sentences(self, parts: Parts) -> Iterator[str]:
        """Yield for each silent node what nothing is concluded about, and what that explains.

        The nodes outside have one sentence together.
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
        """Return for each slot of a step the nodes that would wait for a partner in vain."""
        hosts = {
            expectation.component: (name, expectation.target["hosts"])
            for name, expectations in self._nodes.items()
            for expectation in expectations
            if LAYERS[expectation.layer].paired
        }
        return {str(slot): list(self._waiting(hosts, slot)) for slot in step.slots}

    def _waiting(self, hosts: Mapping[str, tuple[str, Sequence[str]]], slot: int) -> Iterator[str]:
        unasked = {*self._silent, *self._outside}
        for component, (node, every) in hosts.items():
            met = turn(every, component, slot)
            if met and met.role is Role.INITIATOR and hosts[met.partner][0] in unasked:
                yield node


def _without_rate(observation: Observation) -> bool:
    """Return whether a measurement failed or hung."""
    return observation.vote is Vote.BAD and (
        failures.fails(observation.of) or not observation.measured
    )


_REMEDY = "docs/debugging.md says what it holds"
_UNBOUNDED = "1000 TB"
_CLOSING_S = 30.0
"""Of the budget: to bring back what was measured, to judge it, and to have Nagios look at it."""

_KEYS = {
    *("targets", "known", "budget", "budget_bytes", "elapsed_s", "done"),
    *("begun", "silent", "outside", "symptoms", "forks"),
}


class Request(NamedTuple):
    """A question and how it stands.

    ``known`` are components that were not fine before, the worst first; ``begun`` says by each
    node's own clock, in seconds since the epoch, what counts; ``forks`` nodes are asked at once.
    ``outside`` are nodes that answer perhaps, and that nothing may be measured on.
    """

    targets: tuple[str, ...]
    known: tuple[str, ...]
    left: Budget
    done: tuple[Step, ...]
    begun: Mapping[str, float]
    silent: tuple[str, ...]
    outside: tuple[str, ...]
    symptoms: Mapping[str, Any]
    forks: int

    @property
    def unasked(self) -> tuple[str, ...]:
        """Return the nodes that measure nothing, whatever the reason."""
        return (*self.silent, *self.outside)


def read_request(name: str) -> Request:
    """Return the request in a file.

    Raises:
        DocumentError: it is missing or damaged.
        UsageError: a budget that allows nothing.
    """
    raw = load(name, "request", _REMEDY)
    try:
        if unknown := sorted(set(raw) - _KEYS):
            raise DocumentError(f"request {name} has the unknown key {unknown[0]!r}; leave it out")
        done = tuple(Step.from_json(step) for step in raw.get("done", ()))
        return Request(
            tuple(raw.get("targets", ())),
            tuple(raw.get("known", ())),
            _left(raw, done),
            done,
            {node: float(at) for node, at in raw.get("begun", {}).items()},
            tuple(raw.get("silent", ())),
            tuple(raw.get("outside", ())),
            dict(raw.get("symptoms", {})),
            max(1, int(raw.get("forks", investigation.ALL_AT_ONCE))),
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise DocumentError(f"request {name} is damaged ({error!r}); {_REMEDY}") from error


def _left(raw: Mapping[str, Any], done: tuple[Step, ...]) -> Budget:
    """Return what is left of the budget after the steps so far, less what the end takes."""
    time_text, bytes_text = raw.get("budget", "5m"), raw.get("budget_bytes", _UNBOUNDED)
    seconds, size = parse_duration(time_text), parse_bytes(bytes_text)
    if seconds <= _CLOSING_S:
        raise UsageError(
            f"a budget of {time_text} is no time to measure anything: {_CLOSING_S:.0f} s of it are "
            "kept for bringing the results back; write 5m"
        )
    if size <= 0:
        raise UsageError(f"a budget of {bytes_text} moves nothing; write for example 50 GB")
    elapsed_s, moved = float(raw.get("elapsed_s", 0)), sum(step.bytes for step in done)
    return Budget(seconds - _CLOSING_S - elapsed_s, size - moved)


SCHEMA = 1

Row = Sequence[str]


class Answer(NamedTuple):
    """The next step, or what was found, as a document; and the evidence as rows of a table.

    There are rows for each ambiguity set, those of the slow ones first.
    """

    document: dict[str, Any]
    evidence: tuple[tuple[Row, ...], ...]


class _Standing(NamedTuple):
    """Evidence of the records so far."""

    plan: SitePlan
    records: Collection[Record]
    findings: Findings
    probes: Sequence[Optional[NextProbe]]
    symptoms: SiteSymptoms
    silence: Silence
    remarks: Sequence[str]
    jobs: Sequence[str]
    """Jobs on slow targets meanwhile, as far as their servers have reported them."""


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
    located = standing.findings.slow
    evidence = (
        tuple(
            sentences.rows(each, cause) if each is located else failures.failure_rows(each, cause)
        )
        for each, cause in standing.findings.sets()
    )
    return Answer(_answer(standing, decision, request), tuple(evidence))


def _investigations(
    nodes: Mapping[str, tuple[Expectation, ...]],
    request: Request,
    alone: Collection[tuple[str, str]],
) -> Iterator[investigation.Investigation]:
    """Yield what was asked; then, for a site that the budget does not allow, what is known."""
    who = request.unasked, request.forks
    yield investigation.Investigation(nodes, request.targets, *who, unreferenced=alone)
    measured = {
        expectation.component for expectations in nodes.values() for expectation in expectations
    }
    suspected = [name for name in request.known if name in measured]
    if suspected and not request.targets:
        yield investigation.Investigation(nodes, suspected, *who, unreferenced=alone)


def _decide(
    investigations: Sequence[investigation.Investigation], standing: _Standing, request: Request
) -> Decision:
    """Return the next step of the first question that has one, and all that the budget forbids."""
    decisions = [
        each.decide(standing.findings, request.done, request.left) for each in investigations
    ]
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
        each.id: each
        for each in measured
        if each.started_at >= request.begun.get(each.host, float("inf"))
    }.values()
    with temporary_folder() as folder:
        path = folder / DATABASE
        with History(path) as history:
            for record in records:
                # peers are those of the whole investigation: its steps are minutes apart
                history.save(
                    record._replace(run_id=record.layer) if LAYERS[record.layer].grouped else record
                )
        slow, probes, *_ = locate_site(plan, path, time.time(), before.memories, last_run=True)
        jobs = used_meanwhile(plan, path, slow)
    nodes = plan.measured()
    failed = failures.locate_failures(Site(nodes).measurables(), records)
    reports = _said(plan, request)
    findings = Findings(
        sentences.ordered(slow, reports.symptoms), sentences.ordered(failed, reports.symptoms)
    )
    silence = Silence(nodes, request.silent, findings, request.outside)
    next_probes = [
        probe
        for ambiguity_set, probe in zip(findings.slow.sets, probes)
        if not silence.explains(findings.slow, ambiguity_set)
    ]
    accused = Findings(silence.without(findings.slow), silence.without(findings.failed))
    return _Standing(plan, records, accused, next_probes, reports, silence, before.remarks, jobs)


def _said(plan: SitePlan, request: Request) -> SiteSymptoms:
    """Return what holds of what the nodes have said, by the clock of each."""
    now = time.time()
    documents = {node: sent_symptoms(raw) for node, raw in request.symptoms.items()}
    return site_symptoms(documents, {node: request.begun.get(node, now) for node in plan.nodes})


def sent_symptoms(raw: Any) -> Any:
    """Return the symptoms of a node, which may still be text, as its file holds them."""
    try:
        return read_json(raw) if isinstance(raw, str) else raw
    except ValueError as error:
        return {TROUBLE: f"its symptoms are damaged ({error})"}


def _answer(standing: _Standing, decision: Decision, request: Request) -> dict[str, Any]:
    located, parts = standing.findings.slow, standing.plan.parts
    return {
        "schema": SCHEMA,
        "next": decision.step.to_json() if decision.step else None,
        "idle": standing.silence.idle(decision.step) if decision.step else {},
        "left_s": max(0.0, request.left.seconds),
        "reason": _reason(standing, decision),
        "summary": sentences.summary(located),
        "sentences": list(_sentences(standing, decision)),
        "beyond": [
            f"{step.words} ({format_duration(step.seconds)}, {format_bytes(step.bytes)})"
            for step in decision.beyond
        ],
        "unused": list(_unused(standing)),
        "commands": _commands(standing.records),
        "slow": document(located, parts, standing.probes),
        "failed": failed_sets(standing.findings.failed, parts),
    }


def _sentences(standing: _Standing, decision: Decision) -> Iterator[str]:
    """Yield unreachable nodes, slow components, failures, and what none of them explains."""
    slow, failed = standing.findings
    parts = standing.plan.parts
    probes = dict(zip(map(id, slow.sets), standing.probes))
    yield from standing.silence.sentences(parts)
    for located, ambiguity_set in standing.findings.sets():
        more = sentences.quoted(ambiguity_set, parts, standing.symptoms.symptoms)
        if decision.step is None and probes.get(id(ambiguity_set)) is None:
            more += sentences.advice(ambiguity_set, parts, fails=located is failed)
        if located is slow:
            yield sentences.sentence(slow, ambiguity_set, parts, probes[id(ambiguity_set)]) + more
        else:
            text = failures.failure_sentence(failed, ambiguity_set, parts)
            yield f"{text}.{more}" if more else text
    yield from failures.partial_sentences(failed, parts)
    yield from sentences.remarks(slow, parts)
    yield from left_out(standing.symptoms)
    yield from standing.remarks
    yield from standing.jobs
    if decision.step is None and decision.reason == investigation.NOTHING:
        if _reason(standing, decision) != investigation.NOTHING:
            yield "Nothing was measured that could be judged, so nothing is known to be healthy."
            return
        unused = len(list(_unused(standing)))
        many = f"; {unused} measurements could not be, and say nothing" if unused else ""
        yield f"Nothing that could be judged is slow{many}."


def _reason(standing: _Standing, decision: Decision) -> str:
    """Return why it ends; where nothing votes, nothing was found to be healthy either.

    What gave no rate because a node is silent says nothing.
    """
    voted = any(
        observation.vote is not Vote.NONE and not standing.silence.loses(observation)
        for located in standing.findings
        for observation in located.observations
    )
    if decision.step or voted or decision.reason != investigation.NOTHING:
        return decision.reason
    return "nothing was measured"


def _unused(standing: _Standing) -> Iterator[str]:
    """Yield what was measured and cannot vote, with the reason."""
    for observation in standing.findings.slow.observations:
        if observation.vote is Vote.NONE and observation.at:
            yield f"{observation.of.name}: {observation.reason}"


def _commands(records: Iterable[Record]) -> list[str]:
    """Return the commands of the tools, each once, with the node that ran it."""
    ran = (f"{record.host}: {shlex.join(record.tool.argv)}" for record in records if record.tool)
    return list(dict.fromkeys(ran))
