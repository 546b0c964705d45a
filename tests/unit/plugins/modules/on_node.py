"""A node for the modules that run on one: what it measures, and commands that answer as written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Optional, Sequence

import pytest
from ansible_collections.hpcops.plumbline.tests.unit.plugins.fakes import Ended, Module

NODE = json.loads(Path(__file__).with_name("node.json").read_text())
VERDICTS = [
    {"layer": "ost", "component": "scratch-OST0000", "state": "OK", "sentence": "fine"},
    {"layer": "ost", "component": "scratch-OST0001", "state": "WARNING", "sentence": "slow"},
    {"layer": "ost", "component": "scratch", "state": "UNKNOWN", "sentence": "weak"},
    {"layer": "net", "component": "client1", "state": "CRITICAL", "sentence": "slow"},
]


class OnNode(Module):  # type: ignore[misc]
    """A module on a node, with the real check of arguments left to Ansible."""

    systemctl = 0

    def reply(self, argv: Sequence[str]) -> tuple[int, str, str]:
        if "systemctl" in argv:
            return self.systemctl, "", "Job failed"
        if "journalctl" in argv:
            return 0, "plumbline: fio is missing; install it\n", ""
        if "judge" in argv:
            return 2, json.dumps({"verdicts": VERDICTS}), ""
        old = {"component": "scratch-OST0001", "started_at": 5.0}
        new = {"component": "scratch-OST0001", "started_at": 4e9}
        other = {"component": "scratch-OST0000", "started_at": 4e9}
        return 0, "".join(json.dumps(one) + "\n" for one in (old, new, other)), ""


def caller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a call of a module's main: its result, and the module."""
    path = tmp_path / "expectations.json"
    path.write_text(json.dumps(NODE))

    def call(of: Any, check_mode: bool = False, systemctl: int = 0, **params: Any) -> Any:
        module: Optional[OnNode] = None

        def made(argument_spec: dict[str, Any], supports_check_mode: bool) -> OnNode:
            nonlocal module
            assert supports_check_mode
            given = {name: spec.get("default") for name, spec in argument_spec.items()}
            given |= {"expectations": str(path), **params}
            module = OnNode(params=given, check_mode=check_mode)
            module.systemctl = systemctl
            return module

        monkeypatch.setattr(of, "AnsibleModule", made)
        with pytest.raises(Ended) as ended:
            of.main()
        return ended.value.result, module

    return call
