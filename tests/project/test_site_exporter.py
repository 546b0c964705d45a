"""The role ``counters`` does not change an exporter of the site, but reports one without metrics.

Ansible runs the role's own tasks on this machine, with a fake systemctl and a socket as exporter.
"""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path
from typing import Iterator

import pytest

from tests.project.playbook import play_output
from tests.project.repository import ROOT

pytestmark = pytest.mark.long

PLAY = """
- hosts: localhost
  gather_facts: false
  vars_files:
    - {root}/roles/counters/defaults/main.yml
    - {root}/roles/counters/vars/main.yml
    - {root}/roles/counters/vars/Debian.yml
  tasks:
    - ansible.builtin.include_tasks: {root}/roles/counters/tasks/site_exporter.yml
      vars:
        __counters_address: 127.0.0.1
        counters_port: {port}
"""
SYSTEMCTL = "#!/bin/sh\necho ActiveState={0}\necho UnitFileState={1}\n"
SERVICE = "prometheus-node-exporter.service"
CLOSED = (
    "WARNING: no node exporter answers on 127.0.0.1 port {port} of localhost, "
    "so no metric arrives: "
)
OR_PORT = ", or set counters_port to the port of the site's exporter."


@pytest.fixture
def exporter() -> Iterator[socket.socket]:
    """Yield a socket with a port of its own that does not listen yet."""
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        yield own


def warnings(folder: Path, port: int, service: tuple[str, str], *options: str) -> list[str]:
    """Return the warnings of a run that changed nothing."""
    (folder / "systemctl").write_text(SYSTEMCTL.format(*service), encoding="utf-8")
    (folder / "systemctl").chmod(0o755)
    output = play_output(
        folder,
        PLAY.format(root=ROOT, port=port),
        {},
        *("-c", "local", *options),
        env={
            "ANSIBLE_CALLBACK_RESULT_FORMAT": "json",
            "PATH": f"{folder}:{os.environ['PATH']}",
        },
    )
    assert "changed=0" in output
    return re.findall(r'"msg": "(.*)"$', output, re.MULTILINE)


@pytest.mark.parametrize(
    ("service", "remedy", "options"),
    [
        (("inactive", "disabled"), f"run systemctl enable --now {SERVICE}", ["--check"]),
        (("inactive", ""), "start the exporter of the site", []),
        (("active", "enabled"), f"let {SERVICE}, which runs, listen there", []),
    ],
    ids=["off", "not installed", "elsewhere"],
)
def test_a_closed_port_is_reported_with_its_remedy(
    tmp_path: Path,
    exporter: socket.socket,
    service: tuple[str, str],
    remedy: str,
    options: list[str],
) -> None:
    port = exporter.getsockname()[1]
    shown = warnings(tmp_path, port, service, *options)
    assert shown == [CLOSED.format(port=port) + remedy + OR_PORT]


@pytest.mark.parametrize(
    ("service", "expected"),
    [
        (("active", "enabled"), []),
        # another unit of the site runs its exporter
        (("inactive", "disabled"), []),
        (
            ("active", "disabled"),
            [
                f"WARNING: {SERVICE} of localhost runs but is disabled, so no metric arrives after "
                f"the next boot: run systemctl enable {SERVICE}."
            ],
        ),
    ],
    ids=["runs", "another unit", "disabled"],
)
def test_an_answering_exporter_is_reported_only_if_it_is_disabled(
    tmp_path: Path, exporter: socket.socket, service: tuple[str, str], expected: list[str]
) -> None:
    exporter.listen()
    assert warnings(tmp_path, exporter.getsockname()[1], service) == expected


def test_the_role_checks_an_exporter_that_is_not_its_own() -> None:
    enable = (ROOT / "roles/counters/tasks/enable.yml").read_text(encoding="utf-8")
    assert "site_exporter.yml\n  when: not __counters_own | bool\n" in enable
