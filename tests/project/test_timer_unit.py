"""The units of a host: the present services and timers of its role, and no earlier ones.

Ansible runs the internal role for a role of the test in check mode, so this machine keeps its
units; a fake systemctl records its calls.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from tests.project.playbook import play_output

pytestmark = pytest.mark.long

SYSTEMCTL = '#!/bin/sh\necho "$*" >> {folder}/calls\n'
FILES = [f"plumbline-pretended{end}" for end in (".timer", ".service", "-2.timer", "-2.service")]
FIRST = {
    "timer_unit_services": [{"name": FILES[1], "template": "x.service.j2", "arguments": "all"}],
    "timer_unit_timers": [
        {"name": FILES[0], "description": "a test", "calendars": ["hourly"], "delay_s": 5}
    ],
}
ADDITIONS = [f"{FILES[1]}.d/more.conf", f"{FILES[3]}.d/more.conf"]


HOSTS: dict[str, dict[str, Any]] = {
    "current": {"timer_unit_files": FILES, "timer_unit_additions": ADDITIONS, **FIRST},
    "without_services": {"timer_unit_files": FILES, "timer_unit_additions": ADDITIONS},
    "all_wanted": {"timer_unit_files": FILES[:2], **FIRST},
}


class Configured(NamedTuple):
    """Output of Ansible, and by host the units that systemctl was asked about."""

    output: str
    removed: dict[str, set[str]]


@pytest.fixture(scope="module")
def configured(tmp_path_factory: pytest.TempPathFactory) -> Configured:
    folder = tmp_path_factory.mktemp("units")
    for host in HOSTS:
        program = folder / host / "systemctl"
        program.parent.mkdir()
        program.write_text(SYSTEMCTL.format(folder=program.parent), encoding="utf-8")
        program.chmod(0o755)
    output = play_output(folder, "timer_unit", {}, "--check", "--diff", hosts=HOSTS)
    removed = {}
    for host in HOSTS:
        calls = folder / host / "calls"
        lines = calls.read_text(encoding="utf-8").splitlines() if calls.exists() else []
        asked = [line.split()[4:] for line in lines if line.startswith("list-units")]
        removed[host] = {unit for units in asked for unit in units}
    return Configured(output, removed)


def test_current_units_are_written_and_earlier_ones_removed(configured: Configured) -> None:
    assert configured.removed["current"] == set(FILES[2:])
    for line in ("+ExecStart=/bin/true all", "+OnCalendar=hourly", "+RandomizedDelaySec=5"):
        # of the two hosts with services
        assert configured.output.count(f"{line}\n") == 2
    assert "+Persistent=true" not in configured.output
    assert f"[current] => (item={ADDITIONS[0]})" in configured.output
    assert f"[current] => (item={ADDITIONS[1]})" not in configured.output


def test_a_host_without_services_keeps_no_unit(configured: Configured) -> None:
    assert configured.removed["without_services"] == set(FILES)
    # the services of the two others, and the addition to one of them
    assert configured.output.count("+[Service]") == 3


def test_systemd_is_not_queried_if_all_units_are_wanted(configured: Configured) -> None:
    assert configured.removed["all_wanted"] == set()
