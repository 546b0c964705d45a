"""An investigation of a fault that is there now: its steps, and when it is enough.

Only what was measured since the investigation began votes; what was known before is shown, but an
old good measurement must not clear a part that has become slow since.
"""

from __future__ import annotations

from itertools import islice
from typing import Any, Collection, Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.locate.failures import FAILURES, failing
from plumbline.locate.next_probe import Candidate, Candidates, Intrusion, next_probe
from plumbline.locate.observation import SEGMENTS, Measurable, Nodes, Vote
from plumbline.locate.observe import resending
from plumbline.locate.suspects import AmbiguitySet, Located
from plumbline.model.errors import UsageError
from plumbline.model.expectation import Expectation
from plumbline.model.layers import BY_DEPTH, LAYERS, layer_of
from plumbline.model.layers.layer import Layer
from plumbline.model.rounds import Role, cycle, span, turn
from plumbline.plan.duration import bytes_of, seconds_of

ALL_AT_ONCE = 1_000_000
"""More nodes than any site has."""


class Step(NamedTuple):
    """Measurements of one step: one component or, if that is empty, all of a layer.

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
        """Return its identity among steps."""
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
        if candidate.intrusion is Intrusion.TOGETHER and LAYERS[of.layer].on_devices:
            return self.all(of.layer, of.node)
        if candidate.intrusion in (Intrusion.OTHER_CLIENT, Intrusion.TOGETHER, Intrusion.FAILOVER):
            return None
        if LAYERS[of.layer].paired:
            return self._pair(of)
        return self.one(of.layer, of.component, of.node)

    def one(self, layer: str, component: str, node: str) -> Step:
        """Return the step that measures one target or device."""
        expectations = [
            expectation
            for expectation in self._entries(layer, node)
            if expectation.component == component
        ]
        seconds, moved = _cost(expectations)
        return Step(layer, component, node, layer_of(layer).one.format(component), seconds, moved)

    def all(self, layer: str, node: str = "") -> Optional[Step]:
        """Return the step that measures a whole layer, None where nobody measures it.

        A host alone has no pair.
        """
        costs = [
            _cost(expectations)
            for name in ([node] if node else self._nodes)
            if (expectations := self._entries(layer, name))
        ]
        if not costs:
            return None
        where = f" of {node}" if node else ""
        words = layer_of(layer).all + where
        if LAYERS[layer].paired:
            return self._rounds(layer, words) if len(costs) > 1 else None
        seconds = self._batches(len(costs)) * max(seconds for seconds, _ in costs)
        return Step(layer, "", node, words, seconds, sum(moved for _, moved in costs))

    def peers(self, step: Step) -> Iterator[Step]:
        """Yield the steps of the peers of a target or device, the ones with least in common first.

        What shares most of its path would be slow for the same reason.
        """
        entries = self._entries(step.layer, step.node)
        own = next(entry for entry in entries if entry.component == step.component)
        peers = [entry for entry in entries if entry.group == own.group and entry is not own]
        for expectation in sorted(peers, key=lambda peer: len({*peer.path} & {*own.path})):
            yield self.one(expectation.layer, expectation.component, step.node)

    def _batches(self, nodes: int) -> int:
        """Return the number of turns that nodes take if they cannot all work at the same time."""
        return -(-nodes // self._forks)

    def _entries(self, layer: str, node: str) -> list[Expectation]:
        return [expectation for expectation in self._nodes[node] if expectation.layer == layer]

    def _rounds(self, layer: str, words: str) -> Step:
        entries = [
            expectation for name in self._nodes for expectation in self._entries(layer, name)
        ]
        slots = max(span(len(_hosts(expectation))) for expectation in entries)
        costs = [_cost([expectation]) for expectation in entries]
        # in each slot half of the hosts begin, and no pair moves more than the mean of its two
        seconds = slots * self._batches(len(entries) // 2) * max(seconds for seconds, _ in costs)
        total = slots * sum(moved for _, moved in costs) // 2
        return Step(layer, "", "", words, seconds, total, tuple(range(slots)))

    def _pair(self, measurable: Measurable) -> Optional[Step]:
        expectation = next(
            entry
            for entry in self._entries(measurable.layer, measurable.node)
            if entry.component == measurable.component
        )
        partner = measurable.operation.rpartition(" ")[2]
        hosts = _hosts(expectation)
        for slot in range(cycle(len(hosts))):
            met = turn(hosts, expectation.component, slot)
            if met and met.partner == partner and met.role is Role.INITIATOR:
                words = f"the network between {expectation.component} and {partner}"
                seconds, moved = _cost([expectation], partner)
                return Step(
                    expectation.layer,
                    expectation.component,
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


def _cost(expectations: Sequence[Expectation], partner: str = "") -> tuple[float, int]:
    """Return the seconds, and the bytes at most, of measurements one after the other."""
    return seconds_of(expectations, partner), bytes_of(expectations, partner)


NOTHING = "nothing slow"
"""The end of an investigation that has found no fault."""

_MIN_PEERS = 2
"""With one, nobody knows which of the two is slow."""

_MAX_PEERS = 4

_PAIRS = 3
"""Partners of a host that is asked about: a slow partner shows beside two others."""


class Budget(NamedTuple):
    """Time and traffic that remain: seconds, and bytes that may be moved."""

    seconds: float
    bytes: float

    def allows(self, step: Step) -> bool:
        """Return whether a step fits while everything is healthy; whoever runs it bounds it."""
        return step.seconds <= self.seconds and step.bytes <= self.bytes


class Findings(NamedTuple):
    """Explanations of the slow measurements so far, and of those that failed."""

    slow: Located
    failed: Located

    def sets(self) -> Iterator[tuple[Located, AmbiguitySet]]:
        """Yield each ambiguity set with where it comes from."""
        for located in self:
            for ambiguity_set in located.sets:
                yield located, ambiguity_set


class Decision(NamedTuple):
    """The next step, or None and why it ends; ``beyond`` are steps that the budget forbids."""

    step: Optional[Step]
    reason: str
    beyond: tuple[Step, ...] = ()


class Investigation:
    """One question about a site: some of its parts, or all of it when none is named."""

    def __init__(
        self,
        nodes: Nodes,
        targets: Sequence[str] = (),
        silent: Sequence[str] = (),
        forks: int = ALL_AT_ONCE,
        *,
        unreferenced: Collection[tuple[str, str]] = (),
    ) -> None:
        """Take what the nodes measure, the parts asked about, and nodes that do not answer.

        ``forks`` is how many nodes can be asked at the same time.  ``unreferenced`` are targets and
        devices, by layer and name, of which one alone cannot be judged: nothing is known of them.

        Raises:
            UsageError: a part is on no path of any measurement.
        """
        self._nodes = nodes
        self._targets = tuple(dict.fromkeys(targets))
        self._silent = frozenset(silent)
        self._unreferenced = frozenset(unreferenced)
        self._candidates = Candidates(nodes)
        self._steps = Steps(nodes, forks)
        self._known = {
            name
            for expectations in nodes.values()
            for expectation in expectations
            for name in (expectation.component, *expectation.path)
        }
        for name in self._targets:
            if name not in self._known:
                raise UsageError(
                    f"{name!r} is no part of this site; its targets are {', '.join(self._osts())}"
                )

    def decide(self, findings: Findings, done: Sequence[Step], budget: Budget) -> Decision:
        """Return the next step by the findings, the steps done and the remaining budget."""
        beyond: dict[object, Step] = {}
        steps = self._wanted(findings, done, budget)
        for step in (each for candidate in steps for each in self._judgeable(candidate, budget)):
            if any(candidate.covers(step) for candidate in done) or self._unasked(step):
                continue
            if budget.allows(step):
                return Decision(step, step.words, tuple(beyond.values()))
            beyond[step.key] = step
        return Decision(None, _end(findings, bool(beyond)), tuple(beyond.values()))

    def _unasked(self, step: Step) -> bool:
        """Return whether a step needs a node that does not answer."""
        return not self._silent.isdisjoint((step.node, step.partner))

    def _wanted(self, findings: Findings, done: Sequence[Step], budget: Budget) -> Iterator[Step]:
        """Yield the steps worth measuring, the most useful first."""
        yield from self._opening()
        yield from self._unjudged(findings, budget)
        for located, ambiguity_set in findings.sets():
            if not ambiguity_set.certain:
                yield from self._dividing(located, ambiguity_set, done)
        if self._targets:
            yield from self._beside(findings.slow)
            if not any(located.sets for located in findings):
                yield from self._behind()
        else:
            yield from self._whole(layer for layer in BY_DEPTH if layer.on_devices)

    def _opening(self) -> Iterator[Step]:
        """Yield the measurements of what was asked about."""
        if not self._targets:
            yield from self._whole(layer for layer in BY_DEPTH if layer.paired or layer.per_target)
        for name in self._targets:
            own = list(self._measuring(name, crossing=False))
            yield from own or self._pairs(name)
            if not own:
                yield from self._measuring(name, crossing=True)

    def _pairs(self, host: str) -> Iterator[Step]:
        """Yield the pairs that a host begins, the first few."""
        possible = self._candidates.crossing([host], ())
        own = [
            candidate
            for candidate in possible
            if LAYERS[candidate.of.layer].paired and candidate.of.component == host
        ]
        steps = {step.key: step for candidate in own if (step := self._steps.of(candidate))}
        yield from islice((step for step in steps.values() if not self._unasked(step)), _PAIRS)

    def _whole(self, layers: Iterable[Layer]) -> Iterator[Step]:
        yield from (step for layer in layers if (step := self._steps.all(layer.name)))

    def _measuring(self, name: str, *, crossing: bool) -> Iterator[Step]:
        """Yield the steps that measure a part itself, or all targets behind it."""
        for layer in (layer_of_name.name for layer_of_name in BY_DEPTH if layer_of_name.grouped):
            for node, expectations in self._nodes.items():
                for expectation in expectations:
                    matches = (
                        name in expectation.path if crossing else name == expectation.component
                    )
                    if expectation.layer == layer and matches and node not in self._silent:
                        yield self._steps.one(layer, expectation.component, node)

    def _dividing(
        self, located: Located, ambiguity: AmbiguitySet, done: Sequence[Step]
    ) -> Iterator[Step]:
        """Yield the steps that divide the alternatives, the best first, each once.

        A pair of hosts without a baseline has no peers: it shows lost segments, not a low rate.
        """
        every = list(self._possible(located, ambiguity, done))
        silent = [each for each in every if self._rate_says_nothing(each[1])]
        yield from _best_first(located, ambiguity, [each for each in every if each not in silent])
        yield from _best_first(located, ambiguity, silent)

    def _rate_says_nothing(self, step: Step) -> bool:
        return LAYERS[step.layer].paired and (step.layer, step.component) in self._unreferenced

    def _possible(
        self, located: Located, ambiguity: AmbiguitySet, done: Sequence[Step]
    ) -> Iterator[tuple[Candidate, Step]]:
        lanes = {loss.lane for suspect in ambiguity.suspects for loss in suspect.losses}
        slow = [located.observations[index].of.component for index in ambiguity.explains]
        for candidate in self._candidates.crossing(
            [suspect.name for suspect in ambiguity.suspects], slow
        ):
            step = self._steps.of(candidate)
            # what was tried and gave no vote is not asked again
            if step and not any(each.covers(step) for each in done):
                yield from ((answer, step) for answer in _answers(candidate, lanes))

    def _behind(self) -> Iterator[Step]:
        """Yield the network and the devices on the way to the targets, when these seem fine."""
        tried = set()
        parts = {
            name
            for expectations in self._nodes.values()
            for expectation in expectations
            if expectation.component in self._targets
            for name in expectation.path
        }
        for candidate in self._candidates.crossing(sorted(parts), ()):
            of, step = candidate.of, self._steps.of(candidate)
            if LAYERS[of.layer].paired:
                is_behind = {of.component, step.partner if step else ""} <= parts
            else:
                is_behind = LAYERS[of.layer].on_devices and of.component in parts
            if step and is_behind and step.component and step.key not in tried:
                tried.add(step.key)
                yield step

    def _beside(self, slow: Located) -> Iterator[Step]:
        """Yield other devices of a server with a slow one: all of them may be slow alike."""
        devices = [
            observation
            for observation in slow.observations
            if LAYERS[observation.of.layer].on_devices
        ]
        votes = {(observation.of.node, observation.vote) for observation in devices}
        judged = {observation.of.component for observation in devices}
        for node in dict.fromkeys(observation.of.node for observation in devices):
            if (node, Vote.GOOD) in votes or (node, Vote.BAD) not in votes:
                continue
            for expectation in self._nodes[node]:
                if LAYERS[expectation.layer].on_devices and expectation.component not in judged:
                    yield self._steps.one(expectation.layer, expectation.component, node)

    def _judgeable(self, step: Step, budget: Budget) -> Iterator[Step]:
        """Yield a step; with peers where its target or device has no other reference."""
        if (step.layer, step.component) not in self._unreferenced:
            yield step
            return
        whole = self._affordable(step, budget)
        yield whole or step
        if whole is None:
            yield from islice(self._steps.peers(step), _MIN_PEERS)

    def _affordable(self, step: Step, budget: Budget) -> Optional[Step]:
        """Return the step that measures all peers at once, None where too little would be left."""
        whole = self._steps.all(step.layer, step.node)
        half = Budget(budget.seconds / 2, budget.bytes / 2)
        return whole if whole and half.allows(whole) else None

    def _unjudged(self, findings: Findings, budget: Budget) -> Iterator[Step]:
        """Yield peers of what gave a rate that could not be judged: its references did not do."""
        rated = {
            (observation.of.layer, observation.of.component, observation.of.node)
            for observation in findings.failed.observations
            if observation.vote is Vote.GOOD and LAYERS[observation.of.layer].grouped
        }
        judged = {
            (observation.of.layer, observation.of.component, observation.of.node)
            for observation in findings.slow.observations
            if observation.vote is not Vote.NONE
        }
        for place in sorted(rated - judged):
            step = self._steps.one(*place)
            whole = self._affordable(step, budget)
            if whole:
                yield whole
            else:
                yield from islice(self._steps.peers(step), _MAX_PEERS)

    def _osts(self) -> list[str]:
        expectations = (expectation for entries in self._nodes.values() for expectation in entries)
        return [
            expectation.component
            for expectation in expectations
            if LAYERS[expectation.layer].per_target
        ]


def _best_first(
    located: Located, ambiguity: AmbiguitySet, possible: Sequence[tuple[Candidate, Step]]
) -> Iterator[Step]:
    """Yield the steps that divide the alternatives, until nothing is left that does."""
    while possible:
        probe = next_probe(located, ambiguity, [candidate for candidate, _ in possible])
        if probe is None:
            return
        best = next(step for candidate, step in possible if candidate is probe.candidate)
        yield best
        possible = [pair for pair in possible if not best.covers(pair[1])]


def _answers(candidate: Candidate, lanes: Collection[str]) -> Iterator[Candidate]:
    """Yield the outcomes of a measurement in these lanes: rates, retransmits, failures."""
    if any(lane.startswith(FAILURES) for lane in lanes):
        yield candidate._replace(of=failing(candidate.of))
        return
    yield candidate
    if LAYERS[candidate.of.layer].paired and any(lane.startswith(SEGMENTS) for lane in lanes):
        yield candidate._replace(of=resending(candidate.of))


def _end(findings: Findings, beyond: bool) -> str:
    sets = [ambiguity_set for _, ambiguity_set in findings.sets()]
    if beyond:
        return "budget"
    if not sets:
        odd = any(located.unexplained for located in findings)
        return "not explained by one part" if odd else NOTHING
    return (
        "certain"
        if all(ambiguity_set.certain for ambiguity_set in sets)
        else "nothing would divide them"
    )
