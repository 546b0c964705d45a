"""An investigation of a present fault: its steps, and when it ends.

Only measurements since the investigation began vote; earlier ones are shown, but an old good
measurement must not clear a part that has become slow since.
"""

from __future__ import annotations

from itertools import islice
from typing import Collection, Iterable, Iterator, NamedTuple, Optional, Sequence

from plumbline.model.errors import UsageError
from plumbline.model.expectation import Expectation
from plumbline.model.layers import BY_DEPTH, LAYERS, layer_of
from plumbline.model.layers.layer import Layer
from plumbline.model.rounds import Role, cycle, span, turn
from plumbline.parts.locate.failures import FAILURES, failing
from plumbline.parts.locate.next_probe import Candidate, Candidates, Intrusion, next_probe
from plumbline.parts.locate.observation import SEGMENTS, Measurable, Nodes, Vote
from plumbline.parts.locate.observe import resending
from plumbline.parts.locate.suspects import AmbiguitySet, Located
from plumbline.plan.duration import bytes_of, seconds_of

ALL_AT_ONCE = 1_000_000
"""More nodes than any site has."""


class Step(NamedTuple):
    """Measurements of one step: one component or, if that is empty, all of a layer.

    ``node`` measures; if it is empty, all nodes of the layer do.  ``slots`` are those of the rounds
    of pairs, empty in other layers; ``partner`` is the other host of a single pair.
    ``seconds`` and ``bytes`` are the cost while everything is healthy.
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
        """Return whether another step would measure nothing new after this one."""
        return (
            self.layer == other.layer
            and self.component in ("", other.component)
            and self.node in ("", other.node)
            and set(other.slots) <= set(self.slots)
        )


class Steps:
    """Builds the steps of a site from the measurements of its nodes."""

    def __init__(self, nodes: Nodes, forks: int = ALL_AT_ONCE) -> None:
        """Take the measurements of each node, and how many nodes can work at the same time."""
        self._nodes = nodes
        self._forks = forks

    def of(self, candidate: Candidate) -> Optional[Step]:
        """Return the step that makes a measurement, None if no unit does.

        Units exist for the plan's own measurements; not for reads from another client or on another
        path.
        """
        test = candidate.of
        if candidate.intrusion is Intrusion.TOGETHER and LAYERS[test.layer].on_devices:
            return self.all(test.layer, test.node)
        if candidate.intrusion in (Intrusion.OTHER_CLIENT, Intrusion.TOGETHER, Intrusion.FAILOVER):
            return None
        if LAYERS[test.layer].paired:
            return self._pair(test)
        return self.one(test.layer, test.component, test.node)

    def one(self, layer: str, component: str, node: str) -> Step:
        """Return the step that measures one target or device."""
        expectations = [
            expectation
            for expectation in self._entries(layer, node)
            if expectation.component == component
        ]
        seconds, volume = _cost(expectations)
        return Step(layer, component, node, layer_of(layer).one.format(component), seconds, volume)

    def all(self, layer: str, node: str = "") -> Optional[Step]:
        """Return the step that measures a whole layer, None if no node measures it.

        A host without others has no pair.
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
        """Yield the steps of the peers of a target or device, those with the least in common first.

        A peer that shares most of the path would be slow for the same reason.
        """
        entries = self._entries(step.layer, step.node)
        own = next(entry for entry in entries if entry.component == step.component)
        peers = [entry for entry in entries if entry.group == own.group and entry is not own]
        for expectation in sorted(peers, key=lambda peer: len({*peer.path} & {*own.path})):
            yield self.one(expectation.layer, expectation.component, step.node)

    def _batches(self, nodes: int) -> int:
        """Return the number of turns that nodes need if they cannot all work at the same time."""
        return -(-nodes // self._forks)

    def _entries(self, layer: str, node: str) -> list[Expectation]:
        return [expectation for expectation in self._nodes[node] if expectation.layer == layer]

    def _rounds(self, layer: str, words: str) -> Step:
        entries = [
            expectation for name in self._nodes for expectation in self._entries(layer, name)
        ]
        slots = max(span(len(_hosts(expectation))) for expectation in entries)
        costs = [_cost([expectation]) for expectation in entries]
        rails = max(map(_rails, entries))
        # in each slot half of the hosts begin, and a pair moves at most the mean of its two hosts
        longest = rails * max(seconds for seconds, _ in costs)
        seconds = slots * self._batches(len(entries) // rails // 2) * longest
        total = slots * sum(moved for _, moved in costs) // 2
        return Step(layer, "", "", words, seconds, total, tuple(range(slots)))

    def _pair(self, measurable: Measurable) -> Optional[Step]:
        """Return the step that measures a pair: in its slot the other adapters of its node too."""
        expectation = next(
            entry
            for entry in self._entries(measurable.layer, measurable.node)
            if entry.component == measurable.component
        )
        partner = measurable.partner
        hosts = _hosts(expectation)
        for slot in range(cycle(len(hosts))):
            meeting = turn(hosts, expectation.component, slot)
            if meeting and meeting.partner == partner and meeting.role is Role.INITIATOR:
                kind = "RDMA" if LAYERS[expectation.layer].by_verbs else "the network"
                words = f"{kind} between {expectation.component} and {partner}"
                seconds, moved = _cost([expectation], partner)
                rails = _rails(expectation)
                return Step(
                    expectation.layer,
                    expectation.component,
                    measurable.node,
                    words,
                    rails * seconds,
                    rails * moved,
                    (slot,),
                    measurable.path[-1],
                )
        return None


def _hosts(entry: Expectation) -> Sequence[str]:
    hosts: Sequence[str] = entry.target["hosts"]
    return hosts


def _rails(entry: Expectation) -> int:
    """Return the adapters of its host, which take turns in a slot; 1 in other layers."""
    return int(entry.target.get("rails", 1))


def _cost(expectations: Sequence[Expectation], partner: str = "") -> tuple[float, int]:
    """Return the seconds, and the most bytes, of measurements one after the other."""
    return seconds_of(expectations, partner), bytes_of(expectations, partner)


NOTHING = "nothing slow"
"""The end of an investigation without a fault."""

_MIN_PEERS = 2
"""With one, the slow one of the two is unknown."""

_MAX_PEERS = 4

_PAIRS = 3
"""Partners of a host in question: a slow partner shows in comparison with two others."""


class Budget(NamedTuple):
    """Remaining time and traffic: seconds, and bytes that may be moved."""

    seconds: float
    bytes: float

    def allows(self, step: Step) -> bool:
        """Return whether a step fits while everything is healthy; its runner enforces the limit."""
        return step.seconds <= self.seconds and step.bytes <= self.bytes


class Findings(NamedTuple):
    """Explanations of the slow measurements so far, and of those that failed."""

    slow: Located
    failed: Located

    def sets(self) -> Iterator[tuple[Located, AmbiguitySet]]:
        """Yield each ambiguity set with its source."""
        for located in self:
            for ambiguity_set in located.sets:
                yield located, ambiguity_set

    @property
    def certain(self) -> bool:
        """Return whether one part explains each slow or failed measurement; False if none is."""
        sets = [ambiguity_set for _, ambiguity_set in self.sets()]
        explained = not any(located.unexplained for located in self)
        return bool(sets) and explained and all(each.certain for each in sets)


class Decision(NamedTuple):
    """The next step, or None and the reason of the end; ``beyond`` are steps over the budget."""

    step: Optional[Step]
    reason: str
    beyond: tuple[Step, ...] = ()


class Investigation:
    """One question about a site: some of its parts, or all of it if none is named."""

    def __init__(
        self,
        nodes: Nodes,
        targets: Sequence[str] = (),
        silent: Sequence[str] = (),
        forks: int = ALL_AT_ONCE,
        *,
        unreferenced: Collection[tuple[str, str]] = (),
    ) -> None:
        """Take the measurements of the nodes, the parts in question, and nodes that do not answer.

        ``forks`` is how many nodes can work at the same time.  ``unreferenced`` are targets and
        devices, by layer and name, that cannot be judged alone for lack of a reference.

        Raises:
            UsageError: a part is on no path of any measurement.
        """
        self._nodes = nodes
        self._targets = tuple(dict.fromkeys(targets))
        self._silent = frozenset(silent)
        self._unreferenced = frozenset(unreferenced)
        self._candidates = Candidates(nodes)
        self._steps = Steps(nodes, forks)
        self._names = {
            name
            for expectations in nodes.values()
            for expectation in expectations
            for name in (expectation.component, *expectation.path)
        }
        for name in self._targets:
            if name not in self._names:
                raise UsageError(
                    f"{name!r} is no part of this site; its targets are {', '.join(self._osts())}"
                )

    def decide(self, findings: Findings, done: Sequence[Step], budget: Budget) -> Decision:
        """Return the next step, given the findings, the steps done and the remaining budget."""
        beyond: dict[object, Step] = {}
        steps = self._options(findings, done, budget)
        for step in (step for option in steps for step in self._judgeable(option, budget)):
            if any(former.covers(step) for former in done) or self._is_silent(step):
                continue
            if budget.allows(step):
                return Decision(step, step.words, tuple(beyond.values()))
            beyond[step.key] = step
        return Decision(None, _end(findings, bool(beyond)), tuple(beyond.values()))

    def _is_silent(self, step: Step) -> bool:
        """Return whether a step needs a node that does not answer."""
        return not self._silent.isdisjoint((step.node, step.partner))

    def _options(self, findings: Findings, done: Sequence[Step], budget: Budget) -> Iterator[Step]:
        """Yield the steps worth measuring, the most useful first."""
        yield from self._opening()
        yield from self._unjudged(findings, budget)
        for located, ambiguity_set in findings.sets():
            if not ambiguity_set.certain:
                yield from self._dividing(located, ambiguity_set, done)
        if self._targets:
            yield from self._sibling_devices(findings.slow)
            if not any(located.sets for located in findings):
                yield from self._path_steps()
        elif not findings.certain:
            yield from self._layers(layer for layer in BY_DEPTH if layer.local or layer.by_verbs)

    def _opening(self) -> Iterator[Step]:
        if not self._targets:
            yield from self._layers(
                layer for layer in BY_DEPTH if layer.of_hosts or layer.per_target
            )
        for name in self._targets:
            own = list(self._measuring(name, crossing=False))
            yield from own or self._pairs(name)
            if not own:
                yield from self._measuring(name, crossing=True)

    def _pairs(self, name: str) -> Iterator[Step]:
        """Yield the first few pairs that a host or adapter begins."""
        possible = self._candidates.crossing([name], ())
        own = [
            candidate
            for candidate in possible
            if LAYERS[candidate.of.layer].paired and candidate.of.component == name
        ]
        steps = {step.key: step for candidate in own if (step := self._steps.of(candidate))}
        yield from islice((step for step in steps.values() if not self._is_silent(step)), _PAIRS)

    def _layers(self, layers: Iterable[Layer]) -> Iterator[Step]:
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

        A pair without a baseline has no peers: it shows lost segments, not a low rate.
        """
        pairs = list(self._dividing_candidates(located, ambiguity, done))
        vague = [pair for pair in pairs if self._has_no_reference(pair[1])]
        yield from _best_first(located, ambiguity, [pair for pair in pairs if pair not in vague])
        yield from _best_first(located, ambiguity, vague)

    def _has_no_reference(self, step: Step) -> bool:
        return LAYERS[step.layer].paired and (step.layer, step.component) in self._unreferenced

    def _dividing_candidates(
        self, located: Located, ambiguity: AmbiguitySet, done: Sequence[Step]
    ) -> Iterator[tuple[Candidate, Step]]:
        lanes = {loss.lane for suspect in ambiguity.suspects for loss in suspect.losses}
        slow = [located.observations[index].of.component for index in ambiguity.explains]
        for candidate in self._candidates.crossing(
            [suspect.name for suspect in ambiguity.suspects], slow
        ):
            step = self._steps.of(candidate)
            # a step that was tried without a vote is not repeated
            if step and not any(former.covers(step) for former in done):
                yield from ((answer, step) for answer in _answers(candidate, lanes))

    def _path_steps(self) -> Iterator[Step]:
        """Yield the network and the devices on the path to the targets, if these seem fine."""
        tried = set()
        parts = {
            name
            for expectations in self._nodes.values()
            for expectation in expectations
            if expectation.component in self._targets
            for name in expectation.path
        }
        for candidate in self._candidates.crossing(sorted(parts), ()):
            test, step = candidate.of, self._steps.of(candidate)
            if LAYERS[test.layer].paired:
                on_path = {test.component, step.partner if step else ""} <= parts
            else:
                on_path = LAYERS[test.layer].local and test.component in parts
            if step and on_path and step.component and step.key not in tried:
                tried.add(step.key)
                yield step

    def _sibling_devices(self, slow: Located) -> Iterator[Step]:
        """Yield other devices of a server with a slow one: all of them may be slow."""
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
        """Yield a step; with peers if its target or device has no other reference."""
        alone = (step.layer, step.component) not in self._unreferenced
        if alone or LAYERS[step.layer].paired:
            yield step
            return
        joint = self._joint_step(step, budget)
        yield joint or step
        if joint is None:
            yield from islice(self._steps.peers(step), _MIN_PEERS)

    def _joint_step(self, step: Step, budget: Budget) -> Optional[Step]:
        """Return the step that measures all peers at once; None if over half the budget."""
        joint = self._steps.all(step.layer, step.node)
        half = Budget(budget.seconds / 2, budget.bytes / 2)
        return joint if joint and half.allows(joint) else None

    def _unjudged(self, findings: Findings, budget: Budget) -> Iterator[Step]:
        """Yield peers of components with a rate but no usable reference."""
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
            joint = self._joint_step(step, budget)
            if joint:
                yield joint
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
    """Yield the steps that divide the alternatives, until none of the rest does."""
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
    if LAYERS[candidate.of.layer].of_hosts and any(lane.startswith(SEGMENTS) for lane in lanes):
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
