# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read a shared part on all its nodes at one moment, and record the sum on the first of them."""

from __future__ import annotations

import json
from typing import Any, Callable, Mapping, NamedTuple, Sequence

from ansible_collections.hpcops.plumbline.plugins.module_utils.unit import (
    Outcome,
    measure,
    unit_name,
)
from ansible_collections.hpcops.plumbline.plugins.plugin_utils import answers
from ansible_collections.hpcops.plumbline.plugins.plugin_utils.crew import Crew
from ansible_collections.hpcops.plumbline.plugins.plugin_utils.nodes import Completed, Node

CLOCK_S = 1.0
"""Most seconds that the clock of a node may differ; flows must start within a second."""

_LEAD_S = 20.0
"""Time from the start of the units to the moment: they start, and look for others' traffic."""

_ANSWERS = 3
"""Multiple of the slowest answer that is added to it."""

_ENDS_S = 180
"""Time after the reads in which a unit must end."""

_VERDICTS = (0, 1, 2, 3)


class Impossible(Exception):
    """The part cannot be read; the message has the reason and the remedy."""


class Clock(NamedTuple):
    """Difference of a node's clock from this host's, and its largest error, in seconds."""

    offset_s: float
    error_s: float

    @property
    def wrong(self) -> bool:
        """Return True if the clock is certainly off by more than CLOCK_S."""
        return abs(self.offset_s) - self.error_s > CLOCK_S


class Together:
    """One read of one part."""

    def __init__(
        self, plan: Mapping[str, Any], part: str, crew: Crew, now: Callable[[], float]
    ) -> None:
        """Take the plan, the part, the nodes that answer, and this host's clock.

        Raises:
            Impossible: no node of the plan reads the part.
        """
        self._part = part
        self._reads = reads_of(plan, part)
        self._crew = crew
        self._now = now

    @property
    def nodes(self) -> list[str]:
        """Return the nodes of the flows, each once, the recording one first."""
        return list(dict.fromkeys(flow["node"] for flow in self._reads["flows"]))

    def run(self) -> dict[str, Any]:
        """Read the part, and return the sentence on its sum with the records of the nodes.

        Raises:
            Impossible: too few nodes can read it at one moment, or the sum cannot be recorded.
        """
        self._refuse_too_few(self._crew.answering, "answer")
        clocks = self._crew.each(self._clock, self.nodes)
        wrong = {name: clock for name, clock in clocks.items() if clock.wrong}
        self._crew.say(
            f"{name} stays out: its clock is {abs(clock.offset_s):.1f} s "
            f"{'ahead' if clock.offset_s > 0 else 'behind'}; see chronyc tracking there"
            for name, clock in wrong.items()
        )
        ready = [name for name in clocks if name not in wrong]
        self._refuse_too_few(ready, "have the right time")
        slowest_s = max(clock.error_s for clock in clocks.values())
        began = self._now()
        moment = round(began + _LEAD_S + _ANSWERS * slowest_s)
        turn = f"{self._part}@{moment}"
        self._start(ready, turn, moment)
        # a node that could not read has recorded that before the moment
        records = self._records(ready, turn, began - 2 * CLOCK_S)
        return {"at": moment, "records": records, **self._recorded(records, turn)}

    def _refuse_too_few(self, names: Sequence[str], what: str) -> None:
        lead, flows = self.nodes[0], self._reads["flows"]
        able = sum(flow["node"] in names for flow in flows)
        if lead not in names:
            raise Impossible(
                f"{self._part} is recorded by {lead}, which does not {what}; repair that first"
            )
        if 2 * able <= len(flows):
            missing = ", ".join(name for name in self.nodes if name not in names)
            raise Impossible(
                f"{self._part} is not measured: half of its {len(flows)} flows or more are on "
                f"nodes that do not {what}: {missing}"
            )

    def _clock(self, node: Node) -> Clock:
        """Compare a clock: the answer is from between question and reply (Cristian)."""
        before = self._now()
        reply = node.run(["date", "+%s.%N"])
        after = self._now()
        try:
            theirs = float(reply.stdout)
        except ValueError as error:
            raise answers.Refused(f"date printed {reply.stdout!r:.60}") from error
        return Clock(theirs - (before + after) / 2, (after - before) / 2)

    def _start(self, names: Sequence[str], turn: str, moment: int) -> None:
        """Start the units of all nodes and wait for their ends."""
        unit = unit_name("shared", turn)
        limit_s = round(moment - self._now() + self._reads["seconds"] + _ENDS_S)

        def work(node: Node) -> Outcome:
            return measure(lambda argv: node.run(argv, limit_s=limit_s + 30.0), unit, limit_s)

        self._crew.measure(work, names)

    def _records(self, names: Sequence[str], turn: str, since: float) -> list[dict[str, Any]]:
        """Return the nodes' records of this turn, which are of ``since`` or later."""

        def work(node: Node) -> list[dict[str, Any]]:
            found = answers.records(node, (0, ""), since)
            return [json.loads(line) for answer in found for line in answer.records]

        every = self._crew.each(work, names)
        return [
            record
            for of_node in every.values()
            for record in of_node
            if (record.get("layer"), record.get("run_id")) == ("flows", turn)
        ]

    def _recorded(self, records: Sequence[Mapping[str, Any]], turn: str) -> dict[str, Any]:
        """Record the sum on the first node; return the sentence on it."""
        lead = self.nodes[0]
        command = ["probe", "shared", "--component", turn]
        lines = "".join(f"{json.dumps(record)}\n" for record in records)

        def work(node: Node) -> Completed:
            return node.run([*answers.COMMAND, *command, "--flows", "-"], lines)

        reply = self._crew.each(work, [lead]).get(lead)
        if reply is None or reply.code not in _VERDICTS or not reply.stdout.strip():
            reason = (reply.stderr.strip() if reply else "") or "it gave no answer"
            raise Impossible(f"{lead} could not record the sum of {self._part}: {reason}")
        sentence, *table = reply.stdout.strip().split("\n")
        return {"sentence": sentence, "lines": table}


def reads_of(plan: Mapping[str, Any], part: str) -> Mapping[str, Any]:
    """Return flows and terms of a part; raise Impossible if the plan has none."""
    every = {
        reads["component"]: reads
        for node in plan["nodes"].values()
        for reads in node.get("shared", ())
    }
    if part not in every:
        names = ", ".join(sorted(every)) or "none"
        raise Impossible(
            f"{part} is no part that several reads expose; the plan has {names}. See plumbline "
            "topology check for the reason."
        )
    reads: Mapping[str, Any] = every[part]
    return reads
