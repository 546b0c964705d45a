"""A playbook waits exactly for the checks that it has forced.

Ansible itself runs the tasks; a file replaces the pipe of Nagios, a script its page.
"""

from __future__ import annotations

import json
import re
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


def test_a_forced_check_is_waited_for_and_no_other_service(tmp_path: Path) -> None:
    # later than the play asks, however long it takes
    checked = {"checks": time.time() + 86400, "hangs": time.time() - 60}
    for host, at in checked.items():
        folder = tmp_path / host
        folder.mkdir()
        (folder / "nagios.cmd").touch()
        response = f"Content-type: application/json\r\n\r\n{json.dumps(status(int(at) * 1000))}"
        (folder / "response").write_bytes(response.encode())
        page = folder / "statusjson.cgi"
        page.write_text(f"#!/bin/sh\nexec cat {folder}/response\n", encoding="utf-8")
        page.chmod(0o755)
    own = f"{tmp_path}/{{{{ inventory_hostname }}}}"
    variables = {
        "nagios_pipe": f"{own}/nagios.cmd",
        "__nagios_cgi_directory": own,
        "agent_plan": PLAN,
        "nagios_paths": False,
        "__nagios_paths": PLAN["paths"],
        "__nagios_timeout_s": 1,
    }
    done = run_play(tmp_path, "check_now", variables, hosts={host: {} for host in checked})
    assert done.returncode == 2, done.stdout + done.stderr
    failed = re.findall(r"^(\w+) +: ok=.* failed=1 ", done.stdout, re.MULTILINE)
    assert failed == ["hangs"], done.stdout
    for host in checked:
        commands = (tmp_path / host / "nagios.cmd").read_text(encoding="utf-8").splitlines()
        assert [line.split(";", 1)[1].rpartition(";")[0] for line in commands] == [
            "client1;plumbline agent",
            "site;PATH collection",
            "oss2;OST a",
            "site;PATH file system scratch",
        ]
