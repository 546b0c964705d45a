"""One step of an investigation: what an on-demand unit measures, and what that takes."""

from __future__ import annotations

from typing import Any, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.layers import ON_DEVICES, PAIRED, layer_of
from plumbline.locate.candidates import Candidate, Intrusion
from plumbline.locate.measurables import Nodes
from plumbline.locate.observation import Measurable
from plumbline.model.expectation import Expectation
from plumbline.plan.duration import bytes_of, seconds_of
from plumbline.plan.rounds import Role, cycle, span, turn

ALL_AT_ONCE = 1_000_000
"""More nodes than any site has."""


class Step(NamedTuple):
    """What is measured together: one component or, where it is empty, all of a layer.

    ``node`` measures, empty for all that do.  ``slots`` are those of the rounds of host
    pairs, empty in other layers; ``partner`` is the other host of a single pair.  ``seconds`` and
    ``bytes`` are what it takes while everything is healthy.
    """

    layer: str
    component: str
    node: str
    words: str
    seconds: float
    bytes: int
    slots: tuple[int, ...] = ()
    partner: str = ""

    @property
    def key(self) -> tuple[str, str, str, tuple[int, ...]]:
        """Return what tells it from others."""
        return self.layer, self.component, self.node, self.slots

    def covers(self, other: Step) -> bool:
        """Return whether another step would measure nothing that this one does not."""
        return (
            self.layer == other.layer
            and self.component in ("", other.component)
            and self.node in ("", other.node)
            and set(other.slots) <= set(self.slots)
        )

    def to_json(self) -> dict[str, Any]:
        """Return the document form."""
        return {**self._asdict(), "slots": list(self.slots)}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Step:
        """Build from the document form; raise KeyError or TypeError for wrong ones."""
        known = {name: raw[name] for name in cls._fields}
        return cls(**{**known, "slots": tuple(raw["slots"])})


class Steps:
    """Builds the steps of a site from what its nodes measure."""

    def __init__(self, nodes: Nodes, forks: int = ALL_AT_ONCE) -> None:
        """Take what each node measures, and how many nodes can be asked at the same time."""
        self._nodes = nodes
        self._forks = forks

    def of(self, candidate: Candidate) -> Optional[Step]:
        """Return the step that makes a measurement, None where no unit does.

        Units exist for what the plan has; reads from another client or on another way do not.
        """
        of = candidate.of
        if candidate.intrusion is Intrusion.TOGETHER and of.layer in ON_DEVICES:
            return self.all(of.layer, of.node)
        if candidate.intrusion in (Intrusion.OTHER_CLIENT, Intrusion.TOGETHER, Intrusion.FAILOVER):
            return None
        if of.layer in PAIRED:
            return self._pair(of)
        return self.one(of.layer, of.component, of.node)

    def one(self, layer: str, component: str, node: str) -> Step:
        """Return the step that measures one target or device."""
        found = [one for one in self._entries(layer, node) if one.component == component]
        seconds, moved = _cost(found)
        return Step(layer, component, node, layer_of(layer).one.format(component), seconds, moved)

    def all(self, layer: str, node: str = "") -> Optional[Step]:
        """Return the step that measures a whole layer, None where nobody measures it.

        A host alone has no pair.
        """
        costs = [
            _cost(found)
            for name in ([node] if node else self._nodes)
            if (found := self._entries(layer, name))
        ]
        if not costs:
            return None
        where = f" of {node}" if node else ""
        words = layer_of(layer).all + where
        if layer in PAIRED:
            return self._rounds(layer, words) if len(costs) > 1 else None
        seconds = self._batches(len(costs)) * max(seconds for seconds, _ in costs)
        return Step(layer, "", node, words, seconds, sum(moved for _, moved in costs))

    def peers(self, step: Step) -> Iterator[Step]:
        """Yield the steps of the peers of a target or device, the ones with least in common first.

        What shares most of its path would be slow for the same reason.
        """
        entries = self._entries(step.layer, step.node)
        own = next(one for one in entries if one.component == step.component)
        peers = [one for one in entries if one.group == own.group and one is not own]
        for one in sorted(peers, key=lambda peer: len({*peer.path} & {*own.path})):
            yield self.one(one.layer, one.component, step.node)

    def _batches(self, nodes: int) -> int:
        """Return how often nodes take turns, where not all of them can work at the same time."""
        return -(-nodes // self._forks)

    def _entries(self, layer: str, node: str) -> list[Expectation]:
        return [one for one in self._nodes[node] if one.layer == layer]

    def _rounds(self, layer: str, words: str) -> Step:
        entries = [one for name in self._nodes for one in self._entries(layer, name)]
        slots = max(span(len(_hosts(one))) for one in entries)
        costs = [_cost([one]) for one in entries]
        # in each slot half of the hosts begin, and no pair moves more than the mean of its two
        seconds = slots * self._batches(len(entries) // 2) * max(seconds for seconds, _ in costs)
        total = slots * sum(moved for _, moved in costs) // 2
        return Step(layer, "", "", words, seconds, total, tuple(range(slots)))

    def _pair(self, measurable: Measurable) -> Optional[Step]:
        one = next(
            each
            for each in self._entries(measurable.layer, measurable.node)
            if each.component == measurable.component
        )
        partner = measurable.operation.rpartition(" ")[2]
        hosts = _hosts(one)
        for slot in range(cycle(len(hosts))):
            met = turn(hosts, one.component, slot)
            if met and met.partner == partner and met.role is Role.INITIATOR:
                words = f"the network between {one.component} and {partner}"
                seconds, moved = _cost([one], partner)
                return Step(
                    one.layer,
                    one.component,
                    measurable.node,
                    words,
                    seconds,
                    moved,
                    (slot,),
                    partner,
                )
        return None


def _hosts(entry: Expectation) -> Sequence[str]:
    hosts: Sequence[str] = entry.target["hosts"]
    return hosts


def _cost(found: Sequence[Expectation], partner: str = "") -> tuple[float, int]:
    """Return the seconds, and the bytes at most, of measurements one after the other."""
    return seconds_of(found, partner), bytes_of(found, partner)
