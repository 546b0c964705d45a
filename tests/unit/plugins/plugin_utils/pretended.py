"""Nodes that answer as written here; what was asked of them is kept."""

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
    rows = [f"[{place},{json.dumps(one)}]" for place, one in enumerate(records, 1)]
    end = json.dumps({"end": len(rows), "more": more})
    return "\n".join([json.dumps({**HEAD, "symptoms": symptoms}), *rows, end, ""])


class Pretended:
    """One node: answers by the first word of the command that tells them apart."""

    def __init__(self, name: str, answers: Optional[Mapping[str, Any]] = None) -> None:
        self.name = name
        self.answers: dict[str, Any] = {
            "export": export(),
            "judge": '{"verdicts": []}',
            "cat": Completed(1, "", "no such file"),
            "systemctl": "",
            **(answers or {}),
        }
        self.asked: list[str] = []
        self.given: list[str] = []

    def run(self, argv: Sequence[str], given: str = "", limit_s: float = 60.0) -> Completed:
        self.asked.append(" ".join(argv))
        self.given.append(given)
        answer = next(self.answers[word] for word in argv if word in self.answers)
        if isinstance(answer, list):
            answer = answer.pop(0) if len(answer) > 1 else answer[0]
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, Completed) else Completed(0, answer, "")

    def units(self) -> list[str]:
        """Return what was asked of systemd, without the time limit."""
        return [one.partition("systemctl ")[2] for one in self.asked if "systemctl " in one]


class Site:
    """Stands for Nodes: all of these, one after the other."""

    def __init__(self, *nodes: Pretended) -> None:
        self.nodes = {one.name: one for one in nodes}

    def each(self, names: Sequence[str], work: Callable[[Any], Any]) -> dict[str, Any]:
        return {name: _outcome(work, self.nodes[name]) for name in names}


def _outcome(work: Callable[[Any], Any], node: Pretended) -> Any:
    try:
        return work(node)
    except NoAnswer as error:
        return error


DEAD = Unreachable("No route to host")
