"""Notifications of a real Nagios with the objects of the role: one fault, one notification."""

from __future__ import annotations

import itertools
import time
from contextlib import contextmanager
from typing import Iterator, Mapping

import pytest

from plumbline.model.codec import read_all
from plumbline.model.service import NO_ALARMS, PathService, Service
from plumbline.model.verdict import Reason, State, Verdict
from plumbline.site.publish import Scene, settle
from tests.package.cli import nagios
from tests.project.test_nagios_objects import CONTACT, make, plan

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(nagios.PROGRAM is None, reason="Nagios is not installed"),
]

OK, WARNING, CRITICAL, UNKNOWN = range(4)
DELAY_S = 3
SERVER = ("oss3", "PATH server oss3")
SYSTEM = ("lab", "PATH file system scratch")
OSTS = tuple(("oss3", f"OST scratch-OST000{number} write read") for number in (4, 5))
BEHIND = (*OSTS, ("oss3", "NET oss3 send receive"))
OTHER = ("oss1", "OST scratch-OST0000 write read")


class Desk:
    """A Nagios whose minutes last a second, and its notifications."""

    def __init__(self, daemon: nagios.Daemon) -> None:
        self._daemon = daemon
        self._numbers = itertools.count()

    def see(self, *services: tuple[str, str], state: int) -> None:
        """Submit a result for each of these services, and wait until Nagios has it."""
        self.see_all(dict.fromkeys(services, state))

    def wait(self) -> None:
        """Wait until the delay of first notifications is over."""
        time.sleep(DELAY_S + 1.5)

    @property
    def notifications(self) -> list[tuple[str, str]]:
        """Return service and state of each notification, in order."""
        log = self._daemon.log.splitlines()
        lines = (line for line in log if "SERVICE NOTIFICATION: " in line)
        return [(parts[2], parts[3]) for parts in (line.split(";") for line in lines)]

    def see_all(self, states: Mapping[tuple[str, str], int]) -> None:
        """Submit a result with its own state for each service."""
        text = f"result {next(self._numbers)}"
        lines = [
            f"[{int(time.time())}] PROCESS_SERVICE_CHECK_RESULT;{host};{service};{state:d};{text}\n"
            for (host, service), state in states.items()
        ]
        with self._daemon.pipe.open("w") as pipe:
            pipe.writelines(lines)

        def accepted() -> bool:
            checked = self._daemon.checked()
            return all(checked.get(key, {}).get("plugin_output") == text for key in states)

        self._daemon.until(accepted, "results were not accepted")


@pytest.fixture(scope="module")
def objects() -> str:
    made = make(plan("lab"), paths=True, notification_delay_min=DELAY_S)
    return CONTACT + "".join(made.values())


@contextmanager
def desk(objects: str) -> Iterator[Desk]:
    settings = ("enable_notifications=1", "interval_length=1", "check_service_freshness=0")
    with nagios.configured(objects, *settings) as daemon:
        nagios_desk = Desk(daemon)
        # everything was OK before
        nagios_desk.see(*BEHIND, OTHER, SERVER, SYSTEM, state=OK)
        yield nagios_desk


def test_a_slow_server_is_one_notification_and_its_repair_another(objects: str) -> None:
    with desk(objects) as nagios_desk:
        nagios_desk.see(*BEHIND, state=WARNING)
        # the suspect is known before the delay is over
        nagios_desk.see(SERVER, state=CRITICAL)
        nagios_desk.see(SYSTEM, state=WARNING)
        nagios_desk.wait()
        nagios_desk.see(*BEHIND, state=WARNING)
        nagios_desk.see(*BEHIND, state=CRITICAL)
        assert nagios_desk.notifications == [(SERVER[1], "CRITICAL")]
        nagios_desk.see(*BEHIND, state=OK)
        nagios_desk.see(SERVER, SYSTEM, state=OK)
        assert nagios_desk.notifications == [(SERVER[1], "CRITICAL"), (SERVER[1], "OK")]


def test_two_faults_are_two_notifications_and_two_repairs(objects: str) -> None:
    with desk(objects) as nagios_desk:
        nagios_desk.see(SERVER, state=CRITICAL)
        nagios_desk.see(*BEHIND, OTHER, state=WARNING)
        nagios_desk.wait()
        nagios_desk.see(*BEHIND, OTHER, state=WARNING)
        expected = [(SERVER[1], "CRITICAL"), (OTHER[1], "WARNING")]
        assert nagios_desk.notifications == expected
        nagios_desk.see(OTHER, state=OK)
        nagios_desk.see(*BEHIND, state=OK)
        nagios_desk.see(SERVER, state=OK)
        assert nagios_desk.notifications == [*expected, (OTHER[1], "OK"), (SERVER[1], "OK")]


