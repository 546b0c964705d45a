"""Each fault has exactly one service with its alarm, whichever alarm came first."""

from __future__ import annotations

import json
from typing import Any

import pytest

from plumbline.model.codec import read, write
from plumbline.model.service import NO_ALARMS, ActiveAlarms, PathService, Service
from plumbline.model.verdict import Reason, State, Verdict
from plumbline.site.publish import FADES_S, Scene, settle

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
OST0, OST1, OST2 = range(3)


RAW2 = 3
WITH_DEVICE = (
    *SERVICES,
    Service("oss1", "oss1", "RAW disk2", "c", "check_raw", (), "raw", "disk2", "", 1, "", (2,)),
)


def at(now: float, alarms: set[int], suspect: str = "", *, explains: tuple[str, ...] = ()) -> Scene:
    explained = {("ost", name): (suspect,) for name in explains}
    return Scene(PATHS, SERVICES, alarms, explained, now, AFTER_S)


def verdicts(suspect: str = "", **changes: Any) -> dict[str, Verdict]:
    by_path = {
        path.name: Verdict("path", path.name, State.OK, Reason.FINE, "fine") for path in PATHS
    }
    if suspect:
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


SERVER = {"server oss1": State.CRITICAL}
BOTH = ("OST0", "OST1")


def test_a_suspect_found_with_the_alarms_takes_their_alarm() -> None:
    scene = at(NOW, {OST0, OST1}, "server oss1", explains=BOTH)
    settled, active = settle(scene, verdicts("server oss1"), NO_ALARMS)
    assert states(settled) == SERVER
    # silenced services do not notify
    assert active.notified == {}
    assert active.suspicions["server oss1"].since == NOW


@pytest.mark.parametrize(
    ("later_s", "expected"),
    [(AFTER_S - 1, SERVER), (AFTER_S, {}), (AFTER_S + 1, {})],
)
def test_a_suspect_found_after_the_notification_raises_no_second_alarm(
    later_s: float, expected: dict[str, State]
) -> None:
    _, active = settle(at(NOW, {OST0}), verdicts(), NO_ALARMS)
    scene = at(NOW + later_s, {OST0}, "server oss1", explains=BOTH)
    settled, _ = settle(scene, verdicts("server oss1"), reread(active))
    assert states(settled) == expected
    if not expected:
        verdict = settled["server oss1"]
        assert verdict.reason is Reason.ALARM_ELSEWHERE
        assert verdict.sentence.startswith(
            "Suspect: server oss1. Its alarm is that of OST OST0, since 1970-01-12 13:46 UTC"
        )


def test_a_suspect_takes_the_alarm_once_it_explains_a_new_one() -> None:
    _, active = settle(at(NOW, {OST0}), verdicts(), NO_ALARMS)
    for later_s, alarms, expected in (
        (3600, {OST0}, {}),
        (7200, {OST0, OST1}, SERVER),
        # it keeps the alarm
        (90_000, {OST0}, SERVER),
    ):
        scene = at(NOW + later_s, alarms, "server oss1", explains=BOTH)
        settled, active = settle(scene, verdicts("server oss1"), reread(active))
        assert states(settled) == expected


def test_an_alarm_that_a_suspect_does_not_explain_is_another_fault() -> None:
    _, active = settle(at(NOW, {OST0}), verdicts(), NO_ALARMS)
    scene = at(NOW + 90_000, {OST0}, "server oss1", explains=("OST1",))
    settled, _ = settle(scene, verdicts("server oss1"), reread(active))
    assert states(settled) == SERVER


def test_a_new_suspect_for_the_same_alarms_is_notified_if_it_persists() -> None:
    scene = at(NOW, {OST0, OST1}, "nic oss1", explains=BOTH)
    _, active = settle(scene, verdicts("nic oss1"), NO_ALARMS)
    for later_s, expected in (
        (90_000, {"nic oss1": State.CRITICAL}),
        (90_000 + FADES_S, {"nic oss1": State.CRITICAL}),
        (90_001 + FADES_S, SERVER),
    ):
        scene = at(NOW + later_s, {OST0, OST1}, "server oss1", explains=BOTH)
        settled, active = settle(scene, verdicts("server oss1"), reread(active))
        assert states(settled) == expected
    assert active.suspicions.keys() == {"server oss1"}


