# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Loop of an investigation: bring records, ask for the next step, measure it.

``plumbline investigate`` chooses the steps and interprets the results; this module does neither.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, Callable, Mapping, NamedTuple, Optional, Sequence

from ansible_collections.hpcops.plumbline.plugins.module_utils.unit import (
    PAIRED,
    Outcome,
    measure,
    open_window,
    unit_name,
)
from ansible_collections.hpcops.plumbline.plugins.plugin_utils import answers
from ansible_collections.hpcops.plumbline.plugins.plugin_utils.crew import Crew, NobodyAnswers
from ansible_collections.hpcops.plumbline.plugins.plugin_utils.node_state import (
    NodeState,
    counters,
    not_ok,
    not_ok_lines,
    read_state,
)
from ansible_collections.hpcops.plumbline.plugins.plugin_utils.nodes import Node
from ansible_collections.hpcops.plumbline.plugins.plugin_utils.whereabouts import targets_of

_GRACE_S = 20.0
"""Extra time for a unit to stop at its limit."""
_START = (0, "")
"""Cursor before the first record."""


class Question(NamedTuple):
    """Question: parts of the site or a user's file, none for everything; and the budget."""

    targets: tuple[str, ...]
    user_path: Optional[str]
    budget: str
    budget_bytes: str
    forks: int


class Console(NamedTuple):
    """Interfaces on the control host: plumbline, a private folder, and a clock.

    ``verbose`` also shows the commands of tools and all measurements.
    """

    plumbline: Callable[[Sequence[str]], str]
    folder: Path
    clock: Callable[[], float] = time.time
    verbose: bool = False


_MAX_ROWS = 5
"""Rows of evidence to show unless verbose."""


