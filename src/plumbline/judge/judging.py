"""Judge nodes: verdicts on components, groups and file systems, by their last runs."""

from __future__ import annotations

from enum import Enum, auto
from typing import Collection, Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.judge.component import Detail, Step, decide, rule, with_requests
from plumbline.judge.fs import FileSystem, Ruled, decide_whole, file_systems
from plumbline.judge.group import by_group, decide_group
from plumbline.judge.memory import EvidenceSource, Memory
from plumbline.judge.operations import operations, series_of
from plumbline.judge.pair import Form, judge_pair_host
from plumbline.judge.phrases import Ruling, odds_of_run, weighed, within_chance
from plumbline.judge.requests import RequestWords
from plumbline.judge.service import by_evidence, evidence, of_service, with_runs
from plumbline.judge.weighing import Weighing
from plumbline.model.errors import DocumentError
from plumbline.model.evidence import Evidence
from plumbline.model.expectation import Expectation
from plumbline.model.layers import LAYERS
from plumbline.model.limits import Limits
from plumbline.model.verdict import Reason, State, Verdict


class Basis(Enum):
    """Basis of a verdict on a component."""

    RUNS = auto()
    """Its last runs together, as for a service."""
    LAST_RUN = auto()
    """Its last run alone, followed by the evidence of the earlier ones, for a person who looks."""
    COMPARISON = auto()
    """Its last run alone, if no service watches it."""


