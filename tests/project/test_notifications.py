"""Notifications of a real Nagios with the objects of the role: one fault, one notification."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import Any, Iterator, Mapping, Sequence

import pytest

from plumbline.model.codec import read_all
from plumbline.model.service import NO_ALARMS, PathService, Service
from plumbline.model.verdict import Reason, State, Verdict
from plumbline.parts.locate.path_alarms import Scene, settle
from tests.package.cli import nagios
from tests.package.recorded import table
from tests.project.test_nagios_objects import CONTACT, make, plan

pytestmark = [
    pytest.mark.daemon,
    pytest.mark.skipif(
        nagios.PROGRAM is None, reason="Nagios is not installed, or may not start here"
    ),
]

DELAY_S = 3
SERVICES = {
    "server": ("oss3", "PATH server oss3"),
    "nic": ("oss3", "PATH nic oss3-nic"),
    "system": ("lab", "PATH file system scratch"),
    "ost4": ("oss3", "OST scratch-OST0004 write read"),
    "ost5": ("oss3", "OST scratch-OST0005 write read"),
    "net": ("oss3", "NET oss3 send receive"),
    "other": ("oss1", "OST scratch-OST0000 write read"),
    "group": ("client1", "OST group scratch"),
    "node": ("client1", "NODE client1 probes"),
    "collection": ("lab", "PATH collection"),
}
NAMES = {description: name for name, (_, description) in SERVICES.items()}


@pytest.fixture(scope="module")
def objects() -> str:
    made = make(plan("lab"), paths=True, notification_delay_min=DELAY_S)
    return CONTACT + "".join(made.values())


@contextmanager
def daemon(objects: str) -> Iterator[nagios.Daemon]:
    """Run a Nagios whose minutes last a second."""
    settings = ("enable_notifications=1", "interval_length=1", "check_service_freshness=0")
    with nagios.configured(objects, *settings) as running:
        # everything was OK before
        see(
            running,
            dict.fromkeys(("ost4", "ost5", "net", "other", "server", "nic", "system"), "OK"),
        )
        yield running


def see(running: nagios.Daemon, states: Mapping[str, str]) -> None:
    running.submit({SERVICES[name]: State[state] for name, state in states.items()})


def notified(running: nagios.Daemon) -> list[str]:
    return [f"{NAMES[service]} {state}" for service, state in running.notifications]


class Console:
    """States published for suspects, one collection after the other, ten minutes apart."""

    def __init__(self) -> None:
        document = plan("lab")
        self._services = read_all(Service, document["services"])
        self._paths = read_all(PathService, document["paths"])
        self._standing = NO_ALARMS
        self._now = 1_000_000.0

    def publish(
        self, alarms: Sequence[str] = (), suspect: str = ""
    ) -> dict[tuple[str, str], State]:
        """Return the states of the path services if ``suspect`` explains all alarms."""
        self._now += 600
        places = [
            place
            for place, service in enumerate(self._services)
            if NAMES.get(service.description) in alarms
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


@pytest.mark.parametrize("case", table("notifications.yml")["cases"], ids=lambda case: case["case"])
def test_notifications_follow_the_results(objects: str, case: Mapping[str, Any]) -> None:
    console = Console()
    with daemon(objects) as running:
        for step in case["steps"]:
            if "see" in step:
                see(running, step["see"])
            elif "publish" in step:
                running.submit(console.publish(**step["publish"]))
            elif "wait" in step:
                time.sleep(DELAY_S + 1.5)
            else:
                assert notified(running) == step["notified"]


def test_a_problem_is_hard_at_once_and_never_flaps(objects: str) -> None:
    with daemon(objects) as running:
        for _ in range(6):
            see(running, {"server": "WARNING"})
            see(running, {"server": "OK"})
        assert notified(running) == ["server WARNING", "server OK"] * 6