class Investigation:
    """Search for the answer to one question."""

    def __init__(
        self, plan: Mapping[str, Any], question: Question, crew: Crew, console: Console
    ) -> None:
        """Take the plan as ``plumbline plan --json`` prints it, and the nodes."""
        self._question = question
        self._crew = crew
        self._console = console
        self._began = console.clock()
        self._done: list[dict[str, Any]] = []
        self._states: dict[str, NodeState] = {}
        self._cursors: dict[str, tuple[int, str]] = {}
        self._symptoms: dict[str, Any] = {}
        self._readings: dict[str, None] = {}
        self._write("plan.json", json.dumps(plan))

    def run(self, *, dry: bool) -> dict[str, Any]:
        """Return the last answer with the ``steps``; a dry run ends before the first step.

        Raises:
            NobodyAnswers: no node answers.
            NotFound: no host finds the user's file.
        """
        self._check()
        self._begin()
        answer = self._decide()
        while (step := answer["next"]) and self._crew.answering:
            self._show_step(answer)
            if dry:
                self._crew.say(["Check mode: nothing is measured."])
                return self._result(answer)
            self._done.append(step)
            self._measure(step, answer)
            self._read_counters("after")
            self._bring()
            answer = self._decide()
        self._show_end(answer)
        return self._result(answer)

    def _check(self) -> None:
        """Let plumbline refuse the question before any node is asked, which takes its time."""
        self._write("request.json", json.dumps(self._request()))
        folder = self._console.folder
        documents = ("--plan", str(folder / "plan.json"), "--request", str(folder / "request.json"))
        self._console.plumbline(["investigate", *documents])

    def _begin(self) -> None:
        """Ask all nodes for their state; clocks may differ, so each node has its own start."""
        self._states = self._crew.each(read_state)
        if not self._states:
            lost = [f"{name}: {reason}" for name, reason in self._crew.lost.items()]
            raise NobodyAnswers(f"No node answers. {'; '.join(lost)}")
        self._symptoms = {name: state.symptoms for name, state in self._states.items()}
        for name, state in self._states.items():
            if state.snapshot:
                self._write(f"{name}.snapshot", state.snapshot)
        if self._question.user_path is not None:
            self._find_file(self._question.user_path)
        self._crew.say(not_ok_lines(self._states.values()))
        self._read_counters("before")

    def _read_counters(self, when: str) -> None:
        """Keep the counters of each node; where the time goes is no reason to end without them."""
        for name, text in self._crew.each(counters).items():
            if text:
                self._write(f"{name}.{when}", text)
                self._readings[f"{name}.{when}"] = None

    def _find_file(self, path: str) -> None:
        """Add the targets that hold a user's file to the question."""
        measuring = self._crew.measuring("ost")
        found = targets_of(path, lambda work: self._crew.each(work, measuring))
        names = [*self._question.targets, *found]
        self._question = self._question._replace(targets=tuple(dict.fromkeys(names)))
        self._crew.say([f"{path} lies on {', '.join(self._question.targets)}"])

    def _decide(self) -> dict[str, Any]:
        """Return plumbline's conclusions so far and its next step."""
        folder = self._console.folder
        self._write("request.json", json.dumps(self._request()))
        arguments = ["--plan", "plan.json", "--request", "request.json"]
        arguments += ["--readings", *self._readings]
        arguments += [
            "--snapshots",
            *(f"{n}.snapshot" for n, state in self._states.items() if state.snapshot),
        ]
        arguments += ["--records", *(f"{name}.jsonl" for name in self._cursors)]
        argv = [word if word.startswith("--") else str(folder / word) for word in arguments]
        answer: dict[str, Any] = json.loads(self._console.plumbline(["investigate", *argv]))
        return answer

    def _request(self) -> dict[str, Any]:
        """Return the request document (docs/debugging.md).

        Records of a node that fell silent remain valid, so its start stays in the document.
        """
        question, crew = self._question, self._crew
        return {
            "targets": question.targets,
            "known": not_ok(self._states.values()),
            "budget": question.budget,
            "budget_bytes": question.budget_bytes,
            "elapsed_s": self._elapsed_s(),
            "done": self._done,
            "begun": {name: state.begun for name, state in self._states.items()},
            "forks": question.forks,
            "silent": crew.silent,
            "outside": crew.outside,
            "symptoms": {
                name: value
                for name, value in self._symptoms.items()
                if name in crew.answering and value
            },
        }

    def _measure(self, step: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        until = self._console.clock() + answer["left_s"]
        if step["layer"] in PAIRED:
            self._measure_pairs(step, answer["idle"], until)
            return
        names = [step["node"]] if step["node"] else self._crew.measuring(step["layer"])
        self._start(names, unit_name(step["layer"], step["component"]), until)

    def _measure_pairs(
        self, step: Mapping[str, Any], idle: Mapping[str, Sequence[str]], until: float
    ) -> None:
        """Measure slot by slot; the windows of all hosts open anew for each.

        A node measures all of its adapters, whose partners in a slot may be several hosts.
        """
        layer = step["layer"]
        one_pair = step["node"] and layer == "net"
        hosts = [step["node"], step["partner"]] if one_pair else self._crew.measuring(layer)
        beginning = [name for name in hosts if step["node"] in ("", name)]
        for slot in step["slots"]:
            if self._console.clock() >= until:
                break
            self._crew.each(lambda node: open_window(node.run, layer), hosts)
            busy = [name for name in beginning if name not in idle.get(str(slot), ())]
            self._start(busy, unit_name(layer, slot=slot), until)

    def _start(self, names: Sequence[str], unit: str, until: float) -> None:
        """Start a unit on these nodes and show failures.

        With more nodes than forks, some start only when others have ended.
        """

        def work(node: Node) -> Outcome:
            remaining_s = until - self._console.clock()
            if remaining_s <= 0:
                return Outcome(unit, "was not begun within the budget")
            limit_s = max(1, int(remaining_s))
            ended = measure(lambda argv: node.run(argv, limit_s=limit_s + _GRACE_S), unit, limit_s)
            return (
                ended._replace(trouble="did not finish within the budget") if ended.late else ended
            )

        self._crew.measure(work, names)

    def _bring(self) -> None:
        """Bring new records and the symptoms of each node."""

        def work(node: Node) -> list[answers.Answer]:
            begun = self._states[node.name].begun
            return list(answers.records(node, self._cursors.get(node.name, _START), begun))

        for name, replies in self._crew.each(work).items():
            with (self._console.folder / f"{name}.jsonl").open("a", encoding="utf-8") as file:
                file.writelines(f"{record}\n" for reply in replies for record in reply.records)
            self._cursors[name] = replies[-1].cursor
            self._symptoms[name] = replies[-1].head["symptoms"]
            if damaged := sum(reply.damaged for reply in replies):
                self._crew.say([f"{name}: {damaged} damaged records are left out"])

    def _show_step(self, answer: Mapping[str, Any]) -> None:
        step = answer["next"]
        step_line = f"Step {len(self._done) + 1}: {step['words']}, about {round(step['seconds'])} s"
        self._crew.say([*answer["sentences"], answer["summary"], step_line])

    def _show_end(self, answer: Mapping[str, Any]) -> None:
        """Show the evidence first and the result last, where users look for it."""
        table, unused, beyond = answer["table"], answer["unused"], answer["beyond"]
        if self._console.verbose:
            self._crew.say([*table, "Commands:", *answer["commands"]])
            self._crew.say(f"Speaks neither for nor against a part: {text}" for text in unused)
        else:
            self._crew.say(table[: 1 + _MAX_ROWS])
            counts = {
                "rows": max(0, len(table) - 1 - _MAX_ROWS),
                "commands of tools": len(answer["commands"]),
                "results without a say": len(unused),
            }
            hidden = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
            self._crew.say([f"Shown with -v: {hidden}"] if hidden else [])
        self._crew.say(f"Not within the budget: {text}" for text in beyond)
        spent = f"{len(self._done)} steps, {round(self._elapsed_s())} s"
        self._crew.say([f"Ended: {answer['reason']}, {spent}", ""])
        self._crew.say([*answer["sentences"], answer["summary"]])

    def _result(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        return {**answer, "steps": list(self._done)}

    def _elapsed_s(self) -> float:
        return self._console.clock() - self._began

    def _write(self, name: str, text: str) -> None:
        (self._console.folder / name).write_text(text, encoding="utf-8")
