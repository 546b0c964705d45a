"""A playbook waits exactly for the checks that it has forced.

Ansible itself runs the tasks; a file replaces the pipe of Nagios, a script its page.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.project.playbook import run_play

pytestmark = pytest.mark.long

PLAN = {
    "services": [{"host": "oss2", "node": "client1", "layer": "ost", "description": "OST a"}],
    "paths": [{"host": "site", "description": "PATH file system scratch"}],
    "hosts": [],
    "parents": {},
}
OURS = {
    "client1": ["plumbline agent"],
    "oss2": ["OST a", "OST of the plan before"],
    "site": ["PATH collection", "PATH file system scratch"],
}


def status(checked_ms: int) -> dict[str, Any]:
    """Return the status of Nagios: services of plumbline, and others that were never checked."""
    shown = {
        host: {name: {"description": name, "last_check": checked_ms} for name in names}
        for host, names in {**OURS, "printer": []}.items()
    }
    for host in ("oss2", "printer"):
        shown[host]["Toner"] = {"description": "Toner", "last_check": 0}
    shown["oss2"]["OST of the plan before"]["last_check"] = 0
    return {"data": {"servicelist": shown}}


def check_now(folder: Path, checked_ms: int) -> tuple[int, list[str]]:
    """Run the tasks; return their exit code and the forced checks."""
    pipe, page = folder / "nagios.cmd", folder / "statusjson.cgi"
    pipe.touch()
    response = f"Content-type: application/json\r\n\r\n{json.dumps(status(checked_ms))}"
    (folder / "response").write_bytes(response.encode())
    page.write_text(f"#!/bin/sh\nexec cat {folder}/response\n", encoding="utf-8")
    page.chmod(0o755)
    variables = {
        "agent_plan": PLAN,
        "nagios_paths": False,
        "__nagios_paths": PLAN["paths"],
        "nagios_pipe": str(pipe),
        "__nagios_cgi_directory": str(folder),
        "__nagios_timeout_s": 1,
    }
    done = run_play(folder, "check_now", variables)
    print(done.stdout, done.stderr)
    commands = pipe.read_text(encoding="utf-8").splitlines()
    return done.returncode, [line.split(";", 1)[1].rpartition(";")[0] for line in commands]


def test_a_service_without_a_forced_check_is_not_waited_for(tmp_path: Path) -> None:
    # later than the play asks, however long it takes
    code, checks = check_now(tmp_path, int(time.time() + 86400) * 1000)
    assert code == 0
    assert checks == [
        "client1;plumbline agent",
        "site;PATH collection",
        "oss2;OST a",
        "site;PATH file system scratch",
    ]


def test_a_forced_check_is_waited_for(tmp_path: Path) -> None:
    code, _ = check_now(tmp_path, int(time.time() - 60) * 1000)
    assert code != 0
