# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""State of a node before an investigation: its clock, its verdicts, its earlier runs."""

from __future__ import annotations

import json
from typing import Any, Iterable, Iterator, NamedTuple

from ansible_collections.hpcops.plumbline.plugins.plugin_utils.answers import COMMAND, Refused, head
from ansible_collections.hpcops.plumbline.plugins.plugin_utils.nodes import Node, restricted

SNAPSHOT = "/var/lib/plumbline/snapshot.json"

_VERDICTS = (0, 1, 2, 3)
"""Exit codes of plumbline judge with verdicts."""
_JUDGING_S = 120.0
_BAD = ("CRITICAL", "WARNING")
"""Bad states, the worst first."""


class NodeState(NamedTuple):
    """State of one node; ``begun`` is its clock in seconds since the epoch.

    ``snapshot`` is the text of its snapshot file, empty if there is none.
    """

    begun: float
    symptoms: Any
    verdicts: tuple[dict[str, Any], ...]
    snapshot: str


def read_state(node: Node) -> NodeState:
    """Return the state of a node, without verdicts if it has measured nothing yet.

    Raises:
        NoAnswer: the node does not answer, or its plumbline is broken.
    """
    answer = head(node)
    judgement = node.run([*COMMAND, "judge", "--json", "--last-run"], limit_s=_JUDGING_S)
    verdicts = _verdicts(judgement.stdout) if judgement.code in _VERDICTS else ()
    snapshot_file = node.run(["cat", SNAPSHOT])
    snapshot = snapshot_file.stdout if snapshot_file.code == 0 else ""
    return NodeState(float(answer["now"]), answer["symptoms"], verdicts, snapshot)


def counters(node: Node) -> str:
    """Return Lustre's counters of a node as text, empty if it does not give them.

    Raises:
        NoAnswer: the node does not answer.
    """
    answer = node.run([*restricted("plumbline"), "plumbline", "stages", "--reading"])
    return answer.stdout if answer.code == 0 else ""


def _verdicts(text: str) -> tuple[dict[str, Any], ...]:
    try:
        return tuple(json.loads(text)["verdicts"])
    except (KeyError, TypeError, ValueError) as error:
        raise Refused("plumbline judge gives no verdicts; deploy it there with site.yml") from error


def not_ok(nodes: Iterable[NodeState]) -> list[str]:
    """Return the components that were not OK, the worst first."""
    verdicts = [verdict for node in nodes for verdict in node.verdicts]
    return [
        verdict["component"] for state in _BAD for verdict in verdicts if verdict["state"] == state
    ]


def not_ok_lines(nodes: Iterable[NodeState]) -> Iterator[str]:
    """Yield a line for each earlier verdict that was not OK; these are no evidence."""
    bad = [verdict for node in nodes for verdict in node.verdicts if verdict["state"] != "OK"]
    for verdict in bad:
        yield f"known: {verdict['state']} {verdict['sentence']}"
    if not bad:
        yield "known: nothing that is not OK"
