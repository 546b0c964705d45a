"""Each fault has exactly one service with its alarm, whichever alarm came first."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import Any, Iterable, Mapping

import pytest

from plumbline.model.codec import read, write
from plumbline.model.service import NO_ALARMS, ActiveAlarms, PathService, Service
from plumbline.model.verdict import Reason, State, Verdict
from plumbline.parts.locate.path_alarms import Scene, settle
from tests.package.recorded import table

NOW = 1_000_000.0
AFTER_S = 1800.0
NAMES = ("OST0", "OST1", "OST2")
SERVICES = tuple(
    Service("oss1", "client1", f"OST {name}", "c", "check_ost", (), "ost", name, "", 1)
    for name in NAMES
)
PATHS = (
    PathService("site", "file system s", "PATH file system s", "", "s", (0, 1, 2)),
    PathService("oss1", "server oss1", "PATH server oss1", "oss1", "", (0, 1)),
    PathService("oss1", "nic oss1", "PATH nic oss1", "nic1", "", (0, 1)),
)
Explained = Mapping[tuple[str, str], tuple[str, ...]]
OST2 = 2


RAW2 = 3
WITH_DEVICE = (
    *SERVICES,
    Service("oss1", "oss1", "RAW disk2", "c", "check_raw", (), "raw", "disk2", "", 1, "", (2,)),
)


def scene(
    alarms: Iterable[int], after_s: float = 0.0, explained: Explained = MappingProxyType({})
) -> Scene:
    return Scene(PATHS, SERVICES, {*alarms}, explained, NOW + after_s, AFTER_S)


def verdicts(*suspects: str, **changes: Any) -> dict[str, Verdict]:
    by_path = {
        path.name: Verdict("path", path.name, State.OK, Reason.FINE, "fine") for path in PATHS
    }
    for suspect in suspects:
        bad = Verdict("path", suspect, State.CRITICAL, Reason.SUSPECT, f"Suspect: {suspect}.")
        by_path[suspect] = bad._replace(**changes)
    return by_path


def states(settled: dict[str, Verdict]) -> dict[str, State]:
    return {
        name: verdict.state for name, verdict in settled.items() if verdict.state is not State.OK
    }


def reread(active: ActiveAlarms) -> ActiveAlarms:
    """Write the active alarms and read them like the next publication."""
    return read(ActiveAlarms, json.loads(json.dumps(write(active))))


@pytest.mark.parametrize("case", table("standing.yml")["cases"], ids=lambda case: case["case"])
def test_a_fault_has_one_alarm_at_a_time(case: Mapping[str, Any]) -> None:
    active = NO_ALARMS
    for step in case["steps"]:
        suspects = step.get("suspects", [])
        by_path = verdicts(*suspects)
        if "unreachable" in step:
            by_path = verdicts(step["unreachable"], reason=Reason.UNREACHABLE)
        explained = {("ost", name): (suspects[-1],) for name in step.get("explains", ())}
        now = scene(step["alarms"], step.get("at_s", 0), explained)
        settled, active = settle(now, by_path, reread(active))
        assert {name: state.name for name, state in states(settled).items()} == step["states"]
        for name, reason in step.get("reasons", {}).items():
            assert settled[name].reason.value == reason
        for name, sentence in step.get("sentences", {}).items():
            assert sentence in settled[name].sentence
        assert step.get("notified", [*active.notified]) == [*active.notified]


def test_a_device_behind_its_target_is_notified_once_the_target_is_healthy() -> None:
    first = scene({OST2, RAW2})._replace(services=WITH_DEVICE)
    _, active = settle(first, verdicts(), NO_ALARMS)
    assert active.notified.keys() == {"oss1;OST OST2"}
    later = first._replace(alarms={RAW2}, now=NOW + 86_400)
    _, active = settle(later, verdicts(), reread(active))
    assert active.notified == {"oss1;RAW disk2": NOW + 86_400}


def test_a_suspect_raises_no_second_alarm_for_a_silenced_device() -> None:
    server = PATHS[1]._replace(members=(OST2, RAW2))
    paths = (PATHS[0], server, PATHS[2])
    first = scene({OST2})._replace(services=WITH_DEVICE, paths=paths)
    _, active = settle(first, verdicts(), NO_ALARMS)
    by = {("ost", "OST2"): ("server oss1",), ("raw", "disk2"): ("server oss1",)}
    later = first._replace(alarms={OST2, RAW2}, explained=by, now=NOW + 86_400)
    settled, _ = settle(later, verdicts("server oss1"), reread(active))
    assert states(settled) == {}
    assert settled["server oss1"].sentence.endswith(
        "Its alarm is that of OST OST2, since 1970-01-12 13:46 UTC"
    )
