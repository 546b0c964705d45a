"""Units of nodes rendered from the roles."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from jinja2.nativetypes import NativeEnvironment

from tests.processes import run_to_end
from tests.project.repository import ROOT, document
from tests.project.test_events import rendered

ODD = "/mnt/work here/100%h"
SCHEDULE = {"fs": {"limit_s": 60}}


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="this machine has no systemd")
@pytest.mark.parametrize(
    ("role", "values"),
    [
        (
            "ost_probe",
            {
                "__ost_probe_mounts": [ODD],
                "__ost_probe_directories": [],
                "__ost_probe_entries": [],
            },
        ),
        (
            "shared_probe",
            {
                "__shared_probe_folders": {"mounts": [ODD], "directories": []},
                "__shared_probe_devices": [],
                "__shared_probe_lustre": [],
                "shared_probe_group": "disk",
            },
        ),
        (
            "fs_probe",
            {
                "__fs_probe_by_ssh": False,
                "__fs_probe_mounts": [ODD],
                "__fs_probe_directories": [],
                "__fs_probe_work": [],
                "__fs_probe_targets": [],
                "agent_plan": {"schedule": SCHEDULE},
            },
        ),
    ],
)
def test_systemd_reads_any_folder_name_as_one_path(
    tmp_path: Path, role: str, values: dict[str, object]
) -> None:
    template = f"plumbline-{role.partition('_')[0]}.service.j2"
    values = {
        **values,
        "agent_command": "/bin/true",
        "agent_lustre_capabilities": [],
        "timer_unit_service": {"title": "", "arguments": "", "limit_s": 60},
    }
    unit = tmp_path / template[: -len(".j2")]
    unit.write_text(rendered(ROOT / "roles" / role, template, **values), encoding="utf-8")
    assert 'ReadWritePaths="-/mnt/work here/100%%h"' in unit.read_text().splitlines()
    verified = run_to_end("systemd-analyze", "verify", "--man=no", unit)
    assert "ReadWritePaths" not in verified.stderr


def test_the_other_clients_keep_the_order_of_the_plan() -> None:
    """Otherwise each run would write another file for ssh, and a second run changes nothing."""
    clients = [f"client{number}" for number in range(1, 40)]
    variables = document(ROOT / "roles/fs_probe/vars/main.yml")
    others = NativeEnvironment().from_string(variables["__fs_probe_others"])
    plan = {"clients": clients}
    found: object = others.render(__fs_probe_plan=plan, __fs_probe_launcher="client3")
    assert found == clients[:2] + clients[3:]
