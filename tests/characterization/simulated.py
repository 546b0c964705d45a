"""``python -m tests.characterization.simulated`` creates the histories with the simulator.

Only this file imports plumbline here, and no file imports it: its output is committed in
tests/data/characterization/histories and stays when the simulator changes.  For each site it
contains the planned runs of every flow, the baselines of the healthy days before, and the slower
flows of each fault with their shares.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from random import Random
from typing import Any, Iterator, Mapping

import yaml

from plumbline.model.expectation import Expectation
from plumbline.model.record import Record
from plumbline.parts.simulate.course import prepare
from plumbline.parts.simulate.fleet import NOISES, Fault, Fleet, Flow, build
from plumbline.parts.simulate.weather import Capacity, Weather
from plumbline.plan.baseline import Key, write_baselines
from plumbline.plan.expectations import Plan
from plumbline.plan.policy import load
from plumbline.site.inventory import plan_of, read_inventory, topology_of
from tests.characterization.histories import FOLDER
from tests.characterization.product import inventories
from tests.characterization.scenes import NIGHTS, SCENES

SEEDS = {"edison": 60431, "redstorm": 60432, "bgl": 60433, "example": 60434, "lab": 60435}
FIRST_S = 20_454 * 86_400.0
"""The first day of the simulator, 2026-01-01."""
REACHED, NOISE = 0.88, 0.02
"""Share of the ceiling and spread in layers that the simulator does not measure."""


def main() -> None:
    """Write series, baselines and slower flows of every site."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path in FOLDER.iterdir():
        path.unlink()
    for name, seed in SEEDS.items():
        inventory = read_inventory(str(inventories() / name))
        fleet, plan = build(topology_of(inventory), load(inventory.policy)), plan_of(inventory)
        capacity = Capacity(fleet)
        prepared = prepare(fleet, capacity, Weather(NOISES["year"], Random(seed)))
        series: dict[str, dict[str, Any]] = {}
        for day in range(1, NIGHTS + 1):
            for record in prepared.measuring.day(day, capacity.healthy_Bps):
                _add(series, record)
        for record in _unsimulated(plan, fleet, Random(seed)):
            _add(series, record)
        _pack(FOLDER / f"{name}.json.gz", json.dumps({"series": list(series.values())}))
        document = write_baselines(dict(_baselines(prepared.nodes)))
        _pack(FOLDER / f"{name}-baselines.yml.gz", yaml.safe_dump(document))
        _pack(FOLDER / f"{name}-faults.json.gz", json.dumps(_slower(name, capacity)))
        print(name, len(series), sum(len(flow["runs"]) for flow in series.values()), flush=True)


def flow_name(flow: Flow) -> str:
    """Return the name of a flow, as used in scenes."""
    step = flow.layer, flow.component, flow.operation.value, flow.scenario.value, flow.partner
    return " ".join(step).strip()


def _add(series: dict[str, dict[str, Any]], record: Record) -> None:
    """Add a record to its series: terms once, then time, repeats and coverage of each run."""
    step = record.layer, record.component, record.operation, record.scenario
    name = flow_name(Flow(*step, record.partner or ""))
    flow = series.setdefault(
        name,
        {
            "flow": name,
            "node": record.host,
            "path": list(record.path),
            "spec": record.spec,
            "spec_hash": record.spec_hash,
            "runs": [],
        },
    )
    repeats = [float(f"{rate:.6g}") for rate in record.repeats]
    coverage = record.coverage and round(record.coverage, 4)
    flow["runs"].append([record.started_at - FIRST_S, repeats, coverage])


def _unsimulated(plan: Plan, fleet: Fleet, chance: Random) -> Iterator[Record]:
    """Yield healthy nights of parallel runs, which the simulator does not measure."""
    simulated = {member.key for member in fleet.members}
    for night in range(NIGHTS):
        for node, entries in plan.expectations.items():
            for entry in entries:
                if (entry.layer, entry.component) not in simulated:
                    yield from _night(node, entry, night, chance)


def _night(node: str, entry: Expectation, night: int, chance: Random) -> Iterator[Record]:
    for number, (step, reference) in enumerate(entry.references.items()):
        operation, _, scenario = step.partition("/")
        assert reference.ceiling is not None
        rate = reference.ceiling.rate * REACHED * chance.gauss(1, NOISE)
        yield Record.from_json(
            {
                "schema": 1,
                "id": "x",
                "run_id": "x",
                "layer": entry.layer,
                "component": entry.component,
                "operation": operation,
                "scenario": scenario,
                "outcome": "ok",
                "host": node,
                "started_at": FIRST_S + night * 86_400 + 14_400 + 60 * number,
                "finished_at": FIRST_S + night * 86_400 + 14_410 + 60 * number,
                "path": list(entry.path),
                "seconds": 10.0,
                "rate": rate,
                "repeats": [rate],
                "spec": entry.spec.to_json(),
                "spec_hash": entry.spec.hash(),
            }
        )


def _baselines(nodes: Mapping[str, Any]) -> Iterator[tuple[Key, Any]]:
    for entries in nodes.values():
        for entry in entries:
            for step, reference in entry.references.items():
                operation, _, scenario = step.partition("/")
                if reference.baseline is not None:
                    key = Key(entry.layer, entry.component, operation, scenario)
                    yield key, reference.baseline


def _slower(site: str, capacity: Capacity) -> dict[str, dict[str, float]]:
    """Return the remaining share of each slower flow by fault."""
    shares = {}
    for scene in SCENES:
        for fault in scene.faults if scene.site == site else ():
            simulated = Fault(fault.component, fault.loss, 1, fault.operation)
            slower = capacity.under([simulated])
            shares[fault.name] = {
                flow_name(flow): float(f"{rate / capacity.healthy_Bps[flow]:.6g}")
                for flow, rate in slower.items()
            }
            print(f"  {fault.name}: {len(slower)} flows slower", flush=True)
    return shares


def _pack(path: Path, text: str) -> None:
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
