"""The units of a host: the present services and timers of its role, and no earlier ones.

Ansible runs the internal role for a role of the test in check mode, so this machine keeps its
units; a fake systemctl records its calls.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

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


def configure(folder: Path, given: dict[str, Any]) -> tuple[str, set[str]]:
    """Return the output of Ansible, and the units that systemctl was asked about."""
    (folder / "systemctl").write_text(SYSTEMCTL.format(folder=folder), encoding="utf-8")
    (folder / "systemctl").chmod(0o755)
    output = play_output(
        folder,
        "timer_unit",
        given,
        *("--check", "--diff"),
        env={"PATH": f"{folder}:{os.environ['PATH']}"},
    )
    calls = folder / "calls"
    lines = calls.read_text(encoding="utf-8").splitlines() if calls.exists() else []
    return output, {
        unit for line in lines if line.startswith("list-units") for unit in line.split()[4:]
    }


def test_current_units_are_written_and_earlier_ones_removed(tmp_path: Path) -> None:
    given = {"timer_unit_files": FILES, "timer_unit_additions": ADDITIONS, **FIRST}
    output, removed = configure(tmp_path, given)
    assert removed == set(FILES[2:])
    for line in ("+ExecStart=/bin/true all", "+OnCalendar=hourly", "+RandomizedDelaySec=5"):
        assert f"{line}\n" in output
    assert "+Persistent=true" not in output
    assert f"(item={ADDITIONS[0]})" in output
    assert f"(item={ADDITIONS[1]})" not in output


def test_a_host_without_services_keeps_no_unit(tmp_path: Path) -> None:
    output, removed = configure(
        tmp_path, {"timer_unit_files": FILES, "timer_unit_additions": ADDITIONS}
    )
    assert removed == set(FILES)
    assert "+[Service]" not in output


def test_systemd_is_not_queried_if_all_units_are_wanted(tmp_path: Path) -> None:
    _, removed = configure(tmp_path, {"timer_unit_files": FILES[:2], **FIRST})
    assert removed == set()
