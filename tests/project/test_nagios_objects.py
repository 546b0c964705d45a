"""The objects for Nagios are those that the daemon takes, and one cause notifies once.

They are made from the plan of an inventory; the daemon is the real one, of the test's own.
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
from tests.project.repository import ROOT

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(nagios.PROGRAM is None, reason="Nagios is not installed"),
]

KINDS = ("templates", "commands", "groups", "hosts", "services", "dependencies")
CONTACT = """
define command {
    command_name nothing
    command_line /bin/true
}
define timeperiod {
    timeperiod_name 24x7
    alias           always
    monday          00:00-24:00
    tuesday         00:00-24:00
    wednesday       00:00-24:00
    thursday        00:00-24:00
    friday          00:00-24:00
    saturday        00:00-24:00
    sunday          00:00-24:00
}
define contact {
    contact_name                  ada
    contactgroups                 admins
    host_notification_commands    nothing
    service_notification_commands nothing
    host_notification_period      24x7
    service_notification_period   24x7
    host_notification_options     d,r
    service_notification_options  w,u,c,r
}
define contactgroup {
    contactgroup_name admins
    alias             admins
}
"""
EVERY = {"paths": True, "notification_delay_min": 0}


def plan(inventory: str) -> dict[str, Any]:
    """Return the plan as the roles have it."""
    found = plan_of(read_inventory(str(ROOT / "inventories" / inventory)))
    said: dict[str, Any] = json.loads(json.dumps(found.to_json()))
    return said


def make(said: dict[str, Any], **options: Any) -> dict[str, str]:
    """Return the objects of a plan by kind."""
    with_defaults = read_options(options)
    files = nagios_objects(monitored(said, with_defaults), with_defaults)
    return {name.partition(".")[0]: text for name, text in files.items()}


def of(text: str, kind: str) -> list[dict[str, str]]:
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
    """Run a daemon with the objects, which tells and does not check."""
    with nagios.configured(CONTACT + "".join(objects.values()), "enable_notifications=1") as found:
        yield found


@pytest.fixture(scope="module")
def lab() -> dict[str, str]:
    return make(plan("lab"), **EVERY)


@pytest.mark.parametrize(("inventory", "collect"), [("lab", False), ("edison", True)])
def test_the_daemon_takes_the_objects_of_a_site(inventory: str, collect: bool) -> None:
    said = plan(inventory)
    child, parent = (host["name"] for host in said["hosts"][:2])
    said["parents"] = {child: [parent]}
    objects = make(said, **{**EVERY, "paths": collect})
    hosts = {one["host_name"]: one for one in of(objects["hosts"], "host")}
    assert [one.get("parents") for one in hosts.values()].count(parent) == 1
    assert hosts[child]["parents"] == parent
    verified = nagios.verify(CONTACT + "".join(objects.values()))
    assert verified.returncode == 0, verified.stdout
    assert "Total Errors:   0" in verified.stdout
    assert "Total Warnings: 0" in verified.stdout
    assert ("PATH file system" in objects["services"]) is collect


def symptomatic() -> dict[str, Any]:
    """Return the plan of the lab with services of symptoms."""
    made = read_inventory(str(ROOT / "inventories" / "lab"))
    asked = {"kinds": ["arrays", "disks"], "hosts": {"client1": ["links"]}}
    found = plan_of(made._replace(policy={**(made.policy or {}), "symptoms": asked}))
    said: dict[str, Any] = json.loads(json.dumps(found.to_json()))
    return said


def test_the_daemon_takes_services_of_symptoms() -> None:
    objects = make(symptomatic(), **EVERY)
    verified = nagios.verify(CONTACT + "".join(objects.values()))
    assert verified.returncode == 0, verified.stdout
    assert "Total Warnings: 0" in verified.stdout
    found = {one["service_description"]: one for one in of(objects["services"], "service")}
    disks = found["SYMPTOMS oss2 disks"]
    assert disks["servicegroups"] == "plumbline,plumbline-symptoms"
    assert disks["check_command"].endswith("!plumbline_symptoms_disks")
    assert (disks["host_name"], disks["freshness_threshold"]) == ("oss2", "3600")
    # what could not be looked at notifies nobody; that nobody looks does
    assert "notification_options" not in disks
    assert found["NODE oss2 symptoms"]["notification_options"] == "w,u,c,r"


def test_a_symptom_and_the_slow_target_of_its_host_both_notify() -> None:
    objects = make(symptomatic(), **EVERY)
    both = {
        ("oss2", "SYMPTOMS oss2 disks"): 1,
        ("oss2", "OST scratch-OST0002 write read"): 2,
        ("oss2", "SYMPTOMS oss2 arrays"): 3,
    }
    expected = {"SYMPTOMS oss2 disks", "OST scratch-OST0002 write read"}
    with daemon(objects) as found:
        submit(found, both)
        found.until(lambda: told(found) >= expected, f"only {told(found)} were told")
        assert told(found) == expected


def test_all_that_crosses_a_server_depends_on_its_service(lab: dict[str, str]) -> None:
    every = of(lab["dependencies"], "servicedependency")
    behind = [
        one["dependent_service_description"]
        for one in every
        if one["service_description"] == "PATH server oss2"
    ]
    assert behind == [
        "OST scratch-OST0002 write read",
        "OST scratch-OST0003 write read",
        "RAW oss2-disk1 read",
        "RAW oss2-disk2 read",
        "NET oss2 send receive",
        "RAW group oss2",
    ]
    # what is not known silences nothing, and nothing stops being checked
    of_paths = [one for one in every if one["service_description"].startswith("PATH ")]
    assert {one["notification_failure_criteria"] for one in of_paths} == {"w,c"}
    assert {one["execution_failure_criteria"] for one in every} == {"n"}


def test_the_disk_of_a_target_depends_on_it(lab: dict[str, str]) -> None:
    found = {
        one["dependent_service_description"]: one["service_description"]
        for one in of(lab["dependencies"], "servicedependency")
        if one["service_description"].startswith("OST ")
    }
    assert found["RAW oss2-disk1 read"] == "OST scratch-OST0002 write read"
    groups = {name: bearer for name, bearer in found.items() if " group " in name}
    assert groups == {f"RAW group oss{number}": "OST group scratch" for number in (1, 2, 3)}
    assert len(found) == 6 + len(groups)


def test_the_check_is_asked_by_kind_and_name(lab: dict[str, str]) -> None:
    found = {one["service_description"]: one for one in of(lab["services"], "service")}
    assert found["PATH switch switch1"]["check_command"] == "plumbline_path!switch switch1"
    assert found["PATH switch switch1"]["host_name"] == "lab"
    assert found["PATH file system scratch"]["notification_options"] == "c,r"
    command = next(
        one for one in of(lab["commands"], "command") if one["command_name"] == "plumbline_path"
    )
    assert command["command_line"] == (
        '/usr/bin/python3 -I /usr/lib/plumbline/checks/check_path -v --service "$ARG1$"'
    )


def submit(found: nagios.Daemon, states: dict[tuple[str, str], int]) -> None:
    """Give the daemon a result of each service, and wait until it has them."""
    now = int(time.time())
    lines = [
        f"[{now}] PROCESS_SERVICE_CHECK_RESULT;{host};{service};{state};x\n"
        for (host, service), state in states.items()
    ]
    with found.pipe.open("w") as pipe:
        pipe.writelines(lines)
    found.until(lambda: found.checked().keys() >= states.keys(), "no results")


def told(found: nagios.Daemon) -> set[str]:
    """Return the services whose problems someone was told of."""
    lines = found.log.splitlines()
    return {line.split(";")[2] for line in lines if "SERVICE NOTIFICATION: " in line}


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
        # that nothing is known of it notifies nobody, and silences nothing
        (3, ALONE),
        (None, ALONE),
    ],
)
def test_a_slow_server_is_told_once_and_not_for_each_of_its_targets(
    lab: dict[str, str], server: Optional[int], expected: set[str]
) -> None:
    with daemon(lab) as found:
        if server is not None:
            submit(found, {("oss2", "PATH server oss2"): server})
        submit(found, {**TARGETS, ("lab", "PATH file system scratch"): 1})
        found.until(lambda: told(found) >= expected, f"only {told(found)} were told")
        assert told(found) == expected
        # what is not told is shown all the same
        assert found.checked()[ON_TARGET]["current_state"] == "2"


def test_a_disk_is_told_once_its_target_has_no_alarm(lab: dict[str, str]) -> None:
    target = ("oss2", "OST scratch-OST0002 write read")
    with daemon(lab) as found:
        submit(found, {target: 2, ON_TARGET: 2})
        found.until(lambda: told(found) >= {target[1]}, "the target was not told")
        assert told(found) == {target[1]}
        submit(found, {target: 0})
        submit(found, {ON_TARGET: 2})
        found.until(lambda: told(found) >= {ON_TARGET[1]}, "the disk was not told")


ANSWER = """#!/bin/sh
# ANSWER EXIT_CODE ADDRESS: says how a host is; those in the file let it wait and get the exit code
grep -qxF "$2" {dead} || {{ echo fine; exit 0; }}
sleep 0.5
echo no answer
exit "$1"
"""
QUICK = {"check_interval_min": 6}
"""With minutes that last a second, and nothing that would tell of services later."""


def answered(objects: dict[str, str], folder: Path) -> str:
    """Return the objects with checks that know of ``folder/dead`` which addresses do not answer."""
    script, dead = folder / "answer", folder / "dead"
    dead.touch()
    script.write_text(ANSWER.format(dead=dead), encoding="utf-8")
    script.chmod(0o755)
    called = {
        "plumbline_host": f"{script} 2 $HOSTADDRESS$",
        "plumbline_nrpe": f"{script} 3 $ARG1$",
        "plumbline_agent": f"{script} 3 $ARG1$",
    }

    def line(found: re.Match[str]) -> str:
        return found[1] + called.get(found[2], "/bin/true")

    text = "".join(objects.values())
    return CONTACT + re.sub(r"(command_name +(\S+)\n +command_line +).*", line, text)


def test_a_dead_server_is_told_once_and_none_of_its_services(tmp_path: Path) -> None:
    said = plan("lab")
    objects = answered(make(said, **QUICK), tmp_path)
    checks = (
        "execute_service_checks=1",
        "execute_host_checks=1",
        "interval_length=1",
        "cached_host_check_horizon=0",
    )
    address = next(one["address"] for one in said["hosts"] if one["name"] == "oss2")
    behind = {one["description"] for one in said["services"] if one["node"] == "oss2"}
    with nagios.configured(objects, "enable_notifications=1", *checks) as found:
        found.until(lambda: len(found.checked()) >= len(said["services"]), "not all was checked")
        (tmp_path / "dead").write_text(f"{address}\n", encoding="utf-8")

        def unknown() -> set[str]:
            return {
                name for (_, name), one in found.checked().items() if one["current_state"] == "3"
            }

        found.until(lambda: unknown() >= behind, "its services still have results")
        found.until(lambda: "HOST NOTIFICATION: " in found.log, "nobody was told")
        known = time.time() + 1

        def asked_again() -> bool:
            every = {name: int(one["last_check"]) for (_, name), one in found.checked().items()}
            return all(every[name] > known for name in behind)

        # the next check of each would tell, were it not for the host
        found.until(asked_again, "not all was checked again")
        hosts = [line for line in found.log.splitlines() if "HOST NOTIFICATION: " in line]
        assert [line.split(";")[1:3] for line in hosts] == [["oss2", "DOWN"]]
        assert told(found) == set()
