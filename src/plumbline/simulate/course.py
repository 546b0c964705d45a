"""The days of a fleet one after another: faults begin, runs are made, the judge says what it sees.

Who wants to know more of a day than what the verdicts are worth, for instance which parts explain
them, has it all in ``Today``: what each node expects and all that was measured, of all layers.
"""

from __future__ import annotations

from random import Random
from typing import Callable, Iterable, Iterator, Mapping, NamedTuple, Sequence

from plumbline.baseline.acceptance import accept
from plumbline.baseline.capture import capture
from plumbline.baseline.document import Baselines, Key
from plumbline.layers import SINGLE_TARGETS
from plumbline.model.expectation import Expectation
from plumbline.model.record import Record
from plumbline.model.verdict import Verdict
from plumbline.simulate.capacity import Capacity
from plumbline.simulate.confirming import Confirming
from plumbline.simulate.faults import Fault
from plumbline.simulate.fleet import Fleet, Flow, Member
from plumbline.simulate.measuring import Measuring, end_of
from plumbline.simulate.memory import Memory
from plumbline.simulate.noise import Noise
from plumbline.simulate.weather import Weather

CLIENT = "client"
"""The name of the client's version in records."""

_EARLIER = "earlier"
"""The version before a release, whatever it was."""

Judge = Callable[[Sequence[Expectation], Memory, float], Iterable[Verdict]]
"""Gives the verdicts on what one node measures, its groups included, at a moment."""


class Scenario(NamedTuple):
    """What happens: for how many days after the baselines, with which noise and faults.

    Equal seeds give equal days.  ``new`` says that the first day is that of the installation: no
    healthy days have passed, and nothing has a baseline.
    """

    days: int
    noise: Noise
    faults: tuple[Fault, ...]
    seed: str
    new: bool = False


class Today(NamedTuple):
    """One day, from 1 on: the verdicts of all layers at its end, and the faults that are there.

    ``nodes`` is what each node expects, with its baselines; ``memory`` holds what was measured
    until ``now``, in epoch seconds, and goes on when the next day is asked for.
    ``planned_bytes`` is what planned runs have moved since day 1, ``confirmed_bytes`` what was
    measured again.
    """

    day: int
    now: float
    verdicts: tuple[Verdict, ...]
    faults: tuple[Fault, ...]
    nodes: Mapping[str, Sequence[Expectation]]
    memory: Memory
    planned_bytes: int
    confirmed_bytes: int


class Begun(NamedTuple):
    """A fleet before its first day, and what each node expects, with its baselines."""

    measuring: Measuring
    nodes: Mapping[str, Sequence[Expectation]]


def begin(fleet: Fleet, capacity: Capacity, weather: Weather) -> Begun:
    """Let the healthy days pass that baselines are taken on."""
    return _begin(Measuring(fleet, weather), fleet, capacity, weather)


def _begin(measuring: Measuring, fleet: Fleet, capacity: Capacity, weather: Weather) -> Begun:
    records: list[Record] = []
    for day in range(1 - measuring.days_before, 1):
        weather.next_day()
        records += measuring.day(day, capacity.healthy_Bps)
    nodes = _nodes(fleet.members, _accepted(records, fleet.members))
    measuring.expect(nodes)
    return Begun(measuring, nodes)


def course(fleet: Fleet, capacity: Capacity, scenario: Scenario, judge: Judge) -> Iterator[Today]:
    """Yield the days of a scenario; before the first, healthy ones for baselines have passed."""
    weather = Weather(scenario.noise, Random(scenario.seed))
    measuring, nodes = _begun(fleet, capacity, scenario, weather)
    rates, confirming = _Rates(capacity), Confirming(measuring, nodes, fleet.periods_s)
    before = measuring.planned_bytes
    for day in range(1, scenario.days + 1):
        weather.next_day()
        faults = tuple(fault for fault in scenario.faults if fault.day <= day)
        for fault in faults:
            if fault.version and fault.since == day:
                flows = _under_release(fleet, fault)
                measuring.memory.install(flows, {CLIENT: fault.version})
        under = rates.under(faults)
        for _ in measuring.day(day, under):
            pass
        confirming.day(day, under)
        now = end_of(day)
        memory = measuring.memory
        verdicts = tuple(one for each in nodes.values() for one in judge(each, memory, now))
        moved = measuring.planned_bytes - before, measuring.confirmed_bytes
        yield Today(day, now, verdicts, faults, nodes, memory, *moved)


def _begun(fleet: Fleet, capacity: Capacity, scenario: Scenario, weather: Weather) -> Begun:
    """Return the fleet before the first day of a scenario, with the versions of that time."""
    measuring = Measuring(fleet, weather)
    for fault in scenario.faults:
        if fault.version:
            measuring.memory.install(_under_release(fleet, fault), {CLIENT: _EARLIER})
    if scenario.new:
        return Begun(measuring, _nodes(fleet.members, {}))
    return _begin(measuring, fleet, capacity, weather)


def _under_release(fleet: Fleet, fault: Fault) -> Iterator[Flow]:
    """Yield what is measured through the clients that have a release."""
    for member in fleet.members:
        if member.key[0] in SINGLE_TARGETS and fault.system in ("", member.system):
            yield from member.flows()


class _Rates:
    """What all flows give without noise, found again when there is another fault."""

    def __init__(self, capacity: Capacity) -> None:
        self._capacity = capacity
        self._faults: tuple[Fault, ...] = ()
        self._rates = capacity.healthy_Bps

    def under(self, faults: tuple[Fault, ...]) -> dict[Flow, float]:
        if faults != self._faults:
            self._faults = faults
            self._rates = {**self._capacity.healthy_Bps, **self._capacity.under(faults)}
        return self._rates


def _accepted(records: Iterable[Record], members: Sequence[Member]) -> Baselines:
    """Return the baselines of all but those far below their peers, or below their floor.

    Nobody accepts these without a look.
    """
    expected = {member.key: member.expectation for member in members}
    numbered = (record._replace(id=str(number)) for number, record in enumerate(records))
    candidates = {
        key: candidate
        for key, candidate in capture(numbered, expected).candidates.items()
        if not candidate.outlier and not candidate.baseline.below_floor
    }
    return accept({}, candidates, (), "plumbline simulate", "healthy days")


def _nodes(members: Sequence[Member], baselines: Baselines) -> dict[str, list[Expectation]]:
    """Return what each node judges, with its baselines."""
    nodes: dict[str, list[Expectation]] = {}
    for member in members:
        nodes.setdefault(member.node, []).append(_with(member.expectation, baselines))
    return nodes


def _with(one: Expectation, baselines: Baselines) -> Expectation:
    references = {}
    for step, reference in one.references.items():
        operation, _, scenario = step.partition("/")
        key = Key(one.layer, one.component, operation, scenario)
        references[step] = reference._replace(baseline=baselines.get(key))
    return one._replace(references=references)
