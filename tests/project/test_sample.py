"""The timer of the sampler, which runs only during the layers that need it.

Ansible itself renders the templates for a server of a plan with two schedules.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.project.playbook import playbook_output
from tests.project.repository import ROOT

pytestmark = pytest.mark.long

PLAY = """
- hosts: localhost
  gather_facts: false
  vars_files: [{role}/defaults/main.yml, {root}/roles/agent/vars/main.yml, {role}/vars/main.yml]
  tasks:
    - ansible.builtin.template:
        src: {role}/templates/plumbline-sample.service.j2
        dest: {folder}/service
        mode: "0644"
    - ansible.builtin.template:
        src: {root}/roles/timer_unit/templates/unit.timer.j2
        dest: {folder}/timer
        mode: "0644"
      loop: "{{{{ __sample_timers }}}}"
      loop_control: {{loop_var: timer_unit_timer}}
    - ansible.builtin.copy:
        content: "{{{{ __sample_calendars | to_json }}}}"
        dest: {folder}/calendars
        mode: "0644"
"""
OST = {"calendar": "*-*-* 02:06", "randomized_delay_s": 600, "limit_s": 2400}
FS = {"calendar": "Sun *-*-* 04:06", "randomized_delay_s": 300, "limit_s": 2400}
SERVED = {"served": ["scratch-OST0000"]}


@pytest.mark.parametrize(
    ("schedule", "node", "options", "expected"),
    [
        ({"ost": OST, "fs": FS}, SERVED, {}, ([FS["calendar"], OST["calendar"]], 3000)),
        ({"ost": OST, "fs": FS}, {}, {}, ([FS["calendar"]], 1500)),
        ({"ost": OST}, SERVED, {"sample_with_targets": False}, ([], 1200)),
        ({"ost": {**OST, "limit_s": 7200}}, SERVED, {}, ([OST["calendar"]], 3600)),
    ],
    ids=["both", "no targets", "not wanted", "an hour at most"],
)
def test_the_sampler_runs_while_targets_are_measured_singly_or_together(
    schedule: dict[str, Any],
    node: dict[str, Any],
    options: dict[str, Any],
    expected: tuple[list[str], int],
    tmp_path: Path,
) -> None:
    calendars, limit_s = expected
    plan = {"schedule": schedule, "nodes": {"localhost": node}}
    variables = {"agent_plan": plan, "agent_lustre_capabilities": [], **options}
    play = tmp_path / "play.yml"
    words = {"root": ROOT, "role": ROOT / "roles" / "sample", "folder": tmp_path}
    play.write_text(PLAY.format(**words), encoding="utf-8")
    playbook_output("--connection", "local", "--extra-vars", json.dumps(variables), play)
    timer = (tmp_path / "timer").read_text(encoding="utf-8").splitlines()
    assert [line for line in timer if line.startswith("OnC")] == [
        f"OnCalendar={calendar}" for calendar in calendars
    ]
    assert json.loads((tmp_path / "calendars").read_text(encoding="utf-8")) == calendars
    service = (tmp_path / "service").read_text(encoding="utf-8")
    assert f"sample --limit {limit_s}s\n" in service
    assert f"RuntimeMaxSec={limit_s + 60}\n" in service
