# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes of the plan during an investigation: answering, silent, and outside of --limit."""

from __future__ import annotations

from typing import Any, Callable, Iterable, Mapping, Optional, Sequence

from ansible_collections.hpcops.plumbline.plugins.module_utils.unit import Outcome
from ansible_collections.hpcops.plumbline.plugins.plugin_utils.nodes import (
    NoAnswer,
    Node,
    Nodes,
    display,
)

Say = Callable[[Iterable[str]], None]
"""Function that shows lines to the user of the playbook."""


class NobodyAnswers(Exception):
    """No node answers; the message has the reason for each."""


class Crew:
    """Nodes by the layers they measure; a node that gives no answer is not asked again.

    ``say`` shows lines to the user of the playbook; ``lost`` has the reason for each node that
    stopped answering during the play.
    """

    def __init__(
        self,
        plan: Mapping[str, Any],
        answering: Sequence[str],
        limit: Sequence[str],
        nodes: Nodes,
        say: Say = display,
    ) -> None:
        """Take the plan, the answering hosts, and all hosts of the play, ``limit``."""
        self.say = say
        self._layers = {
            name: {entry["layer"] for entry in document["entries"]}
            for name, document in plan["nodes"].items()
        }
        self._nodes = nodes
        self.answering = [name for name in self._layers if name in answering]
        self.silent = [name for name in self._layers if name in limit and name not in answering]
        self.outside = [name for name in self._layers if name not in limit]
        self.lost: dict[str, str] = {}

    @classmethod
    def of_play(cls, plan: Mapping[str, Any], variables: Mapping[str, Any], nodes: Nodes) -> Crew:
        """Return the nodes of the plan as the hosts of a play, from its variables."""
        return cls(
            plan, variables["ansible_play_hosts"], variables["ansible_play_hosts_all"], nodes
        )

    def measuring(self, layer: str) -> list[str]:
        """Return the nodes that answer and measure a layer."""
        return [name for name in self.answering if layer in self._layers[name]]

    def each(
        self, work: Callable[[Node], Any], names: Optional[Sequence[str]] = None
    ) -> dict[str, Any]:
        """Run the work on these nodes, or all; return the results of those that answer."""
        nodes = [name for name in self.answering if names is None or name in names]
        results = {}
        for name, result in self._nodes.each(nodes, work).items():
            if isinstance(result, NoAnswer):
                self.say([f"{name} does not answer: {result}"])
                self.answering.remove(name)
                self.silent.append(name)
                self.lost[name] = str(result)
            else:
                results[name] = result
        return results

    def measure(self, work: Callable[[Node], Outcome], names: Sequence[str]) -> None:
        """Run the work, which starts a unit and waits for its end, on these; show each failure."""
        self.say(
            f"{name}: {end.unit} {end.trouble}"
            for name, end in self.each(work, names).items()
            if end.trouble
        )