class Judging:
    """Judgement of a node at ``now`` that rules once on each operation of a component."""

    def __init__(
        self,
        memory: Memory,
        weighing: EvidenceSource,
        now: float,
        *,
        detail: Detail = Detail.EVIDENCE,
        basis: Basis = Basis.RUNS,
    ) -> None:
        """Judge at ``now`` with the evidence of the last runs from ``weighing``.

        Putting the evidence into words takes half of the time.
        """
        self.memory = memory
        self.now = now
        self._weighing = weighing
        self.detail = detail
        self._basis = basis
        self._requests = RequestWords(memory, ())
        self._ruled: dict[tuple[str, str, Step], Ruling] = {}
        self._rulings: dict[tuple[str, str], tuple[Ruling, ...]] = {}

    def among(self, expected: Iterable[Expectation]) -> Judging:
        """Compare the requests of slow components with those of all that the node measures."""
        self._requests = RequestWords(self.memory, expected)
        return self

    def components(self, chosen: Iterable[Expectation]) -> Iterator[Verdict]:
        """Return the verdicts on components; a damaged document gives UNKNOWN."""
        return map(self.component, chosen)

    def groups(self, chosen: Iterable[Expectation]) -> Iterator[Verdict]:
        """Yield the verdict on each group of peers; in layer net a node has one component."""
        expectations = tuple(chosen)
        for members in by_group(expectations).values():
            if len(members) > 1:
                yield self.group(members)
        yield from map(self.file_system, file_systems(expectations))

    def group(self, members: Sequence[Expectation]) -> Verdict:
        """Return the verdict on a group with at least one member."""
        layer, group = members[0].layer, members[0].group
        try:
            ruled = [(member, self.rulings(member)) for member in members]
            # read only if the group itself has no figure
            shown = ((member, self._weighed_rulings(member)) for member in members)
            return decide_group(ruled, self._weighing.evidence((layer, group, True)), shown)
        except DocumentError as error:
            return _damaged(layer, group, error)._replace(group=True)

    def file_system(self, system: FileSystem) -> Verdict:
        """Return the verdict on a file system whose targets are driven at once."""
        try:
            ruled = Ruled.of(system, self._weighed_rulings)
            verdict = decide_whole(ruled, self.memory.running, self.now)
        except DocumentError as error:
            whole = system.whole
            return _damaged(whole.layer, whole.component, error)._replace(group=True)
        return verdict if self.detail.with_evidence else verdict._replace(evidence=())

    def component(self, entry: Expectation) -> Verdict:
        """Return the verdict on one component; a damaged document gives UNKNOWN."""
        try:
            last_runs = self._weighing.evidence(entry.subject)
            judge = self._host if LAYERS[entry.layer].paired else self._target
            verdict = judge(entry, last_runs)
        except DocumentError as error:
            return _damaged(entry.layer, entry.component, error)
        if self._basis is Basis.RUNS:
            verdict = with_runs(verdict, last_runs)
        else:
            verdict = self._last_run(verdict, last_runs, entry.limits)
        unproved = self.detail.with_evidence or not verdict.evidence
        return verdict if unproved else verdict._replace(evidence=())

    def _host(self, entry: Expectation, last_runs: Optional[Evidence]) -> Verdict:
        form = Form(over_runs=self._basis is Basis.RUNS, detail=self.detail)
        return judge_pair_host(entry, self.memory, self.now, last_runs, form)

    def _target(self, entry: Expectation, last_runs: Optional[Evidence]) -> Verdict:
        rulings = self._by_evidence(entry, last_runs)
        verdict = decide(
            entry, rulings, self.memory.running, self.now, in_words=self.detail.in_words
        )
        if not self.detail.with_evidence:
            return verdict
        lines = tuple(line for ruling in rulings for line in evidence(ruling, self.now))
        return verdict._replace(evidence=lines)

    def _last_run(self, verdict: Verdict, evidence: Optional[Evidence], limits: Limits) -> Verdict:
        """Return the verdict on the last run alone, followed by the evidence of the last runs.

        The odds of a single run are shown to a person who looks.  If they are too low to measure
        again, the run is within chance and no alarm.
        """
        low = verdict.state.alarm and verdict.reason.single_run
        services = self._basis is Basis.LAST_RUN
        lines = tuple(weighed(evidence, services=services))
        texts = lines or (odds_of_run(evidence, services=services),) * low
        sentence = "; ".join((verdict.sentence, *texts))
        if services and (low or verdict.reason.fine):
            sentence += of_service(evidence, verdict.state, limits)
        if low and evidence and within_chance(evidence):
            verdict = verdict._replace(state=State.OK, reason=Reason.WATCHED)
        return verdict._replace(sentence=sentence, evidence=(*lines, *verdict.evidence))

    def _weighed_rulings(self, entry: Expectation) -> tuple[Ruling, ...]:
        return self._by_evidence(entry, self._weighing.evidence(entry.subject))

    def _by_evidence(self, entry: Expectation, evidence: Optional[Evidence]) -> tuple[Ruling, ...]:
        rulings = self.rulings(entry)
        return by_evidence(rulings, evidence) if self._basis is Basis.RUNS else rulings

    def rulings(self, entry: Expectation) -> tuple[Ruling, ...]:
        """Return the ruling on each operation of a component in its last run.

        Raises:
            DocumentError: a document is damaged.
        """
        place = entry.layer, entry.component
        if place not in self._rulings:
            steps = operations(entry, self.memory.of(*place))
            self._rulings[place] = tuple(self.ruling(entry, step) for step in steps)
        return self._rulings[place]

    def ruling(self, entry: Expectation, step: Step) -> Ruling:
        """Return the ruling on one operation of a component; raise as ``rulings`` does."""
        key = entry.layer, entry.component, step
        if key not in self._ruled:
            series = series_of(self.memory.of(entry.layer, entry.component), *step)
            ruling = rule(entry, step, series, self.now, in_words=self.detail.in_words)
            self._ruled[key] = self._explained(entry, ruling) if self.detail.in_words else ruling
        return self._ruled[key]

    def _explained(self, entry: Expectation, ruling: Ruling) -> Ruling:
        """Return the ruling; on a slow run with the time of its requests, if it is known."""
        measured = ruling.measured
        if measured is None or not measured.is_low:
            return ruling
        words = self._requests.of(entry, measured.record)
        return with_requests(ruling, words) if words else ruling


def _damaged(layer: str, name: str, error: DocumentError) -> Verdict:
    """Return the verdict on a component with a damaged document; the others go on."""
    text = f"{name} cannot be judged: {error}"
    return Verdict(layer, name, State.UNKNOWN, Reason.DAMAGED, text)


def judge_day(nodes: Mapping[str, Sequence[Expectation]], judging: Judging) -> Iterator[Verdict]:
    """Yield the verdicts on all that the nodes of a fleet measure, by one judge for all."""
    for measured in nodes.values():
        yield from judging.components(measured)
        yield from judging.groups(measured)


class Alarming(NamedTuple):
    """Expectations of each node, the judge of all, and the evidence of their measurements.

    ``alarms`` are the indices of the plan's services in alarm.
    """

    nodes: Mapping[str, Sequence[Expectation]]
    judging: Judging
    weighing: Weighing
    alarms: Collection[int]
