"""One fault has one bearer, whichever alarm came first, and nothing is left without one."""

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
    found = {path.name: Verdict("path", path.name, State.OK, Reason.FINE, "fine") for path in PATHS}
    if suspect:
        bad = Verdict("path", suspect, State.CRITICAL, Reason.SUSPECT, f"Suspect: {suspect}.")
        found[suspect] = bad._replace(**changes)
    return found


def states(found: dict[str, Verdict]) -> dict[str, State]:
    return {name: one.state for name, one in found.items() if one.state is not State.OK}


def again(standing: ActiveAlarms) -> ActiveAlarms:
    """Return what the next publication reads."""
    return read(ActiveAlarms, json.loads(json.dumps(write(standing))))


SERVER = {"server oss1": State.CRITICAL}
BOTH = ("OST0", "OST1")


def test_a_suspect_that_comes_with_the_alarms_bears_them() -> None:
    scene = at(NOW, {OST0, OST1}, "server oss1", explains=BOTH)
    found, standing = settle(scene, verdicts("server oss1"), NO_ALARMS)
    assert states(found) == SERVER
    # what it silences notifies nobody
    assert standing.notified == {}
    assert standing.suspicions["server oss1"].since == NOW


@pytest.mark.parametrize(
    ("later_s", "expected"),
    [(AFTER_S - 1, SERVER), (AFTER_S, {}), (AFTER_S + 1, {})],
)
def test_a_suspect_that_comes_after_its_alarm_was_notified_is_no_second_one(
    later_s: float, expected: dict[str, State]
) -> None:
    _, standing = settle(at(NOW, {OST0}), verdicts(), NO_ALARMS)
    scene = at(NOW + later_s, {OST0}, "server oss1", explains=BOTH)
    found, _ = settle(scene, verdicts("server oss1"), again(standing))
    assert states(found) == expected
    if not expected:
        verdict = found["server oss1"]
        assert verdict.reason is Reason.ALARM_ELSEWHERE
        assert verdict.sentence.startswith(
            "Suspect: server oss1. Its alarm is that of OST OST0, since 1970-01-12 13:46 UTC"
        )


def test_it_bears_the_alarm_as_soon_as_it_explains_one_that_nobody_knows() -> None:
    _, standing = settle(at(NOW, {OST0}), verdicts(), NO_ALARMS)
    for later_s, alarms, expected in (
        (3600, {OST0}, {}),
        (7200, {OST0, OST1}, SERVER),
        # and keeps it
        (90_000, {OST0}, SERVER),
    ):
        scene = at(NOW + later_s, alarms, "server oss1", explains=BOTH)
        found, standing = settle(scene, verdicts("server oss1"), again(standing))
        assert states(found) == expected


def test_an_alarm_that_it_does_not_explain_is_another_fault() -> None:
    _, standing = settle(at(NOW, {OST0}), verdicts(), NO_ALARMS)
    scene = at(NOW + 90_000, {OST0}, "server oss1", explains=("OST1",))
    found, _ = settle(scene, verdicts("server oss1"), again(standing))
    assert states(found) == SERVER


def test_a_suspicion_that_moves_notifies_of_the_new_suspect_where_it_stays() -> None:
    scene = at(NOW, {OST0, OST1}, "nic oss1", explains=BOTH)
    _, standing = settle(scene, verdicts("nic oss1"), NO_ALARMS)
    for later_s, expected in (
        (90_000, {"nic oss1": State.CRITICAL}),
        (90_000 + FADES_S, {"nic oss1": State.CRITICAL}),
        (90_001 + FADES_S, SERVER),
    ):
        scene = at(NOW + later_s, {OST0, OST1}, "server oss1", explains=BOTH)
        found, standing = settle(scene, verdicts("server oss1"), again(standing))
        assert states(found) == expected
    assert standing.suspicions.keys() == {"server oss1"}


def test_a_suspicion_that_moves_says_who_bears_its_alarm() -> None:
    _, standing = settle(
        at(NOW, {OST0}, "nic oss1", explains=BOTH), verdicts("nic oss1"), NO_ALARMS
    )
    scene = at(NOW + 90_000, {OST0}, "server oss1", explains=BOTH)
    found, _ = settle(scene, verdicts("server oss1"), again(standing))
    assert found["server oss1"].sentence.endswith(
        "Its alarm is that of PATH nic oss1, since 1970-01-12 13:46 UTC"
    )


