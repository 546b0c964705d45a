"""Recorded histories as documents: the records of each node of a scene."""

from __future__ import annotations

import gzip
import json
from fnmatch import fnmatchcase
from functools import cache
from statistics import median
from typing import Any, Iterator

from tests.characterization.door import Node
from tests.characterization.product import DATA
from tests.characterization.scenes import NIGHTS, Scene

FOLDER = DATA / "histories"
FIRST_S = 1_767_225_600.0
"""Start of the first night, 2026-01-01 00:00 UTC."""
DAY_S = 86_400.0
END_S = FIRST_S + NIGHTS * DAY_S
_SECONDS = 5.0


def moment(scene: Scene) -> float:
    """Return the time of judging a scene, in seconds since the epoch."""
    return END_S - DAY_S + 3600 * scene.hours_later


def baselines(site: str) -> str:
    """Return the baselines document of a site."""
    return gzip.decompress((FOLDER / f"{site}-baselines.yml.gz").read_bytes()).decode()


def nodes_of(scene: Scene) -> dict[str, Node]:
    """Return the records of each measuring node."""
    records: dict[str, list[dict[str, Any]]] = {}
    for series in _packed(scene.site)["series"]:
        of_node = records.setdefault(series["node"], [])
        of_node += _records(scene, series)
    return {
        node: Node(sorted(of_node, key=lambda record: (record["started_at"], record["id"])))
        for node, of_node in records.items()
    }


def _records(scene: Scene, series: dict[str, Any]) -> Iterator[dict[str, Any]]:
    flow = series["flow"]
    layer, component, operation, scenario, *partner = flow.split()
    shares = [
        (fault.since, _shares(scene.site, fault.name).get(flow, 1.0)) for fault in scene.faults
    ]
    changes = [change for change in scene.changes if fnmatchcase(flow, change.flows)]
    for after_s, repeats, coverage in series["runs"]:
        if FIRST_S + after_s + _SECONDS >= moment(scene):
            continue
        night = 1 + int(after_s // DAY_S)
        factor = 1.0
        values: dict[str, Any] = {}
        for since, share in shares:
            factor *= share if night >= since else 1.0
        for change in changes:
            if change.since <= night < change.until:
                factor *= change.factor
                values.update(change.values)
        rates = [factor * rate for rate in repeats]
        started_at = FIRST_S + after_s
        yield {
            "schema": 1,
            "id": f"{flow} {after_s:.0f}",
            "run_id": f"{series['node']} {layer} {after_s:.0f}",
            "layer": layer,
            "component": component,
            "operation": operation,
            "scenario": scenario,
            "outcome": "ok",
            "host": series["node"],
            "started_at": started_at,
            "finished_at": started_at + _SECONDS,
            "reason": "",
            "path": series["path"],
            "partner": partner[0] if partner else None,
            "bytes": int(sum(rates) * _SECONDS),
            "seconds": _SECONDS,
            "rate": median(rates),
            "repeats": rates,
            "spec": series["spec"],
            "spec_hash": series["spec_hash"],
            "coverage": coverage,
            "versions": {},
            **values,
        }


@cache
def _packed(name: str) -> Any:
    return json.loads(gzip.decompress((FOLDER / f"{name}.json.gz").read_bytes()))


def _shares(site: str, fault: str) -> dict[str, float]:
    shares: dict[str, float] = _packed(f"{site}-faults")[fault]
    return shares
