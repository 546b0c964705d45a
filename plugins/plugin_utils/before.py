# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a node stands before anything is measured: its clock, its verdicts, its earlier runs."""

from __future__ import annotations

import json
from typing import Any, Iterable, Iterator, NamedTuple

from ansible_collections.hpcops.plumbline.plugins.plugin_utils.answers import COMMAND, Refused, head
from ansible_collections.hpcops.plumbline.plugins.plugin_utils.nodes import Node

SNAPSHOT = "/var/lib/plumbline/snapshot.json"

_VERDICTS = (0, 1, 2, 3)
"""How plumbline judge ends when it judges."""
_JUDGING_S = 120.0
_BAD = ("CRITICAL", "WARNING")
"""The worst first."""


class Before(NamedTuple):
    """Of one node: its clock in seconds since the epoch, and what it knew by then.

    ``snapshot`` is the text of its file, empty where it has none.
    """

    begun: float
    symptoms: Any
    verdicts: tuple[dict[str, Any], ...]
    snapshot: str


def look_before(node: Node) -> Before:
    """Return how a node stands; one that has measured nothing yet knows nothing.

    Raises:
        NoAnswer: the node does not answer, or its plumbline is broken.
    """
    first = head(node)
    judged = node.run([*COMMAND, "judge", "--json", "--last-run"], limit_s=_JUDGING_S)
    verdicts = _verdicts(judged.stdout) if judged.code in _VERDICTS else ()
    kept = node.run(["cat", SNAPSHOT])
    snapshot = kept.stdout if kept.code == 0 else ""
    return Before(float(first["now"]), first["symptoms"], verdicts, snapshot)


def _verdicts(text: str) -> tuple[dict[str, Any], ...]:
    try:
        return tuple(json.loads(text)["verdicts"])
    except (KeyError, TypeError, ValueError) as error:
        raise Refused("plumbline judge gives no verdicts; deploy it there with site.yml") from error


def known(found: Iterable[Before]) -> list[str]:
    """Return the components that were not fine, the worst first."""
    verdicts = [verdict for one in found for verdict in one.verdicts]
    return [
        verdict["component"] for state in _BAD for verdict in verdicts if verdict["state"] == state
    ]


def known_lines(found: Iterable[Before]) -> Iterator[str]:
    """Yield what was not fine, which does not vote."""
    bad = [verdict for one in found for verdict in one.verdicts if verdict["state"] != "OK"]
    for verdict in bad:
        yield f"known: {verdict['state']} {verdict['sentence']}"
    if not bad:
        yield "known: nothing that is not OK"
