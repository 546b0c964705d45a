"""The role ``counters`` does not change an exporter of the site, but reports one without metrics.

Ansible runs the role's own tasks on this machine, with a fake systemctl and sockets as exporters.
"""

from __future__ import annotations

import re
import socket
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.project.playbook import play_output
from tests.project.repository import ROOT

pytestmark = pytest.mark.long

SYSTEMCTL = "#!/bin/sh\necho ActiveState={0}\necho UnitFileState={1}\n"
SERVICE = "prometheus-node-exporter.service"
CLOSED = (
    "WARNING: no node exporter answers on 127.0.0.1 port {port} of {host}, "
    "so no metric arrives: {remedy}, or set counters_port to the port of the site's exporter."
)
DISABLED = (
    f"WARNING: {SERVICE} of {{host}} runs but is disabled, so no metric arrives after "
    f"the next boot: run systemctl enable {SERVICE}."
)
CASES = {
    "off": ("inactive", "disabled", False, f"run systemctl enable --now {SERVICE}"),
    "not_installed": ("inactive", "", False, "start the exporter of the site"),
    "elsewhere": ("active", "enabled", False, f"let {SERVICE}, which runs, listen there"),
    "runs": ("active", "enabled", True, ""),
    "another_unit_of_the_site": ("inactive", "disabled", True, ""),
    "disabled": ("active", "disabled", True, DISABLED),
}
"""State and enablement of the unit, whether an exporter answers, and the remedy or warning."""


@pytest.mark.parametrize(
    ("options", "cases"),
    [([], [*CASES]), (["--check"], ["off", "runs"])],
    ids=["run", "check mode"],
)
def test_an_exporter_without_metrics_is_reported_with_its_remedy(
    tmp_path: Path, options: list[str], cases: list[str]
) -> None:
    hosts, expected = {}, []
    with ExitStack() as stack:
        for host in cases:
            state, enabled, answers, text = CASES[host]
            exporter = stack.enter_context(socket.socket())
            exporter.bind(("127.0.0.1", 0))
            if answers:
                exporter.listen()
            port = exporter.getsockname()[1]
            hosts[host] = {"port": port}
            (tmp_path / host).mkdir()
            (tmp_path / host / "systemctl").write_text(SYSTEMCTL.format(state, enabled))
            (tmp_path / host / "systemctl").chmod(0o755)
            if text:
                warning = text if answers else CLOSED
                expected.append(warning.format(host=host, port=port, remedy=text))
        environment = {"ANSIBLE_CALLBACK_RESULT_FORMAT": "json"}
        output = play_output(tmp_path, "site_exporter", {}, *options, hosts=hosts, env=environment)
    assert sorted(re.findall(r'"msg": "(.*)"$', output, re.MULTILINE)) == sorted(expected)
    assert output.count("changed=0") == len(cases)


def test_the_role_checks_an_exporter_that_is_not_its_own() -> None:
    enable = (ROOT / "roles/counters/tasks/enable.yml").read_text(encoding="utf-8")
    assert "site_exporter.yml\n  when: not __counters_own | bool\n" in enable
