"""What was low on a day is measured again, as a node's timer does; the bytes are counted.

By default runs are planned at two or three in the night and confirmed from five on, on the days
after as well until the next planned run.
"""

from __future__ import annotations

from typing import Iterable, Mapping, NamedTuple, Optional, Sequence

from plumbline.judge.component import judge_service
from plumbline.judge.confirm import Past, Place, moved, places, steps_of, turns
from plumbline.judge.past import Past as Weighed
from plumbline.judge.wanted import Layer, wanted
from plumbline.judge.weighing import Weighing
from plumbline.layers import GROUPED
from plumbline.model.confirm import Measured
from plumbline.model.evidence import Evidence, Subject
from plumbline.model.expectation import Expectation
from plumbline.model.verdict import Verdict
from plumbline.simulate.fleet import Flow
from plumbline.simulate.measuring import Measuring, end_of, starts

_AFTER_S = 10_800.0
"""From a planned run to the first that confirms it."""
_FIRST_S = 18_000.0
"""The first look on a day without a planned run: at five, as the default policy has it."""


class _Node(NamedTuple):
    """One layer of a node: what it measures, all that the node does, and what it has confirmed.

    ``weighed`` is what was found when its runs were weighed before; ``open`` when the last planned
    run began, while somebody is in question.
    """

    chosen: tuple[Expectation, ...]
    every: Sequence[Expectation]
    measured: list[Measured]
    weighed: Weighed
    open: list[float]


class Confirming:
    """Confirms on all nodes of a fleet."""

    def __init__(
        self,
        measuring: Measuring,
        nodes: Mapping[str, Sequence[Expectation]],
        periods_s: Mapping[str, float],
    ) -> None:
        """Begin with nothing confirmed; ``periods_s`` is between two planned runs of a layer."""
        self._measuring = measuring
        self._periods_s = periods_s
        self._nodes = [
            _Node(chosen, every, [], Weighed(), [])
            for every in nodes.values()
            for layer in GROUPED
            if (chosen := tuple(one for one in every if one.layer == layer and one.confirm.runs))
        ]

    @property
    def moved_bytes(self) -> int:
        """Return the bytes that the nodes have counted against what they may move."""
        return sum(one.bytes for node in self._nodes for one in node.measured)

    def day(self, number: int, rates_Bps: Mapping[Flow, float]) -> None:
        """Confirm what was low on a day, the first of which is 1, or before it and is not done."""
        for node in self._nodes:
            planned = [*starts(number, self._periods_s[node.chosen[0].layer])]
            for begun, ends in zip(planned, [*planned[1:], end_of(number)]):
                self._after(node, begun, (begun + _AFTER_S, ends), rates_Bps)
            if node.open and not planned:
                looks = end_of(number - 1) + _FIRST_S, end_of(number)
                self._after(node, node.open[0], looks, rates_Bps)

    def _after(
        self,
        node: _Node,
        begun: float,
        looks: tuple[float, float],
        rates_Bps: Mapping[Flow, float],
    ) -> None:
        """Confirm what was low in the planned run of ``begun``, from the first look to the end."""
        now, ends = looks
        past = Past(node.measured, dict.fromkeys((one.component for one in node.chosen), begun))
        queue: Sequence[Place] = ()
        known = _Known(node, self._measuring, now)
        while now < ends:
            layer = Layer(node.chosen, known.verdict, known)
            queue = places(wanted(layer), past, now)
            due = turns(layer, queue, past, now)
            if not due:
                break
            for number, turn in enumerate(due):
                found = moved(turn, f"{now} {number}", now, layer)
                node.measured.extend(found)
                self._measuring.again(steps_of(turn, layer), now, rates_Bps)
            known.forget({one.component for turn in due for one in turn.chosen}, now)
            now += node.chosen[0].confirm.every_s
        node.open[:] = [begun] if any(not place.wanted.obstacle for place in queue) else []


class _Known:
    """Evidence and verdicts on what a node measures, kept until something is measured again."""

    def __init__(self, node: _Node, measuring: Measuring, now: float) -> None:
        self._node = node
        self._measuring = measuring
        self._evidence: dict[Subject, Optional[Evidence]] = {}
        self._verdicts: dict[tuple[str, str], Verdict] = {}
        self.forget((), now)

    def forget(self, components: Iterable[str], now: float) -> None:
        """Weigh some components again, at a moment in epoch seconds."""
        memory, again = self._measuring.memory, frozenset(components)
        self._now = now
        self._weighing = Weighing({"": self._node.every}, {"": memory}, self._node.weighed)
        self._evidence = {
            key: one for key, one in self._evidence.items() if key[1] not in again and not key[2]
        }
        self._verdicts = {key: one for key, one in self._verdicts.items() if key[1] not in again}

    def evidence(self, subject: Subject) -> Optional[Evidence]:
        """Return what the last runs say of a component or group."""
        if subject not in self._evidence:
            self._evidence[subject] = self._weighing.evidence(subject)
        return self._evidence[subject]

    def verdict(self, entry: Expectation) -> Verdict:
        """Return the verdict of the service of a component."""
        key = entry.layer, entry.component
        if key not in self._verdicts:
            series = self._measuring.memory.of(*key)
            known = self.evidence(entry.subject)
            self._verdicts[key] = judge_service(entry, series, (), self._now, known)
        return self._verdicts[key]
