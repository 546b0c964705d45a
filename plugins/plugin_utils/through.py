# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure the pairs of hosts that cross one part, slot by slot, the pairs of a slot at once.

``plumbline through`` chooses the slots and adds the rates; this module does neither.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable, Mapping, NamedTuple, Sequence

from ansible_collections.hpcops.plumbline.plugins.module_utils.unit import (
    Outcome,
    measure,
    open_window,
    unit_name,
)
from ansible_collections.hpcops.plumbline.plugins.plugin_utils import answers
from ansible_collections.hpcops.plumbline.plugins.plugin_utils.crew import Crew
from ansible_collections.hpcops.plumbline.plugins.plugin_utils.nodes import Node

LAYER = "net"

_GRACE_S = 120.0
"""Time beyond a unit's own limit after which a node is given up."""


class Question(NamedTuple):
    """Name of the part; ``balanced`` if only pairs measure that all parts carry at full speed."""

    part: str
    balanced: bool


class Desk(NamedTuple):
    """Interfaces on the control host: plumbline, and a private folder."""

    plumbline: Callable[[Sequence[str]], str]
    folder: Path


class Through:
    """One measurement of all pairs through one part."""

    def __init__(self, plan: Mapping[str, Any], question: Question, crew: Crew, desk: Desk) -> None:
        """Take the plan as ``plumbline plan --json`` prints it, and the nodes that answer."""
        self._question = question
        self._crew = crew
        self._desk = desk
        self._limit_s = plan["schedule"][LAYER]["limit_s"] + _GRACE_S
        self._plan = desk.folder / "plan.json"
        self._plan.write_text(json.dumps(plan), encoding="utf-8")
        self._answer = self._ask()

    @property
    def slots(self) -> list[int]:
        """Return the numbers of the slots to measure."""
        return [slot["slot"] for slot in self._answer["slots"]]

    def run(self) -> dict[str, Any]:
        """Measure all slots; show and return the answer of ``plumbline through`` on the records."""
        # clocks may differ, so each node has its own start
        senders = {
            pair[0]
            for slot in self._answer["slots"]
            for pair in (*slot["leaving"], *slot["within"])
        }
        begun = self._crew.each(lambda node: answers.head(node)["now"], sorted(senders))
        for place, slot in enumerate(self._answer["slots"], 1):
            self._measure(slot, f"slot {place} of {len(self._answer['slots'])}")
        answer = self._ask("--records", *self._records(begun))
        self._crew.say(answer["lines"])
        return answer

    def _measure(self, slot: Mapping[str, Any], title: str) -> None:
        """Measure the pairs of a slot of which both hosts answer."""
        pairs = [*slot["leaving"], *slot["within"]]
        ready = [pair for pair in pairs if {*pair} <= {*self._crew.answering}]
        missing = f", {len(pairs) - len(ready)} left out" if len(ready) < len(pairs) else ""
        counted = f"{len(ready)} pair{'' if len(ready) == 1 else 's'}"
        self._crew.say([f"{self._question.part}, {title}: {counted} at once{missing}"])
        hosts = [host for pair in ready for host in pair]
        self._crew.each(lambda node: open_window(node.run, LAYER), hosts)
        unit = unit_name(LAYER, slot=slot["slot"])

        def work(node: Node) -> Outcome:
            return measure(lambda argv: node.run(argv, limit_s=self._limit_s), unit)

        self._crew.measure(work, [sender for sender, _ in ready])

    def _records(self, begun: Mapping[str, float]) -> list[str]:
        """Write the records of each node since its start; return the files."""

        def work(node: Node) -> tuple[str, int]:
            path = self._desk.folder / f"{node.name}.jsonl"
            return str(path), answers.bring(node, path, begun[node.name])

        brought = self._crew.each(work, [*begun])
        self._crew.say(
            answers.left_out(name, damaged) for name, (_, damaged) in brought.items() if damaged
        )
        return [path for path, _ in brought.values()]

    def _ask(self, *words: str) -> dict[str, Any]:
        balanced = ["--balanced"] if self._question.balanced else []
        question = [self._question.part, "--plan", str(self._plan), *balanced, "--json"]
        answer: dict[str, Any] = json.loads(self._desk.plumbline(["through", *question, *words]))
        return answer