def test_a_suspect_beside_one_that_stands_is_another_fault() -> None:
    _, standing = settle(
        at(NOW, {OST0}, "nic oss1", explains=BOTH), verdicts("nic oss1"), NO_ALARMS
    )
    both = {**verdicts("nic oss1"), "server oss1": verdicts("server oss1")["server oss1"]}
    scene = at(NOW + 90_000, {OST0, OST1}, "server oss1", explains=BOTH)
    found, _ = settle(scene, both, again(standing))
    assert states(found) == {"nic oss1": State.CRITICAL, **SERVER}


def test_a_repaired_suspect_ends_after_what_it_silenced() -> None:
    scene = at(NOW, {OST0, OST1}, "server oss1", explains=BOTH)
    _, standing = settle(scene, verdicts("server oss1"), NO_ALARMS)
    steps: tuple[tuple[int, set[Any], dict[str, State]], ...] = (
        (86_400, {OST0, OST1, OST2}, SERVER),
        (90_000, {OST1, OST2}, SERVER),
        (90_600, {OST2}, {}),
    )
    for later_s, alarms, expected in steps:
        found, standing = settle(at(NOW + later_s, alarms), verdicts(), again(standing))
        assert states(found) == expected
    # what was behind nothing is known
    assert standing.notified.keys() == {"oss1;OST OST2"}


@pytest.mark.parametrize(("later_s", "expected"), [(FADES_S, SERVER), (FADES_S + 1, {})])
def test_what_stays_slow_behind_a_repaired_suspect_notifies_in_the_end(
    later_s: float, expected: dict[str, State]
) -> None:
    scene = at(NOW, {OST0, OST1}, "server oss1", explains=BOTH)
    _, standing = settle(scene, verdicts("server oss1"), NO_ALARMS)
    _, standing = settle(at(NOW + 600, {OST0}), verdicts(), again(standing))
    found, standing = settle(at(NOW + 600 + later_s, {OST0}), verdicts(), again(standing))
    assert states(found) == expected
    assert bool(standing.notified) is not bool(expected)
    assert ("not yet shown to be healthy: OST OST0" in found["server oss1"].sentence) is bool(
        expected
    )


def test_a_server_that_answers_again_is_ok_at_once() -> None:
    lost = verdicts("server oss1", reason=Reason.UNREACHABLE)
    _, standing = settle(at(NOW, {OST0}), lost, NO_ALARMS)
    found, _ = settle(at(NOW + 600, {OST0}), verdicts(), again(standing))
    assert states(found) == {}


def test_a_server_that_does_not_answer_is_another_fault_than_its_slow_target() -> None:
    _, standing = settle(at(NOW, {OST0}), verdicts(), NO_ALARMS)
    lost = verdicts("server oss1", reason=Reason.UNREACHABLE)
    found, _ = settle(at(NOW + 90_000, {OST0}), lost, again(standing))
    assert states(found) == SERVER


def test_a_device_behind_its_target_is_notified_once_the_target_is_healthy() -> None:
    scene = at(NOW, {OST2, RAW2})._replace(services=WITH_DEVICE)
    _, standing = settle(scene, verdicts(), NO_ALARMS)
    assert standing.notified.keys() == {"oss1;OST OST2"}
    later = scene._replace(alarms={RAW2}, now=NOW + 86_400)
    _, standing = settle(later, verdicts(), again(standing))
    assert standing.notified == {"oss1;RAW disk2": NOW + 86_400}


def test_a_suspect_is_no_second_alarm_though_a_device_was_silent_behind_its_target() -> None:
    server = PATHS[1]._replace(members=(OST2, RAW2))
    paths = (PATHS[0], server, PATHS[2])
    scene = at(NOW, {OST2})._replace(services=WITH_DEVICE, paths=paths)
    _, standing = settle(scene, verdicts(), NO_ALARMS)
    by = {("ost", "OST2"): ("server oss1",), ("raw", "disk2"): ("server oss1",)}
    later = scene._replace(alarms={OST2, RAW2}, explained=by, now=NOW + 86_400)
    found, _ = settle(later, verdicts("server oss1"), again(standing))
    assert states(found) == {}
    assert found["server oss1"].sentence.endswith(
        "Its alarm is that of OST OST2, since 1970-01-12 13:46 UTC"
    )
