"""What the plug-ins stand on in unit tests: a module whose commands answer as written."""

from __future__ import annotations

import json
from typing import Any, Mapping, NoReturn, Optional, Sequence

PLAN: dict[str, Any] = {
    "site": "lab",
    "nodes": {
        "oss1": {
            "entries": [
                {"layer": "raw", "component": "oss1-disk1", "target": {"kind": "device"}},
                {"layer": "raw", "component": "oss1-disk2", "target": {"kind": "device"}},
                {"layer": "net", "component": "oss1", "target": {}},
            ]
        },
        "client1": {
            "entries": [
                {"layer": "ost", "component": "scratch-OST0000", "target": {"kind": "lustre"}},
                {"layer": "net", "component": "client1", "target": {}},
                {"layer": "fs", "component": "scratch-OST0000", "target": {"kind": "lustre"}},
                {"layer": "fs", "component": "scratch", "target": {"kind": "parallel"}},
            ]
        },
    },
    "schedule": {"ost": {"limit_s": 2400}},
    "services": [
        {"host": "oss1", "node": "client1", "description": "OST scratch-OST0000 write read"},
        {"host": "oss1", "node": "oss1", "description": "RAW oss1-disk1 read"},
        {"host": "oss1", "node": "oss1", "description": "RAW oss1-disk2 read"},
        {"host": "oss1", "node": "oss1", "description": "NODE oss1 symptoms", "layer": "symptoms"},
    ],
    "hosts": [
        {"name": "oss1", "kind": "server", "address": "10.77.0.11"},
        {"name": "client1", "kind": "client", "address": "10.77.0.21"},
        {"name": "router1", "kind": "router", "address": "10.77.0.1"},
    ],
    "fs": {"launcher": "client1", "clients": ["client1", "oss1"]},
}
COMPILED = (0, json.dumps(PLAN), "")


class Ended(Exception):
    """How a module ended: what exit_json or fail_json was given."""

    def __init__(self, **result: Any) -> None:
        super().__init__(result.get("msg", ""))
        self.result = result


class Module:
    """Stands for AnsibleModule: each command answers ``answer``, or cannot be run without one."""

    def __init__(
        self,
        answer: Optional[tuple[int, str, str]] = None,
        params: Mapping[str, Any] = {},
        check_mode: bool = False,
    ) -> None:
        self.answer = answer
        self.params = params
        self.check_mode = check_mode
        self.calls: list[tuple[list[str], dict[str, Any]]] = []

    @property
    def asked(self) -> list[str]:
        """Return the commands that were run, as lines."""
        return [" ".join(argv) for argv, _ in self.calls]

    def run_command(self, argv: list[str], **options: Any) -> tuple[int, str, str]:
        self.calls.append((argv, options))
        return self.reply(argv)

    def reply(self, argv: Sequence[str]) -> tuple[int, str, str]:
        """Return code, output and errors of a command."""
        if self.answer is None:
            raise FileNotFoundError(2, "No such file or directory")
        return self.answer

    def exit_json(self, **result: Any) -> NoReturn:
        raise Ended(**result)

    def fail_json(self, **result: Any) -> NoReturn:
        raise Ended(failed=True, **result)
