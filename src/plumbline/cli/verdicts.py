"""The verdicts on what a node measures: on each component, then on each group of siblings.

A file system whose targets are driven at once is a group that is judged as a whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Iterable, Iterator, Optional

from plumbline.errors import DocumentError
from plumbline.judge.component import decide, rulings_on
from plumbline.judge.evidence import evidence
from plumbline.judge.fs import Ruled, decide_whole, wholes
from plumbline.judge.group import decide_group
from plumbline.judge.pair import judge_pair_host
from plumbline.judge.phrases import weighed
from plumbline.judge.weighing import Weighing
from plumbline.model.reason import Reason
from plumbline.model.state import State
from plumbline.model.verdict import Verdict

if TYPE_CHECKING:
    from plumbline.judge.finding import Ruling
    from plumbline.model.expectation import Expectation
    from plumbline.model.series import Memory


class Judging:
    """One judgement of a node, in which each operation of a component is ruled on once."""

    def __init__(self, memory: Memory, now: float, *, evidence: bool = True) -> None:
        """Judge at ``now``; to put ``evidence`` into words takes half of the time."""
        self._memory = memory
        self._now = now
        self._evidence = evidence
        self._known: dict[tuple[str, str], tuple[Ruling, ...]] = {}
        self._chosen: tuple[Expectation, ...] = ()
        self._weighing: Optional[Weighing] = None

    def components(self, chosen: Iterable[Expectation]) -> Iterator[Verdict]:
        """Return the verdicts on components; one whose document is damaged is UNKNOWN."""
        self._chosen = tuple(chosen)
        return map(self._component, self._chosen)

    def groups(self, chosen: Iterable[Expectation]) -> Iterator[Verdict]:
        """Yield the verdict on each group of siblings; a node has one component of layer net."""
        groups: dict[tuple[str, str], list[Expectation]] = {}
        every = tuple(chosen)
        for each in every:
            groups.setdefault((each.layer, each.group), []).append(each)
        for (layer, group), members in groups.items():
            if layer not in ("net", "fs") and len(members) > 1:
                try:
                    yield decide_group([(each, self._rulings(each)) for each in members])
                except DocumentError as error:
                    yield _damaged(layer, group, error)._replace(group=True)
        yield from (self._whole(whole, members) for whole, members in wholes(every))

    def _whole(self, whole: Expectation, members: Iterable[Expectation]) -> Verdict:
        try:
            ruled = Ruled(
                (whole, self._rulings(whole)),
                tuple((each, self._rulings(each)) for each in members),
            )
            found = decide_whole(ruled, self._memory.running, self._now)
        except DocumentError as error:
            return _damaged(whole.layer, whole.component, error)._replace(group=True)
        return found if self._evidence else found._replace(evidence=())

    def _component(self, each: Expectation) -> Verdict:
        try:
            return self._host(each) if each.layer == "net" else self._target(each)
        except DocumentError as error:
            return _damaged(each.layer, each.component, error)

    def _host(self, each: Expectation) -> Verdict:
        series = self._memory.of(each.layer, each.component)
        return judge_pair_host(each, series, self._memory.running, self._now)

    def _target(self, each: Expectation) -> Verdict:
        rulings = self._rulings(each)
        found = decide(each, rulings, self._memory.running, self._now)
        if not self._evidence:
            return found
        lines = (line for ruling in rulings for line in evidence(ruling, self._now))
        return found._replace(evidence=(*self._weighed(each), *lines))

    def _weighed(self, each: Expectation) -> Iterator[str]:
        """Yield what the last runs say together, where that is worth a word."""
        if self._weighing is None:
            self._weighing = Weighing({"": self._chosen}, {"": self._memory})
        found = self._weighing.of(each.layer, each.component)
        if found:
            yield from weighed(found)

    def _rulings(self, each: Expectation) -> tuple[Ruling, ...]:
        place = each.layer, each.component
        if place not in self._known:
            self._known[place] = rulings_on(each, self._memory.of(*place), self._now)
        return self._known[place]


def _damaged(layer: str, name: str, error: DocumentError) -> Verdict:
    """Return the verdict where a document is damaged for one component; the others go on."""
    text = f"{name} cannot be judged: {error}"
    return Verdict(layer, name, State.UNKNOWN, Reason.DAMAGED, text)