def test_a_new_suspect_names_the_service_with_its_alarm() -> None:
    _, active = settle(at(NOW, {OST0}, "nic oss1", explains=BOTH), verdicts("nic oss1"), NO_ALARMS)
    scene = at(NOW + 90_000, {OST0}, "server oss1", explains=BOTH)
    settled, _ = settle(scene, verdicts("server oss1"), reread(active))
    assert settled["server oss1"].sentence.endswith(
        "Its alarm is that of PATH nic oss1, since 1970-01-12 13:46 UTC"
    )


def test_a_second_suspect_is_another_fault() -> None:
    _, active = settle(at(NOW, {OST0}, "nic oss1", explains=BOTH), verdicts("nic oss1"), NO_ALARMS)
    both = {**verdicts("nic oss1"), "server oss1": verdicts("server oss1")["server oss1"]}
    scene = at(NOW + 90_000, {OST0, OST1}, "server oss1", explains=BOTH)
    settled, _ = settle(scene, both, reread(active))
    assert states(settled) == {"nic oss1": State.CRITICAL, **SERVER}


def test_a_repaired_suspect_recovers_after_the_services_it_silenced() -> None:
    scene = at(NOW, {OST0, OST1}, "server oss1", explains=BOTH)
    _, active = settle(scene, verdicts("server oss1"), NO_ALARMS)
    steps: tuple[tuple[int, set[Any], dict[str, State]], ...] = (
        (86_400, {OST0, OST1, OST2}, SERVER),
        (90_000, {OST1, OST2}, SERVER),
        (90_600, {OST2}, {}),
    )
    for later_s, alarms, expected in steps:
        settled, active = settle(at(NOW + later_s, alarms), verdicts(), reread(active))
        assert states(settled) == expected
    # only the alarm outside the suspect was notified
    assert active.notified.keys() == {"oss1;OST OST2"}


@pytest.mark.parametrize(("later_s", "expected"), [(FADES_S, SERVER), (FADES_S + 1, {})])
def test_a_component_still_slow_after_the_repair_is_notified_finally(
    later_s: float, expected: dict[str, State]
) -> None:
    scene = at(NOW, {OST0, OST1}, "server oss1", explains=BOTH)
    _, active = settle(scene, verdicts("server oss1"), NO_ALARMS)
    _, active = settle(at(NOW + 600, {OST0}), verdicts(), reread(active))
    settled, active = settle(at(NOW + 600 + later_s, {OST0}), verdicts(), reread(active))
    assert states(settled) == expected
    assert bool(active.notified) is not bool(expected)
    assert ("not yet shown to be healthy: OST OST0" in settled["server oss1"].sentence) is bool(
        expected
    )


def test_a_server_that_answers_again_is_ok_at_once() -> None:
    lost = verdicts("server oss1", reason=Reason.UNREACHABLE)
    _, active = settle(at(NOW, {OST0}), lost, NO_ALARMS)
    settled, _ = settle(at(NOW + 600, {OST0}), verdicts(), reread(active))
    assert states(settled) == {}


def test_an_unreachable_server_is_another_fault_than_its_slow_target() -> None:
    _, active = settle(at(NOW, {OST0}), verdicts(), NO_ALARMS)
    lost = verdicts("server oss1", reason=Reason.UNREACHABLE)
    settled, _ = settle(at(NOW + 90_000, {OST0}), lost, reread(active))
    assert states(settled) == SERVER


def test_a_device_behind_its_target_is_notified_once_the_target_is_healthy() -> None:
    scene = at(NOW, {OST2, RAW2})._replace(services=WITH_DEVICE)
    _, active = settle(scene, verdicts(), NO_ALARMS)
    assert active.notified.keys() == {"oss1;OST OST2"}
    later = scene._replace(alarms={RAW2}, now=NOW + 86_400)
    _, active = settle(later, verdicts(), reread(active))
    assert active.notified == {"oss1;RAW disk2": NOW + 86_400}


def test_a_suspect_raises_no_second_alarm_for_a_silenced_device() -> None:
    server = PATHS[1]._replace(members=(OST2, RAW2))
    paths = (PATHS[0], server, PATHS[2])
    scene = at(NOW, {OST2})._replace(services=WITH_DEVICE, paths=paths)
    _, active = settle(scene, verdicts(), NO_ALARMS)
    by = {("ost", "OST2"): ("server oss1",), ("raw", "disk2"): ("server oss1",)}
    later = scene._replace(alarms={OST2, RAW2}, explained=by, now=NOW + 86_400)
    settled, _ = settle(later, verdicts("server oss1"), reread(active))
    assert states(settled) == {}
    assert settled["server oss1"].sentence.endswith(
        "Its alarm is that of OST OST2, since 1970-01-12 13:46 UTC"
    )
