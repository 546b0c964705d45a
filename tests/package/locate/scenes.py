"""Sites with parts that have lost speed, as their measurements would show them."""

from __future__ import annotations

import json
from typing import Any, Iterable, Mapping, Sequence

import yaml

from plumbline.judge.service import severity
from plumbline.locate.next_probe import Candidates
from plumbline.locate.observation import (
    Measurable,
    Observation,
    PlannedMeasurement,
    Site,
    Vote,
)
from plumbline.locate.suspects import Located, locate
from plumbline.model.limits import Limits
from plumbline.model.record import Record
from plumbline.model.verdict import State
from plumbline.plan.expectations import Plan, compile_plan
from plumbline.plan.policy import load
from plumbline.topology.graph import Topology, build
from tests.package.records import record
from tests.package.sites import INVENTORIES, paper

ERROR = 0.02
SLOW = 0.9
ROUND = {"rate": "200 MB/s", "link": "1 Gbit/s"}

Left = Mapping[str, Mapping[str, float]]
"""Of each faulty part, by lane, what it has left in B/s."""


def lab() -> Topology:
    """Return the lab: three servers with two disks each, one client.

    Its rates are round ones: those of the real lab follow what small machines can shape.
    """
    return build(lab_document())


def lab_document() -> dict[str, Any]:
    """Return the topology of the lab as a person types it, with round rates."""
    path = INVENTORIES / "lab" / "group_vars" / "all" / "topology.yml"
    document: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    for part in document["plumbline_topology"]["parts"]:
        part.update({key: value for key, value in ROUND.items() if key in part})
    topology: dict[str, Any] = document["plumbline_topology"]
    return topology


class Scene:
    """A site, what is measured there, and what that shows when parts are slow."""

    def __init__(self, topology: Topology) -> None:
        self.plan: Plan = compile_plan(topology, load({}), {})
        self.measurables = [
            measurable.of for measurable in Site(self.plan.expectations).measurables()
        ]
        self.candidates = Candidates(self.plan.expectations)

    def observe(self, left: Left, silent: Iterable[str] = ()) -> list[Observation]:
        """Return an observation of everything; what begins with a word of ``silent`` is missing."""
        words = tuple(silent)
        return [
            observation(of, rate(of, left))
            for of in self.measurables
            if not (words and of.name.startswith(words))
        ]

    def locate(self, left: Left, silent: Iterable[str] = ()) -> Located:
        return locate(self.observe(left, silent))


def both(left_Bps: float) -> dict[str, float]:
    """Return a loss in both directions."""
    return {"read": left_Bps, "write": left_Bps}


def rate(of: Measurable, left: Left) -> float:
    """Return what the narrowest part leaves of a measurement."""
    rates = [of.expected]
    for name, lanes, flows in of.crossings():
        rates += [left[name][lane] / flows for lane in lanes if lane in left.get(name, {})]
    return min(rates)


def observation(of: Measurable, rate: float, **changes: Any) -> Observation:
    """Return an observation that votes by its share of what is expected."""
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
    return [one.alternatives for one in located.sets]


def suspects(located: Located) -> list[set[str]]:
    """Return the components of each ambiguity set."""
    return [{suspect.name for suspect in one.suspects} for one in located.sets]


def silence(observations: Sequence[Observation], *names: str) -> list[Observation]:
    """Return the observations; those that begin with one of ``names`` do not vote."""
    return [
        one._replace(vote=Vote.NONE) if one.of.name.startswith(names) else one
        for one in observations
    ]


def redstorm() -> Scene:
    return Scene(paper("redstorm"))


def with_baselines(plan: Plan, share: float = 1.0, runs: int = 12) -> dict[str, Any]:
    """Return a plan as a document; each reference has a baseline of a share of its ceiling."""
    raw: dict[str, Any] = json.loads(json.dumps(plan.to_json()))
    for node, expected in plan.expectations.items():
        for entry, expectation in zip(raw["nodes"][node]["entries"], expected):
            for reference in entry["references"].values():
                ceiling = reference["ceiling"] or entry["partners"][0]["ceiling"]
                reference["baseline"] = {
                    "median": share * ceiling["rate"],
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
        retransmits = 0 if clean else 50_000
        values = {"partner": placed.partner.name, "retransmits": retransmits, **values}
    return record(
        layer=placed.of.layer,
        component=placed.of.component,
        operation=placed.operation,
        scenario=placed.scenario,
        rate=rate,
        spec_hash=placed.expectation.spec.hash(),
        **values,
    )
