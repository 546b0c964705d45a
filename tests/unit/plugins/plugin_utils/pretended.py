"""Fake nodes with canned answers that record their commands."""

from __future__ import annotations

import json
from typing import Any, Callable, Mapping, Optional, Sequence

from ansible_collections.hpcops.plumbline.plugins.plugin_utils.nodes import (
    Completed,
    NoAnswer,
    Unreachable,
)

HEAD = {"schema": 1, "version": "0.1.0", "now": 1000.0, "again": False, "running": []}


def export(*records: Any, symptoms: Optional[Any] = None, more: bool = False) -> str:
    """Return an answer of ``plumbline export`` with these records, from place 1 on."""
    rows = [f"[{place},{json.dumps(record)}]" for place, record in enumerate(records, 1)]
    end = json.dumps({"end": len(rows), "more": more})
    return "\n".join([json.dumps({**HEAD, "symptoms": symptoms}), *rows, end, ""])


class FakeNode:
    """A node with answers by the first word of a command that has one."""

    def __init__(self, name: str, answers: Optional[Mapping[str, Any]] = None) -> None:
        self.name = name
        self.answers: dict[str, Any] = {
            "export": export(),
            "judge": '{"verdicts": []}',
            "cat": Completed(1, "", "no such file"),
            "stages": Completed(69, "", "no such verb"),
            "systemctl": "",
            **(answers or {}),
        }
        self.commands: list[str] = []
        self.inputs: list[str] = []

    def run(self, argv: Sequence[str], given: str = "", limit_s: float = 60.0) -> Completed:
        self.commands.append(" ".join(argv))
        self.inputs.append(given)
        answer = next(self.answers[word] for word in argv if word in self.answers)
        if isinstance(answer, list):
            answer = answer.pop(0) if len(answer) > 1 else answer[0]
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, Completed) else Completed(0, answer, "")

    def units(self) -> list[str]:
        """Return the calls of systemctl, without the time limit."""
        return [line.partition("systemctl ")[2] for line in self.commands if "systemctl " in line]


class Site:
    """Replaces Nodes; works on them one after the other."""

    def __init__(self, *nodes: FakeNode) -> None:
        self.nodes = {node.name: node for node in nodes}

    def each(self, names: Sequence[str], work: Callable[[Any], Any]) -> dict[str, Any]:
        return {name: _outcome(work, self.nodes[name]) for name in names}


def _outcome(work: Callable[[Any], Any], node: FakeNode) -> Any:
    try:
        return work(node)
    except NoAnswer as error:
        return error


DEAD = Unreachable("No route to host")
