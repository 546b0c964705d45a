"""The role icinga writes objects that Icinga accepts, equal to those of Nagios.

Ansible itself runs the tasks on a folder of the test; the real Icinga checks the configuration.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator, NamedTuple

import pytest

from plumbline.model.verdict import State
from tests.package.cli.driver import call
from tests.package.cli.test_submit import document as document_of
from tests.package.cli.test_submit import service, verdict, write_plan
from tests.package.recorded import data
from tests.processes import may_act_for_others
from tests.project.playbook import run_play
from tests.project.test_nagios_objects import make, parse_objects, plan

PROGRAM = shutil.which("icinga2", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
SHARED = Path("/etc/icinga2")

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(PROGRAM is None, reason="Icinga 2 is not installed"),
    pytest.mark.skipif(not may_act_for_others(), reason="the files of the role are root's"),
]

# The package's own configuration, with all paths in the test's folder.
WRAPPER = """#!/bin/sh
exec {program} "$@" -D RunAsUser=root -D RunAsGroup=root -D DataDir={folder} -D CacheDir={folder} \
    -D LogDir={folder} -D InitRunDir={folder} -D SpoolDir={folder} -D NodeName=here -D ZoneName=here
"""
DAEMON = data("icinga/daemon.conf")
OPTIONS = {"console_collect": True, "nagios_report_url": "http://console/plumbline/index.html"}


def deploy(folder: Path, plan: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    """Run the tasks on the package's configuration, then again with objects that are refused."""
    shutil.copytree(SHARED, folder / "etc")
    places = {
        "__icinga_command": str(program(folder)),
        "__icinga_directory": str(folder / "etc"),
        "__icinga_group": "root",
    }
    return run_play(folder, "icinga", {"agent_plan": plan, **places, **OPTIONS})


def program(folder: Path) -> Path:
    """Write a command that runs Icinga with all its paths in a folder; return its path."""
    wrapper = folder / "icinga2"
    wrapper.write_text(WRAPPER.format(program=PROGRAM, folder=folder), encoding="utf-8")
    wrapper.chmod(0o755)
    return wrapper


def objects(text: str, kind: str) -> list[tuple[str, dict[str, str]]]:
    """Return the names of the objects of a kind, and their attributes."""
    pattern = rf'^object {kind} "([^"\n]*)" \{{\n(.*?)^\}}$'
    definitions = re.findall(pattern, text, re.MULTILINE | re.DOTALL)
    return [
        (name, dict(re.findall(r'^  ([\w.]+) = "?(.*?)"?$', body, re.MULTILINE)))
        for name, body in definitions
    ]


class Site(NamedTuple):
    """A site with a host that has a parent: its objects for Icinga and for Nagios.

    ``output`` is that of Ansible for these objects, and then for others that Icinga refuses.
    """

    folder: Path
    output: str
    icinga: str
    nagios: dict[str, str]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    folder, site_plan = tmp_path_factory.mktemp("icinga"), plan("lab")
    child, parent = (host["name"] for host in site_plan["hosts"][:2])
    site_plan["parents"] = {child: [parent]}
    output = deploy(folder, site_plan).stdout
    conf = folder / "etc/plumbline/plumbline.conf"
    assert conf.exists(), output
    nagios = make(site_plan, paths=True, report_url=OPTIONS["nagios_report_url"])
    return Site(folder, output, conf.read_text(), nagios)


def test_hosts_and_parents_equal_those_of_nagios(site: Site) -> None:
    hosts = parse_objects(site.nagios["hosts"], "host")
    icinga_hosts = {
        name: host.get("address", "127.0.0.1") for name, host in objects(site.icinga, "Host")
    }
    assert icinga_hosts == {host["host_name"]: host["address"] for host in hosts}
    parents = [
        (dependency["child_host_name"], dependency["parent_host_name"])
        for name, dependency in objects(site.icinga, "Dependency")
        if name.startswith("plumbline parent ")
    ]
    assert parents == [(host["host_name"], host["parents"]) for host in hosts if "parents" in host]
    assert parents


