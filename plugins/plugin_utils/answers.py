# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bring records to the control host as ``plumbline export`` on a node gives them.

The lines are those of ``plumbline export``: a head, ``[place, record]`` for each record, an end.
"""

from __future__ import annotations

import json
from typing import Any, Iterator, NamedTuple, Optional

from ansible_collections.hpcops.plumbline.plugins.plugin_utils.nodes import NoAnswer, Node

COMMAND = ("runuser", "-u", "plumbline", "--", "plumbline")
"""As the user of the probes, who owns the history."""

_SCHEMA = 1
_LIMIT_S = 120.0
_MOST_RECORDS = 500
"""As many as one answer of plumbline export may hold."""


class Refused(NoAnswer):  # type: ignore[misc]
    """A node whose plumbline gives no records; the message is its sentence."""


class Answer(NamedTuple):
    """One answer: its head, records as lines of JSON, and how many of them could not be read.

    ``cursor`` is the place and the id of the last record that was given so far.
    """

    head: dict[str, Any]
    records: tuple[str, ...]
    cursor: tuple[int, str]
    more: bool
    damaged: int


def head(node: Node) -> dict[str, Any]:
    """Return the clock of a node, its symptoms, and what is being measured.

    Raises:
        Unreachable: the node does not answer.
        Refused: plumbline there gives no answer.
    """
    return _ask(node, (0, ""), None, 1).head


def records(node: Node, cursor: tuple[int, str], since: float) -> Iterator[Answer]:
    """Yield the answers with the records after a cursor that began at ``since`` or later.

    Raises:
        Unreachable: the node does not answer.
        Refused: plumbline there gives no answer.
    """
    more = True
    while more:
        answer = _ask(node, cursor, since, _MOST_RECORDS)
        cursor, more = answer.cursor, answer.more
        yield answer


def _ask(node: Node, cursor: tuple[int, str], since: Optional[float], limit: int) -> Answer:
    request = {"schema": _SCHEMA, "after": cursor, "limit": limit}
    if since is not None:
        request["since"] = since
    done = node.run([*COMMAND, "export"], json.dumps(request) + "\n", _LIMIT_S)
    lines = [line for line in done.stdout.split("\n") if line.strip()]
    try:
        first = json.loads(lines[0])
        if done.code == 0:
            return _answer(first, lines[1:], cursor)
        said = str(first["error"])
    except (IndexError, KeyError, TypeError, ValueError):
        errors = [line for line in done.stderr.split("\n") if line.strip()]
        said = errors[-1] if errors else "its answer is damaged"
    raise Refused(f"{said}; deploy plumbline there with site.yml")


def _answer(first: dict[str, Any], rest: list[str], cursor: tuple[int, str]) -> Answer:
    """Return an answer; a record that is no JSON is left out and counted."""
    *rows, end = rest
    read = [_row(row) for row in rows]
    if read:
        cursor = read[-1][0]
    found = tuple(record for _, record in read if record)
    more = json.loads(end)["more"] is True
    return Answer(first, found, cursor, more, len(read) - len(found))


def _row(text: str) -> tuple[tuple[int, str], str]:
    """Return the place and the id of a record with its JSON; a damaged one has neither of these."""
    place = int(text[1:].partition(",")[0])
    try:
        _, record = json.loads(text)
        return (place, str(record["id"])), json.dumps(record)
    except (KeyError, TypeError, ValueError):
        return (place, ""), ""
