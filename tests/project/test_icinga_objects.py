"""The role icinga makes objects that Icinga takes, the same as those of Nagios.

The tasks are run by Ansible itself on a folder of the test's own; Icinga is the real one and checks
the configuration that it would load.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator, NamedTuple

import pytest

from plumbline.model.verdict import State
from tests.package.cli.driver import call
from tests.package.cli.test_submit import document as document_of
from tests.package.cli.test_submit import service, verdict, write_plan
from tests.project.repository import ROOT
from tests.project.test_nagios_objects import make, of, plan

PROGRAM = shutil.which("icinga2", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
SHARED = Path("/etc/icinga2")

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(PROGRAM is None, reason="Icinga 2 is not installed"),
    pytest.mark.skipif(os.geteuid() != 0, reason="the files of the role are root's"),
]

PLAY = """
- hosts: localhost
  connection: local
  gather_facts: false
  vars_files:
    - {root}/roles/agent/vars/main.yml
    - {root}/roles/nrpe/defaults/main.yml
    - {root}/roles/nagios/defaults/main.yml
    - {root}/roles/nagios/vars/main.yml
    - {root}/roles/icinga/defaults/main.yml
    - {root}/roles/icinga/vars/main.yml
  handlers:
    - name: Reload Icinga
      ansible.builtin.debug:
        msg: reloaded
  tasks:
    - ansible.builtin.import_tasks: {root}/roles/icinga/tasks/objects.yml
    - ansible.builtin.import_tasks: {root}/roles/icinga/tasks/objects.yml
      vars:
        icinga_service_notification: nowhere
"""
# What the package has in its own configuration, with all places in the test's folder.
WRAPPER = """#!/bin/sh
exec {program} "$@" -D RunAsUser=root -D RunAsGroup=root -D DataDir={folder} -D CacheDir={folder} \
    -D LogDir={folder} -D InitRunDir={folder} -D SpoolDir={folder} -D NodeName=here -D ZoneName=here