def test_services_have_the_commands_and_links_of_nagios(site: Site) -> None:
    commands = {}
    for name, row in objects(site.icinga, "Service"):
        keys = ("vars.nrpe_address", "vars.nrpe_command", "vars.plumbline_path")
        words = [row[key] for key in keys if key in row]
        commands[row["host_name"], name] = words, row.get("action_url")
    assert commands == {
        (row["host_name"], row["service_description"]): (
            row["check_command"].split("!")[1:],
            row.get("action_url"),
        )
        for row in parse_objects(site.nagios["services"], "service")
    }
    assert any("PATH " in name for _, name in commands)


def test_dependencies_equal_those_of_nagios_and_stop_no_check(site: Site) -> None:
    healthy = {"w,u,c": "[ OK ]", "w,c": "[ OK, Unknown ]"}
    all_dependencies = [row for _, row in objects(site.icinga, "Dependency")]
    dependencies = [row for row in all_dependencies if "child_service_name" in row]
    keys = ("parent_host_name", "parent_service_name", "child_host_name", "child_service_name")
    assert {(*(row[key] for key in keys), row["states"]) for row in dependencies} == {
        (
            row["host_name"],
            row["service_description"],
            row["dependent_host_name"],
            row["dependent_service_description"],
            healthy[row["notification_failure_criteria"]],
        )
        for row in parse_objects(site.nagios["dependencies"], "servicedependency")
    }
    assert {row["disable_checks"] for row in dependencies} == {"false"}


def test_a_configuration_that_icinga_refuses_is_not_installed(site: Site) -> None:
    assert "Icinga refuses the new configuration, and goes on with the old one" in site.output
    assert re.search(r"Error: .*nowhere", site.output), site.output
    made = (site.folder / "etc/plumbline.new/plumbline.conf").read_text(encoding="utf-8")
    assert made == site.icinga.replace("mail-service-notification", "nowhere")
    assert made != site.icinga
    # a second run does not include the objects twice
    main = (site.folder / "etc/icinga2.conf").read_text(encoding="utf-8")
    assert main.splitlines().count('include "plumbline/plumbline.conf"') == 1


@contextmanager
def daemon(folder: Path) -> Iterator[Path]:
    """Run an Icinga without checks; yield its command pipe."""
    pipe = folder / "icinga2.cmd"
    (folder / "icinga2.conf").write_text(DAEMON.format(folder=folder), encoding="utf-8")
    with (folder / "out").open("wb") as out:
        process = subprocess.Popen(
            [str(program(folder)), "daemon", "-c", str(folder / "icinga2.conf")],
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        end = time.monotonic() + 300
        while not pipe.is_fifo():
            assert process.poll() is None, (folder / "out").read_text()
            assert time.monotonic() < end, (folder / "out").read_text()
            time.sleep(0.1)
        yield pipe
    finally:
        process.terminate()
        try:
            process.wait(60)
        finally:
            process.kill()
            process.wait()


def test_icinga_accepts_results_like_nagios(tmp_path: Path) -> None:
    plan_path = write_plan(tmp_path, [service("oss2", "OST1", description="OST OST1")])
    (tmp_path / "verdicts.json").write_text(document_of(verdict("OST1", state=State.CRITICAL)))
    with daemon(tmp_path) as pipe:
        arguments = [str(tmp_path / "verdicts.json"), "--plan", plan_path, "--pipe", str(pipe)]
        assert call("submit", *arguments, "--wait", "60") == 0
    # Icinga writes its state when it ends
    kept = (tmp_path / "icinga2.state").read_text(encoding="utf-8", errors="replace")
    assert '"output":"OST CRITICAL - fine"' in kept
    assert list(tmp_path.glob("plumbline-batch-*")) == []