class Console:
    """States published for suspects, one collection after the other, ten minutes apart."""

    def __init__(self) -> None:
        document = plan("lab")
        self._services = read_all(Service, document["services"])
        self._paths = read_all(PathService, document["paths"])
        self._standing = NO_ALARMS
        self._now = 1_000_000.0

    def publish(self, *alarms: tuple[str, str], suspect: str = "") -> dict[tuple[str, str], int]:
        """Return the states of the path services if ``suspect`` explains all alarms."""
        self._now += 600
        places = [
            place
            for place, service in enumerate(self._services)
            if (service.host, service.description) in alarms
        ]
        named = {(self._services[place].layer, self._services[place].component) for place in places}
        scene = Scene(
            self._paths,
            self._services,
            set(places),
            dict.fromkeys(named, (suspect,)),
            self._now,
            600.0,
        )
        verdicts = {
            path.name: Verdict("path", path.name, State.OK, Reason.FINE, "no suspect")
            for path in self._paths
        }
        if suspect:
            verdicts[suspect] = Verdict("path", suspect, State.CRITICAL, Reason.SUSPECT, "Suspect.")
        settled, self._standing = settle(scene, verdicts, self._standing)
        return {(path.host, path.description): settled[path.name].state for path in self._paths}


def test_a_suspect_found_after_the_notification_does_not_notify_again(objects: str) -> None:
    console = Console()
    first = [(OSTS[0][1], "WARNING")]
    with desk(objects) as nagios_desk:
        for suspect in ("", "", "server oss3", "server oss3"):
            nagios_desk.see_all(console.publish(OSTS[0], suspect=suspect))
            nagios_desk.see(OSTS[0], state=WARNING)
            nagios_desk.wait()
            nagios_desk.see(OSTS[0], state=WARNING)
        assert nagios_desk.notifications == first
        nagios_desk.see(OSTS[0], state=OK)
        nagios_desk.see_all(console.publish())
        assert nagios_desk.notifications == [*first, (OSTS[0][1], "OK")]


def test_a_suspect_behind_further_alarms_notifies_in_their_place(objects: str) -> None:
    console = Console()
    with desk(objects) as nagios_desk:
        nagios_desk.see(OSTS[0], state=WARNING)
        nagios_desk.wait()
        for alarms, suspect in ((OSTS[:1], ""), (OSTS[:1], ""), (BEHIND, "server oss3")):
            nagios_desk.see(*alarms, state=WARNING)
            nagios_desk.see_all(console.publish(*alarms, suspect=suspect))
        nagios_desk.wait()
        nagios_desk.see(*BEHIND, state=WARNING)
        assert nagios_desk.notifications == [(OSTS[0][1], "WARNING"), (SERVER[1], "CRITICAL")]


def test_a_repair_seen_in_different_nights_is_one_recovery(objects: str) -> None:
    console = Console()
    with desk(objects) as nagios_desk:
        nagios_desk.see_all(console.publish(*BEHIND, suspect="server oss3"))
        nagios_desk.see(*BEHIND, state=WARNING)
        nagios_desk.wait()
        # the suspect is gone, but not all services that it silenced are healthy yet
        nagios_desk.see(*BEHIND[1:], state=OK)
        nagios_desk.see_all(console.publish(BEHIND[0]))
        nagios_desk.see(BEHIND[0], state=WARNING)
        assert nagios_desk.notifications == [(SERVER[1], "CRITICAL")]
        nagios_desk.see(BEHIND[0], state=OK)
        nagios_desk.see_all(console.publish())
        assert nagios_desk.notifications == [(SERVER[1], "CRITICAL"), (SERVER[1], "OK")]


def test_a_target_still_slow_behind_a_repaired_server_notifies(objects: str) -> None:
    with desk(objects) as nagios_desk:
        nagios_desk.see(SERVER, state=CRITICAL)
        nagios_desk.see(*BEHIND, state=WARNING)
        nagios_desk.wait()
        nagios_desk.see(*BEHIND, state=WARNING)
        nagios_desk.see(SERVER, state=OK)
        nagios_desk.see(*BEHIND[1:], state=OK)
        nagios_desk.see(BEHIND[0], state=WARNING)
        assert nagios_desk.notifications == [
            (SERVER[1], "CRITICAL"),
            (SERVER[1], "OK"),
            (BEHIND[0][1], "WARNING"),
        ]


def test_missing_measurements_notify_once_for_the_node(objects: str) -> None:
    node = ("client1", "NODE client1 probes")
    collection = ("lab", "PATH collection")
    all_services = (*BEHIND, OTHER, SERVER, SYSTEM, ("client1", "OST group scratch"))
    with desk(objects) as nagios_desk:
        nagios_desk.see(node, collection, state=OK)
        nagios_desk.see(*all_services, node, state=UNKNOWN)
        nagios_desk.wait()
        nagios_desk.see(*all_services, node, state=UNKNOWN)
        assert nagios_desk.notifications == [(node[1], "UNKNOWN")]
        nagios_desk.see(collection, state=UNKNOWN)
        nagios_desk.see(*all_services, node, collection, state=OK)
        assert sorted(nagios_desk.notifications[1:]) == [
            (node[1], "OK"),
            (collection[1], "OK"),
            (collection[1], "UNKNOWN"),
        ]


def test_a_problem_is_hard_at_once_and_never_flaps(objects: str) -> None:
    with desk(objects) as nagios_desk:
        for _ in range(6):
            nagios_desk.see(SERVER, state=WARNING)
            nagios_desk.see(SERVER, state=OK)
        assert nagios_desk.notifications == [(SERVER[1], "WARNING"), (SERVER[1], "OK")] * 6