"""
DAEMON = """
include <itl>
object Endpoint NodeName {{ host = NodeName }}
object Zone ZoneName {{ endpoints = [ NodeName ] }}
object ExternalCommandListener "command" {{ command_path = "{folder}/icinga2.cmd" }}
object Host "oss2" {{
  check_command = "dummy"
  enable_active_checks = false
}}
object Service "OST OST1" {{
  host_name = "oss2"
  check_command = "dummy"
  enable_active_checks = false
}}
"""
EVERY = {"console_collect": True, "nagios_report_url": "http://console/plumbline/index.html"}


def deploy(folder: Path, said: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    """Run the tasks on the configuration that comes with the package, then with what is refused."""
    shutil.copytree(SHARED, folder / "etc")
    play, given = folder / "play.yml", folder / "given.json"
    play.write_text(PLAY.format(root=ROOT), encoding="utf-8")
    places = {
        "ansible_python_interpreter": sys.executable,
        "__icinga_command": str(program(folder)),
        "__icinga_directory": str(folder / "etc"),
        "__icinga_group": "root",
    }
    given.write_text(json.dumps({"agent_plan": said, **places, **EVERY}), encoding="utf-8")
    command = [str(Path(sys.executable).with_name("ansible-playbook")), "-i", "localhost,"]
    return subprocess.run(
        [*command, "-e", f"@{given}", str(play)],
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=False,
    )


def program(folder: Path) -> Path:
    """Write the command that is Icinga with all its places in a folder; return where it is."""
    wrapper = folder / "icinga2"
    wrapper.write_text(WRAPPER.format(program=PROGRAM, folder=folder), encoding="utf-8")
    wrapper.chmod(0o755)
    return wrapper


def objects(text: str, kind: str) -> list[tuple[str, dict[str, str]]]:
    """Return the names of the objects of a kind, and what each sets."""
    pattern = rf'^object {kind} "([^"\n]*)" \{{\n(.*?)^\}}$'
    found = re.findall(pattern, text, re.MULTILINE | re.DOTALL)
    return [
        (name, dict(re.findall(r'^  ([\w.]+) = "?(.*?)"?$', body, re.MULTILINE)))
        for name, body in found
    ]


class Site(NamedTuple):
    """A site of which one host has a parent: the objects for Icinga, and those for Nagios.

    ``said`` is what Ansible said when it made them, and then others that Icinga refuses.
    """

    folder: Path
    said: str
    icinga: str
    nagios: dict[str, str]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    folder, wanted = tmp_path_factory.mktemp("icinga"), plan("lab")
    child, parent = (host["name"] for host in wanted["hosts"][:2])
    wanted["parents"] = {child: [parent]}
    said = deploy(folder, wanted).stdout
    conf = folder / "etc/plumbline/plumbline.conf"
    assert conf.exists(), said
    nagios = make(wanted, paths=True, report_url=EVERY["nagios_report_url"])
    return Site(folder, said, conf.read_text(), nagios)


def test_hosts_and_their_parents_are_those_of_nagios(site: Site) -> None:
    found = of(site.nagios["hosts"], "host")
    here = {name: one.get("address", "127.0.0.1") for name, one in objects(site.icinga, "Host")}
    assert here == {one["host_name"]: one["address"] for one in found}
    parents = [
        (one["child_host_name"], one["parent_host_name"])
        for name, one in objects(site.icinga, "Dependency")
        if name.startswith("plumbline parent ")
    ]
    assert parents == [(one["host_name"], one["parents"]) for one in found if "parents" in one]
    assert parents


def test_services_ask_and_lead_to_what_those_of_nagios_do(site: Site) -> None:
    asked = {}
    for name, one in objects(site.icinga, "Service"):
        keys = ("vars.nrpe_address", "vars.nrpe_command", "vars.plumbline_path")
        words = [one[key] for key in keys if key in one]
        asked[one["host_name"], name] = words, one.get("action_url")
    assert asked == {
        (one["host_name"], one["service_description"]): (
            one["check_command"].split("!")[1:],
            one.get("action_url"),
        )
        for one in of(site.nagios["services"], "service")
    }
    assert any("PATH " in name for _, name in asked)


def test_dependencies_are_those_of_nagios_and_stop_no_check(site: Site) -> None:
    healthy = {"w,u,c": "[ OK ]", "w,c": "[ OK, Unknown ]"}
    every = [one for _, one in objects(site.icinga, "Dependency") if "child_service_name" in one]
    keys = ("parent_host_name", "parent_service_name", "child_host_name", "child_service_name")
    assert {(*(one[key] for key in keys), one["states"]) for one in every} == {
        (
            one["host_name"],
            one["service_description"],
            one["dependent_host_name"],
            one["dependent_service_description"],
            healthy[one["notification_failure_criteria"]],
        )
        for one in of(site.nagios["dependencies"], "servicedependency")
    }
    assert {one["disable_checks"] for one in every} == {"false"}


def test_what_icinga_refuses_never_reaches_it(site: Site) -> None:
    assert "Icinga refuses the new configuration, and goes on with the old one" in site.said
    assert re.search(r"Error: .*nowhere", site.said), site.said
    made = (site.folder / "etc/plumbline.new/plumbline.conf").read_text(encoding="utf-8")
    assert made == site.icinga.replace("mail-service-notification", "nowhere")
    assert made != site.icinga
    # a second run has not named the objects twice
    main = (site.folder / "etc/icinga2.conf").read_text(encoding="utf-8")
    assert main.splitlines().count('include "plumbline/plumbline.conf"') == 1


@contextmanager
def daemon(folder: Path) -> Iterator[Path]:
    """Run an Icinga of the test's own, which checks nothing; give the pipe of its commands."""
    pipe = folder / "icinga2.cmd"
    (folder / "icinga2.conf").write_text(DAEMON.format(folder=folder), encoding="utf-8")
    with (folder / "out").open("wb") as out:
        process = subprocess.Popen(
            [str(program(folder)), "daemon", "-c", str(folder / "icinga2.conf")],
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        end = time.monotonic() + 60
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


def test_icinga_takes_the_results_of_a_site_as_nagios_does(tmp_path: Path) -> None:
    plan_path = write_plan(tmp_path, [service("oss2", "OST1", description="OST OST1")])
    (tmp_path / "verdicts.json").write_text(document_of(verdict("OST1", state=State.CRITICAL)))
    with daemon(tmp_path) as pipe:
        arguments = [str(tmp_path / "verdicts.json"), "--plan", plan_path, "--pipe", str(pipe)]
        assert call("submit", *arguments, "--wait", "60") == 0
    # it writes down at its end what it knows
    kept = (tmp_path / "icinga2.state").read_text(encoding="utf-8", errors="replace")
    assert '"output":"OST CRITICAL - fine"' in kept
    assert list(tmp_path.glob("plumbline-batch-*")) == []
