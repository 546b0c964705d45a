"""A node for modules: its expectations, and commands with canned answers."""

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
    """A module on a node; Ansible's check of arguments is left out."""

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
        return 0, "".join(json.dumps(record) + "\n" for record in (old, new, other)), ""


def caller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that runs a module and returns its result and the module."""
    path = tmp_path / "expectations.json"
    path.write_text(json.dumps(NODE))

    def call(tested: Any, check_mode: bool = False, systemctl: int = 0, **params: Any) -> Any:
        module: Optional[OnNode] = None

        def make(argument_spec: dict[str, Any], supports_check_mode: bool) -> OnNode:
            nonlocal module
            assert supports_check_mode
            values = {name: spec.get("default") for name, spec in argument_spec.items()}
            values |= {"expectations": str(path), **params}
            module = OnNode(params=values, check_mode=check_mode)
            module.systemctl = systemctl
            return module

        monkeypatch.setattr(tested, "AnsibleModule", make)
        with pytest.raises(Ended) as ended:
            tested.main()
        return ended.value.result, module

    return call
