"""Fakes for unit tests of plug-ins: a module whose commands give canned answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Mapping, NoReturn, Optional, Sequence

PLAN: dict[str, Any] = json.loads(Path(__file__).with_name("plan.json").read_text())
COMPILED = (0, json.dumps(PLAN), "")


class Ended(Exception):
    """End of a module, with the arguments of exit_json or fail_json."""

    def __init__(self, **result: Any) -> None:
        super().__init__(result.get("msg", ""))
        self.result = result


class Module:
    """Replaces AnsibleModule; commands give ``answer``, or cannot be run without one."""

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
    def commands(self) -> list[str]:
        """Return the executed commands as lines."""
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
