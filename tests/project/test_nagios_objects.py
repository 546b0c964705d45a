"""The daemon accepts the objects for Nagios, and one cause notifies once.

They are made from the plan of an inventory, for a real daemon run by the test.
"""

from __future__ import annotations

import json
import re
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator, Optional

import pytest

from plumbline.doors.monitored import monitored, read_options
from plumbline.doors.nagios import nagios_objects
from plumbline.site.inventory import plan_of, read_inventory
from tests.package.cli import nagios
from tests.package.recorded import data
from tests.project.repository import ROOT

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        nagios.PROGRAM is None, reason="Nagios is not installed, or may not start here"
    ),
]

CONTACT = data("nagios/contact.cfg")
ANSWER = data("nagios/answer.sh")
OPTIONS = {"paths": True, "notification_delay_min": 0}


def plan(inventory: str) -> dict[str, Any]:
    """Return the plan of an inventory in the form for roles."""
    compiled = plan_of(read_inventory(str(ROOT / "inventories" / inventory)))
    document: dict[str, Any] = json.loads(json.dumps(compiled.to_json()))
    return document


def make(plan: dict[str, Any], **options: Any) -> dict[str, str]:
    """Return the objects of a plan by kind."""
    with_defaults = read_options(options)
    files = nagios_objects(monitored(plan, with_defaults), with_defaults)
    return {name.partition(".")[0]: text for name, text in files.items()}


def parse_objects(text: str, kind: str) -> list[dict[str, str]]:
    """Return the objects of a kind."""
    blocks = (part.partition("}")[0] for part in text.split(f"define {kind} {{")[1:])
    return [
        dict(
            line.strip().split(maxsplit=1)
            for line in block.strip().splitlines()
            if not line.strip().startswith("#")
        )
        for block in blocks
    ]


@contextmanager
def daemon(objects: dict[str, str]) -> Iterator[nagios.Daemon]:
    """Run a daemon with the objects that notifies and does not check."""
    with nagios.configured(
        CONTACT + "".join(objects.values()), "enable_notifications=1"
    ) as running:
        yield running


@pytest.fixture(scope="module")
def lab() -> dict[str, str]:
    return make(plan("lab"), **OPTIONS)


@pytest.mark.parametrize(("inventory", "collect"), [("lab", False), ("edison", True)])
def test_the_daemon_accepts_the_objects_of_a_site(inventory: str, collect: bool) -> None:
    site = plan(inventory)
    child, parent = (host["name"] for host in site["hosts"][:2])
    site["parents"] = {child: [parent]}
    objects = make(site, **{**OPTIONS, "paths": collect})
    hosts = {host["host_name"]: host for host in parse_objects(objects["hosts"], "host")}
    assert [host.get("parents") for host in hosts.values()].count(parent) == 1
    assert hosts[child]["parents"] == parent
    verified = nagios.verify(CONTACT + "".join(objects.values()))
    assert verified.returncode == 0, verified.stdout
    assert "Total Errors:   0" in verified.stdout
    assert "Total Warnings: 0" in verified.stdout
    assert ("PATH file system" in objects["services"]) is collect


def symptomatic() -> dict[str, Any]:
    """Return the plan of the lab with services of symptoms."""
    lab = read_inventory(str(ROOT / "inventories" / "lab"))
    symptoms = {"kinds": ["arrays", "disks"], "hosts": {"client1": ["links"]}}
    compiled = plan_of(lab._replace(policy={**(lab.policy or {}), "symptoms": symptoms}))
    document: dict[str, Any] = json.loads(json.dumps(compiled.to_json()))
    return document


def test_the_daemon_accepts_services_of_symptoms() -> None:
    objects = make(symptomatic(), **OPTIONS)
    verified = nagios.verify(CONTACT + "".join(objects.values()))
    assert verified.returncode == 0, verified.stdout
    assert "Total Warnings: 0" in verified.stdout
    services = {
        row["service_description"]: row for row in parse_objects(objects["services"], "service")
    }
    disks = services["SYMPTOMS oss2 disks"]
    assert disks["servicegroups"] == "plumbline,plumbline-symptoms"
    assert disks["check_command"].endswith("!plumbline_symptoms_disks")
    assert (disks["host_name"], disks["freshness_threshold"]) == ("oss2", "3600")
    # an unavailable collector notifies nobody, a missing look does
    assert "notification_options" not in disks
    assert services["NODE oss2 symptoms"]["notification_options"] == "w,u,c,r"


def test_a_symptom_and_the_slow_target_of_its_host_both_notify() -> None:
    objects = make(symptomatic(), **OPTIONS)
    both = {
        ("oss2", "SYMPTOMS oss2 disks"): 1,
        ("oss2", "OST scratch-OST0002 write read"): 2,
        ("oss2", "SYMPTOMS oss2 arrays"): 3,
    }
    expected = {"SYMPTOMS oss2 disks", "OST scratch-OST0002 write read"}
    with daemon(objects) as running:
        running.submit(both)
        running.until(lambda: notified(running) >= expected, f"only {notified(running)} were told")
        assert notified(running) == expected


