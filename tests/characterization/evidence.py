"""Symptoms, conditions and server counters that nodes of a scene send with their measurements.

The documents have the current format of the exchange, like the records in door.py.
"""

from __future__ import annotations

from typing import Any, Iterator, Mapping

from tests.characterization.door import Node
from tests.characterization.histories import END_S

DAY_S = 86_400.0
OTHER_RELEASE = {"oss3": "2.2.9", "oss07": "2.2.9"}
"""Releases of servers that differ from their peers."""


def with_evidence(scene: str, nodes: Mapping[str, Node], at: float) -> dict[str, Node]:
    """Return the nodes of a scene with their symptoms, conditions and counters."""
    if scene == "lab-signs":
        return {name: _signs(name, node, at) for name, node in nodes.items()}
    if scene == "example-jobs":
        return {name: _counted(name, node, at) for name, node in nodes.items()}
    return dict(nodes)


def _signs(name: str, node: Node, at: float) -> Node:
    running = [["raw", "oss3-disk1", at - 120]] if name == "oss3" else []
    conditions = _conditions(name, at) if name.startswith("oss") else None
    return Node(node.records, _symptoms(name, at), conditions, running)


def _symptoms(name: str, at: float) -> dict[str, Any]:
    # collector, kind of look, component, sign, severity, direction
    signs = {
        "oss1": ("smart", "disks", "oss1-disk1", "failing", "CRITICAL", "raises"),
        "oss2": ("ethernet", "network", "oss2-nic", "speed", "WARNING", "raises"),
        "oss3": ("kernel", "kernel", "oss3", "restarted", "OK", "clears"),
    }
    looks = [_look(*signs[name])] if name in signs else []
    past = {"older": _past(at - DAY_S), "newer": _past(at), "highest": {}}
    return {"schema": 1, "node": name, "looked_at": at - 600, "looks": looks, "past": past}


def _past(at: float) -> dict[str, Any]:
    return {"at": at, "values": {}}


def _look(collector: str, kind: str, component: str, *sign: str) -> dict[str, Any]:
    name, severity, direction = sign
    symptom = {
        "collector": collector,
        "component": component,
        "kind": name,
        "severity": severity,
        "direction": direction,
        "sentence": f"{component} shows {name}",
        "since": END_S - 7 * DAY_S,
    }
    return {
        "collector": collector,
        "examined": 2,
        "symptoms": [symptom],
        "notes": [],
        "unavailable": "",
        "kind": kind,
    }


def _conditions(name: str, at: float) -> dict[str, Any]:
    condition = ["software", "", "GlusterFS"]
    before, value = ("2.2.0", OTHER_RELEASE.get(name, "2.3.0"))
    change = [at - 5 * DAY_S, at - 6 * DAY_S, *condition, before, value, ""]
    return {
        "schema": 1,
        "node": name,
        "taken_at": at - 3600,
        "since": at - 30 * DAY_S,
        "notes": [],
        "changes": [change],
        "conditions": [[*condition, value, ""]],
        "missing": [],
    }


def _counted(name: str, node: Node, at: float) -> Node:
    records = sorted(
        [*node.records, *_servers(name)], key=lambda record: (record["started_at"], record["id"])
    )
    conditions = _conditions(name, at) if name.startswith("oss") else None
    return Node(records, conditions=conditions)


def _servers(name: str) -> Iterator[dict[str, Any]]:
    """Yield the counters of two servers in the last night: one idle but for the probe, one busy."""
    moved_Bps = {"oss01": ("work-OST0000", 3.6e9), "oss02": ("work-OST0002", 9e9)}
    if name not in moved_Bps:
        return
    target, rate = moved_Bps[name]
    begin = END_S - DAY_S + 7080
    for operation in ("read", "write"):
        rates = [rate] * 300
        jobs = [[begin + 10, begin + 290, "4711", 10**12, 2 * 10**12]] if name == "oss02" else []
        yield {
            "schema": 1,
            "id": f"counted {name} {operation}",
            "run_id": f"sampling of {name}",
            "layer": "server",
            "component": target,
            "operation": operation,
            "scenario": "together",
            "outcome": "ok",
            "host": name,
            "started_at": begin,
            "finished_at": begin + len(rates),
            "bytes": int(sum(rates)),
            "seconds": float(len(rates)),
            "rate": sum(rates) / len(rates),
            "profile": rates,
            "details": {
                "source": "lustre",
                "watched_s": len(rates),
                "watched": [0, len(rates)],
                "late_s": 0.0,
                **({"jobs": jobs} if operation == "read" else {}),
            },
        }
