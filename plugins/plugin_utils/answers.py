# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bring records from a node to the control host with ``plumbline export``.

Its output is a head, a line ``[place, record]`` for each record, and an end.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Iterator, NamedTuple, Optional

from ansible_collections.hpcops.plumbline.plugins.plugin_utils.nodes import NoAnswer, Node

COMMAND = ("runuser", "-u", "plumbline", "--", "plumbline")
"""Command as the probes' user, who owns the history."""

_SCHEMA = 1
_LIMIT_S = 120.0
_MAX_RECORDS = 500
"""Limit of records in one answer of plumbline export."""


class Refused(NoAnswer):  # type: ignore[misc]
    """The plumbline of a node gives no records; the message has the reason."""


class Answer(NamedTuple):
    """One answer: its head, records as lines of JSON, and the number of damaged records.

    ``cursor`` is the place and id of the last record so far.
    """

    head: dict[str, Any]
    records: tuple[str, ...]
    cursor: tuple[int, str]
    more: bool
    damaged: int


def head(node: Node) -> dict[str, Any]:
    """Return a node's clock, its symptoms, and measurements in progress.

    Raises:
        Unreachable: the node does not answer.
        Refused: its plumbline gives no answer.
    """
    return _ask(node, (0, ""), None, 1).head


def records(node: Node, cursor: tuple[int, str], since: float) -> Iterator[Answer]:
    """Yield answers with the records after a cursor that began at ``since`` or later.

    Raises:
        Unreachable: the node does not answer.
        Refused: its plumbline gives no answer.
    """
    more = True
    while more:
        answer = _ask(node, cursor, since, _MAX_RECORDS)
        cursor, more = answer.cursor, answer.more
        yield answer


def bring(node: Node, path: Path, since: float) -> int:
    """Write the records since then to a file, a line each; return the number of damaged ones.

    Raises as ``records`` does.
    """
    damaged = 0
    with path.open("w", encoding="utf-8") as file:
        for answer in records(node, (0, ""), since):
            file.writelines(f"{record}\n" for record in answer.records)
            damaged += answer.damaged
    return damaged


def left_out(name: str, damaged: int) -> str:
    """Return the sentence on a node's damaged records."""
    what = "1 damaged record is" if damaged == 1 else f"{damaged} damaged records are"
    return f"{name}: {what} left out"


def _ask(node: Node, cursor: tuple[int, str], since: Optional[float], limit: int) -> Answer:
    request = {"schema": _SCHEMA, "after": cursor, "limit": limit}
    if since is not None:
        request["since"] = since
    done = node.run([*COMMAND, "export"], json.dumps(request) + "\n", _LIMIT_S)
    lines = [line for line in done.stdout.split("\n") if line.strip()]
    try:
        head_line = json.loads(lines[0])
        if done.code == 0:
            return _answer(head_line, lines[1:], cursor)
        reason = str(head_line["error"])
    except (IndexError, KeyError, TypeError, ValueError):
        errors = [line for line in done.stderr.split("\n") if line.strip()]
        reason = errors[-1] if errors else "its answer is damaged"
    raise Refused(f"{reason}; deploy plumbline there with site.yml")


def _answer(head_line: dict[str, Any], lines: list[str], cursor: tuple[int, str]) -> Answer:
    """Return an answer, with the number of records that are no JSON and left out."""
    *rows, end = lines
    parsed = [_row(row) for row in rows]
    if parsed:
        cursor = parsed[-1][0]
    valid = tuple(record for _, record in parsed if record)
    more = json.loads(end)["more"] is True
    return Answer(head_line, valid, cursor, more, len(parsed) - len(valid))


def _row(text: str) -> tuple[tuple[int, str], str]:
    """Return place and id of a record, and its JSON; a damaged record has only a place."""
    place = int(text[1:].partition(",")[0])
    try:
        _, record = json.loads(text)
        return (place, str(record["id"])), json.dumps(record)
    except (KeyError, TypeError, ValueError):
        return (place, ""), ""
