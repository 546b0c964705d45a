"""The one judge of nodes: verdicts on components, groups and file systems, by their last runs."""

from __future__ import annotations

from enum import Enum
from typing import Iterable, Iterator, Mapping, Optional, Sequence

from plumbline.judge.component import decide, rulings_on
from plumbline.judge.fs import FileSystem, Ruled, decide_whole, file_systems
from plumbline.judge.group import by_group, decide_group
from plumbline.judge.memory import EvidenceSource, Memory
from plumbline.judge.pair import judge_pair_host, judge_pair_service
from plumbline.judge.phrases import Ruling, odds_of_run, of_service, weighed, within_chance
from plumbline.judge.service import by_evidence, evidence, with_runs
from plumbline.model.errors import DocumentError
from plumbline.model.evidence import Evidence
from plumbline.model.expectation import Expectation
from plumbline.model.layers import LAYERS
from plumbline.model.verdict import Reason, State, Verdict


class By(Enum):
    """By what a component is judged."""

    RUNS = 1
    """By its last runs together, as its services are."""
    LAST_RUN = 2
    """By its last run alone, as while somebody looks, with the others behind it."""
    COMPARISON = 3
    """By its last run alone, where no service watches it."""


class Judging:
    """One judgement of a node, in which each operation of a component is ruled on once."""

    def __init__(
        self,
        memory: Memory,
        known: EvidenceSource,
        now: float,
        *,
        evidence: bool = True,
        by: By = By.RUNS,
    ) -> None:
        """Judge at ``now`` by what is ``known`` of the last runs together.

        To put ``evidence`` into words takes half of the time.
        """
        self._memory = memory
        self._weighed = known
        self._now = now
        self._evidence = evidence
        self._by = by
        self._known: dict[tuple[str, str], tuple[Ruling, ...]] = {}

    def components(self, chosen: Iterable[Expectation]) -> Iterator[Verdict]:
        """Return the verdicts on components; one whose document is damaged is UNKNOWN."""
        return map(self.component, chosen)

    def groups(self, chosen: Iterable[Expectation]) -> Iterator[Verdict]:
        """Yield the verdict on each group of peers; a node has one component of layer net."""
        expectations = tuple(chosen)
        for members in by_group(expectations).values():
            if len(members) > 1:
                yield self.group(members)
        yield from map(self.file_system, file_systems(expectations))

    def group(self, members: Sequence[Expectation]) -> Verdict:
        """Return the verdict on all members of a group, at least one."""
        layer, group = members[0].layer, members[0].group
        try:
            ruled = [(each, self._rulings(each)) for each in members]
            # looked at only where the group itself has no figure
            shown = (
                (each, self._by_evidence(each, self._weighed.evidence(each.subject)))
                for each in members
            )
            return decide_group(ruled, self._weighed.evidence((layer, group, True)), shown)
        except DocumentError as error:
            return _damaged(layer, group, error)._replace(group=True)

    def file_system(self, system: FileSystem) -> Verdict:
        """Return the verdict on a file system whose targets are driven at once."""
        try:
            ruled = Ruled.of(
                system, lambda each: self._by_evidence(each, self._weighed.evidence(each.subject))
            )
            verdict = decide_whole(ruled, self._memory.running, self._now)
        except DocumentError as error:
            whole = system.whole
            return _damaged(whole.layer, whole.component, error)._replace(group=True)
        return verdict if self._evidence else verdict._replace(evidence=())

    def component(self, entry: Expectation) -> Verdict:
        """Return the verdict on one component; UNKNOWN where its document is damaged."""
        try:
            known = self._weighed.evidence(entry.subject)
            verdict = (
                self._host(entry, known)
                if LAYERS[entry.layer].paired
                else self._target(entry, known)
            )
        except DocumentError as error:
            return _damaged(entry.layer, entry.component, error)
        return verdict if self._evidence else verdict._replace(evidence=())

    def _host(self, entry: Expectation, known: Optional[Evidence]) -> Verdict:
        of = entry, self._memory.of(entry.layer, entry.component), self._memory.running, self._now
        if self._by is not By.RUNS:
            return self._with_others(judge_pair_host(*of), known)
        return judge_pair_service(*of, known)

    def _target(self, entry: Expectation, known: Optional[Evidence]) -> Verdict:
        rulings = self._by_evidence(entry, known)
        verdict = decide(entry, rulings, self._memory.running, self._now)
        if self._evidence:
            lines = tuple(line for ruling in rulings for line in evidence(ruling, self._now))
            verdict = verdict._replace(evidence=lines)
        return (with_runs if self._by is By.RUNS else self._with_others)(verdict, known)

    def _with_others(self, verdict: Verdict, known: Optional[Evidence]) -> Verdict:
        """Return the verdict on the last run alone, with what the last ones say together behind it.

        The odds of a single run are shown to whoever looks.  Where they are so low that nobody
        would measure again for them, the run is within chance, and no alarm.
        """
        low = verdict.state.alarm and verdict.reason.of_one_run
        services = self._by is By.LAST_RUN
        lines = tuple(weighed(known, services=services))
        texts = lines or (odds_of_run(known, services=services),) * low
        sentence = "; ".join((verdict.sentence, *texts))
        if services and (low or verdict.reason.fine):
            sentence += of_service(known, low=low)
        if low and known and within_chance(known):
            verdict = verdict._replace(state=State.OK, reason=Reason.WATCHED)
        return verdict._replace(sentence=sentence, evidence=(*lines, *verdict.evidence))

    def _by_evidence(self, entry: Expectation, known: Optional[Evidence]) -> tuple[Ruling, ...]:
        rulings = self._rulings(entry)
        return by_evidence(rulings, known) if self._by is By.RUNS else rulings

    def _rulings(self, entry: Expectation) -> tuple[Ruling, ...]:
        place = entry.layer, entry.component
        if place not in self._known:
            self._known[place] = rulings_on(entry, self._memory.of(*place), self._now)
        return self._known[place]


def _damaged(layer: str, name: str, error: DocumentError) -> Verdict:
    """Return the verdict where a document is damaged for one component; the others go on."""
    text = f"{name} cannot be judged: {error}"
    return Verdict(layer, name, State.UNKNOWN, Reason.DAMAGED, text)


def judge_day(
    nodes: Mapping[str, Sequence[Expectation]], memory: Memory, weighing: EvidenceSource, now: float
) -> Iterator[Verdict]:
    """Yield the verdicts on all that the nodes of one fleet measure, by one memory of all."""
    for measured in nodes.values():
        judging = Judging(memory, weighing, now, evidence=False)
        yield from judging.components(measured)
        yield from judging.groups(measured)
