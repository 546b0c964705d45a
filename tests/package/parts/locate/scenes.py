"""Sites with slow parts, as their measurements would show them."""

from __future__ import annotations

import json
from functools import cached_property, partial
from typing import Any, Callable, Iterable, Mapping, Sequence, Union

from plumbline.judge.service import severity
from plumbline.model.layers import LAYERS
from plumbline.model.limits import Limits
from plumbline.model.quantity import BYTES_PER_S
from plumbline.model.record import Operation, Record
from plumbline.model.verdict import State
from plumbline.parts.locate.next_probe import Candidates
from plumbline.parts.locate.observation import (
    Measurable,
    Observation,
    PlannedMeasurement,
    Site,
    Vote,
)
from plumbline.parts.locate.suspects import Located, locate
from plumbline.plan.expectations import Plan, compile_plan
from plumbline.plan.policy import load
from plumbline.topology.graph import Topology, build
from tests.package.records import record
from tests.package.sites import inventory_document, paper

ERROR = 0.02
SLOW = 0.9
CALLS_PER_S = 500_000.0
"""Operations of a healthy component that are no bytes, such as small reads of 2 µs."""
ROUND = {"rate": "200 MB/s", "link": "1 Gbit/s"}

LaneRates = Mapping[str, Mapping[str, float]]
"""Remaining B/s of each faulty part, by lane."""


def lab() -> Topology:
    """Return the lab: three servers with two disks each, one client.

    Its rates are round; those of the real lab are what its small machines can shape.
    """
    return build(lab_document())


def lab_document() -> dict[str, Any]:
    """Return the topology document of the lab, with round rates."""
    topology: dict[str, Any] = inventory_document("lab", "topology")
    for part in topology["parts"]:
        part.update({key: value for key, value in ROUND.items() if key in part})
    return topology


class Scene:
    """A site, its measurables, and their observations when parts are slow.

    Nothing is calculated before a test asks for it.
    """

    def __init__(self, topology: Union[Topology, Callable[[], Topology]]) -> None:
        self._topology = topology

    @cached_property
    def plan(self) -> Plan:
        topology = self._topology
        return compile_plan(topology() if callable(topology) else topology, load({}), {})

    @cached_property
    def measurables(self) -> list[Measurable]:
        return [measurable.of for measurable in Site(self.plan.expectations).measurables()]

    @cached_property
    def candidates(self) -> Candidates:
        return Candidates(self.plan.expectations)

    def observe(self, remaining: LaneRates, silent: Iterable[str] = ()) -> list[Observation]:
        """Return all observations except those whose names begin with a word of ``silent``."""
        words = tuple(silent)
        return [
            observation(of, rate(of, remaining))
            for of in self.measurables
            if not (words and of.name.startswith(words))
        ]

    def locate(self, remaining: LaneRates, silent: Iterable[str] = ()) -> Located:
        return locate(self.observe(remaining, silent))


def both(remaining_Bps: float) -> dict[str, float]:
    """Return a loss in both directions."""
    return {"read": remaining_Bps, "write": remaining_Bps}


def rate(of: Measurable, remaining: LaneRates) -> float:
    """Return the rate of a measurement through its slowest part."""
    rates = [of.expected]
    for name, lanes, flows in of.crossings():
        rates += [
            remaining[name][lane] / flows for lane in lanes if lane in remaining.get(name, {})
        ]
    return min(rates)


def observation(of: Measurable, rate: float, **changes: Any) -> Observation:
    """Return an observation that votes by its share of the expected rate."""
    vote = Vote.BAD if rate < SLOW * of.expected else Vote.GOOD
    state = severity(rate / of.expected, Limits()) if vote is Vote.BAD else State.OK
    values: dict[str, Any] = {"vote": vote, "measured": rate, "error": ERROR}
    values["state"] = state
    return Observation(of, **{**values, **changes})


def made(name: str, path: str, rate: float, expected: float = 200.0) -> Observation:
    """Return a read across ``path`` (names parted by spaces), in MB/s."""
    layer, _, component = name.partition(" ")
    of = Measurable(name, layer, component, "read", tuple(path.split()), expected * 1e6)
    return observation(of, rate * 1e6)


def alternatives(located: Located) -> list[tuple[tuple[str, ...], ...]]:
    """Return the alternatives of each ambiguity set."""
    return [ambiguity.alternatives for ambiguity in located.sets]


def suspects(located: Located) -> list[set[str]]:
    """Return the components of each ambiguity set."""
    return [{suspect.name for suspect in ambiguity.suspects} for ambiguity in located.sets]


def silence(observations: Sequence[Observation], *names: str) -> list[Observation]:
    """Return the observations without the votes of those that begin with one of ``names``."""
    return [
        item._replace(vote=Vote.NONE) if item.of.name.startswith(names) else item
        for item in observations
    ]


LAB = Scene(lab)
REDSTORM = Scene(partial(paper, "redstorm"))


def with_baselines(plan: Plan, share: float = 1.0, runs: int = 12) -> dict[str, Any]:
    """Return a plan as a document; each reference has a baseline of a share of its ceiling."""
    raw: dict[str, Any] = json.loads(json.dumps(plan.to_json()))
    for node, expected in plan.expectations.items():
        for entry, expectation in zip(raw["nodes"][node]["entries"], expected):
            for key, reference in entry["references"].items():
                ceiling = reference["ceiling"] or entry["partners"][0]["ceiling"]
                moves_bytes = Operation(key.partition("/")[0]).quantity == BYTES_PER_S
                reference["baseline"] = {
                    "median": share * ceiling["rate"] if moves_bytes else CALLS_PER_S,
                    "spread": 0.01,
                    "runs": runs,
                    "first": "2026-01-01",
                    "last": "2026-01-12",
                    "spec_hash": expectation.spec.hash(),
                    "versions": {},
                    "accepted_by": "ada",
                    "reason": "first",
                }
    return raw


def record_of(placed: PlannedMeasurement, rate: float, *, clean: bool, **values: Any) -> Record:
    """Return the record of a measurement; one that is not clean sends segments again."""
    if placed.partner:
        values = {"partner": placed.partner.name, **values}
    if LAYERS[placed.of.layer].of_hosts:
        values = {"retransmits": 0 if clean else 50_000, **values}
    return record(
        layer=placed.of.layer,
        component=placed.of.component,
        operation=placed.operation,
        scenario=placed.scenario,
        rate=rate,
        spec_hash=placed.expectation.spec.hash(),
        **values,
    )
