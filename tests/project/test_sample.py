"""The timer of the sampler, which runs only during the layers that need it.

Ansible itself renders the templates for servers of plans with two schedules.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.project.playbook import play_output

pytestmark = pytest.mark.long

OST = {"calendar": "*-*-* 02:06", "randomized_delay_s": 600, "limit_s": 2400}
FS = {"calendar": "Sun *-*-* 04:06", "randomized_delay_s": 300, "limit_s": 2400}
SERVED = {"served": ["scratch-OST0000"]}
MDT = {"calendar": "*-*-* 01:06", "randomized_delay_s": 0, "limit_s": 1800}
CASES: dict[str, Any] = {
    "both": ({"ost": OST, "fs": FS}, SERVED, True, [FS["calendar"], OST["calendar"]], 3000),
    "no_targets": ({"ost": OST, "fs": FS}, {}, True, [FS["calendar"]], 1500),
    "not_wanted": ({"ost": OST}, SERVED, False, [], 1200),
    "metadata": (
        {"ost": OST, "mdt": MDT},
        {"served": ["scratch-MDT0000"]},
        True,
        [MDT["calendar"]],
        1800,
    ),
    "an_hour_at_most": ({"ost": {**OST, "limit_s": 7200}}, SERVED, True, [OST["calendar"]], 3600),
}
"""Schedule, node, whether it samples with targets, and the expected calendars and limit."""


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Render the units for a host of each case."""
    folder = tmp_path_factory.mktemp("units")
    hosts = {
        name: {
            "agent_plan": {"schedule": schedule, "nodes": {name: node}},
            "with_targets": with_targets,
        }
        for name, (schedule, node, with_targets, *_) in CASES.items()
    }
    variables = {"agent_lustre_capabilities": [], "sample_with_targets": "{{ with_targets }}"}
    play_output(folder, "sample", variables, hosts=hosts)
    return folder


@pytest.mark.parametrize("name", CASES)
def test_the_sampler_runs_while_targets_are_measured_singly_or_together(
    rendered: Path, name: str
) -> None:
    *_, calendars, limit_s = CASES[name]
    timer = (rendered / f"{name}.timer").read_text(encoding="utf-8").splitlines()
    assert [line for line in timer if line.startswith("OnC")] == [
        f"OnCalendar={calendar}" for calendar in calendars
    ]
    assert json.loads((rendered / f"{name}.calendars").read_text(encoding="utf-8")) == calendars
    service = (rendered / f"{name}.service").read_text(encoding="utf-8")
    assert f"sample --limit {limit_s}s\n" in service
    assert f"RuntimeMaxSec={limit_s + 60}\n" in service
