# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The nodes of the plan while a fault is looked for: who answers, and who is not asked."""

from __future__ import annotations

from typing import Any, Callable, Iterable, Mapping, Optional, Sequence

from ansible_collections.hpcops.plumbline.plugins.plugin_utils.nodes import NoAnswer, Node, Nodes

Say = Callable[[Iterable[str]], None]
"""Shows lines to whoever runs the playbook."""


class NobodyAnswers(Exception):
    """Nothing can be asked; the message names each node and why."""


class Crew:
    """The nodes by the layers they measure; one that gives no answer is not asked again.

    ``lost`` says why each of those gave none that have answered Ansible before.
    """

    def __init__(
        self, plan: Mapping[str, Any], answering: Sequence[str], limit: Sequence[str], nodes: Nodes
    ) -> None:
        """Take the plan, who answers, and all that may be asked: hosts of the play."""
        self._layers = {
            name: {entry["layer"] for entry in document["entries"]}
            for name, document in plan["nodes"].items()
        }
        self._nodes = nodes
        self.answering = [name for name in self._layers if name in answering]
        self.silent = [name for name in self._layers if name in limit and name not in answering]
        self.outside = [name for name in self._layers if name not in limit]
        self.lost: dict[str, str] = {}

    def measuring(self, layer: str) -> list[str]:
        """Return the nodes that answer and measure a layer."""
        return [name for name in self.answering if layer in self._layers[name]]

    def each(
        self, work: Callable[[Node], Any], say: Say, names: Optional[Sequence[str]] = None
    ) -> dict[str, Any]:
        """Return what came of the work on these nodes, or all, as far as they answer."""
        asked = self.answering if names is None else [one for one in self.answering if one in names]
        found = {}
        for name, one in self._nodes.each(asked, work).items():
            if isinstance(one, NoAnswer):
                say([f"{name} does not answer: {one}"])
                self.answering.remove(name)
                self.silent.append(name)
                self.lost[name] = str(one)
            else:
                found[name] = one
        return found