def notified(running: nagios.Daemon) -> set[str]:
    """Return the services with notifications."""
    return {service for service, _ in running.notifications}


TARGETS = {
    ("oss2", "OST scratch-OST0002 write read"): 2,
    ("oss2", "OST scratch-OST0003 write read"): 1,
    ("oss2", "RAW oss2-disk1 read"): 2,
    ("oss3", "RAW oss3-disk1 read"): 2,
    ("oss3", "OST scratch-OST0005 write read"): 2,
}
ON_TARGET = ("oss2", "RAW oss2-disk1 read")
"""The disk of a target that has an alarm as well."""
ALONE = {service for _, service in TARGETS.keys() - {ON_TARGET}}


@pytest.mark.parametrize(
    ("server", "expected"),
    [
        (2, {"PATH server oss2", "OST scratch-OST0005 write read", "RAW oss3-disk1 read"}),
        # UNKNOWN notifies nobody and silences nothing
        (3, ALONE),
        (None, ALONE),
    ],
)
def test_a_slow_server_notifies_once_and_not_per_target(
    lab: dict[str, str], server: Optional[int], expected: set[str]
) -> None:
    with daemon(lab) as running:
        if server is not None:
            running.submit({("oss2", "PATH server oss2"): server})
        running.submit({**TARGETS, ("lab", "PATH file system scratch"): 1})
        running.until(lambda: notified(running) >= expected, f"only {notified(running)} notified")
        assert notified(running) == expected
        # services without a notification are still shown
        assert running.checked()[ON_TARGET]["current_state"] == "2"


def test_a_disk_notifies_once_its_target_has_no_alarm(lab: dict[str, str]) -> None:
    target = ("oss2", "OST scratch-OST0002 write read")
    with daemon(lab) as running:
        running.submit({target: 2, ON_TARGET: 2})
        running.until(lambda: notified(running) >= {target[1]}, "the target did not notify")
        assert notified(running) == {target[1]}
        running.submit({target: 0})
        running.submit({ON_TARGET: 2})
        running.until(lambda: notified(running) >= {ON_TARGET[1]}, "the disk did not notify")


QUICK = {"check_interval_min": 6}
"""Check interval for a daemon whose minutes last a second."""


def answered(objects: dict[str, str], folder: Path) -> str:
    """Return the objects with checks that fail for the addresses in ``folder/dead``."""
    script = folder / "answer"
    (folder / "dead").touch()
    script.write_text(ANSWER, encoding="utf-8")
    script.chmod(0o755)
    commands = {
        "plumbline_host": f"{script} 2 $HOSTADDRESS$",
        "plumbline_nrpe": f"{script} 3 $ARG1$",
        "plumbline_agent": f"{script} 3 $ARG1$",
    }

    def line(match: re.Match[str]) -> str:
        return match[1] + commands.get(match[2], "/bin/true")

    text = "".join(objects.values())
    return CONTACT + re.sub(r"(command_name +(\S+)\n +command_line +).*", line, text)


def test_a_dead_server_notifies_once_and_its_services_do_not(tmp_path: Path) -> None:
    site = plan("lab")
    objects = answered(make(site, **QUICK), tmp_path)
    checks = (
        "execute_service_checks=1",
        "execute_host_checks=1",
        "interval_length=1",
        "cached_host_check_horizon=0",
    )
    address = next(host["address"] for host in site["hosts"] if host["name"] == "oss2")
    behind = {row["description"] for row in site["services"] if row["node"] == "oss2"}
    with nagios.configured(objects, "enable_notifications=1", *checks) as running:
        running.until(
            lambda: len(running.checked()) >= len(site["services"]), "not all was checked"
        )
        (tmp_path / "dead").write_text(f"{address}\n", encoding="utf-8")

        def unknown() -> set[str]:
            return {
                name for (_, name), row in running.checked().items() if row["current_state"] == "3"
            }

        running.until(lambda: unknown() >= behind, "its services still have results")
        running.until(lambda: "HOST NOTIFICATION: " in running.log, "no notification")
        moment = time.time() + 1

        def checked_again() -> bool:
            times = {name: int(row["last_check"]) for (_, name), row in running.checked().items()}
            return all(times[name] > moment for name in behind)

        # the next check of each would notify if the host were up
        running.until(checked_again, "not all was checked again")
        hosts = [line for line in running.log.splitlines() if "HOST NOTIFICATION: " in line]
        assert [line.split(";")[1:3] for line in hosts] == [["oss2", "DOWN"]]
        assert notified(running) == set()
