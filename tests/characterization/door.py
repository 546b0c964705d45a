"""``plumbline collect`` of recorded measurements.

A file replaces each node; it holds the answer of ``plumbline export``: a head, a line for each
record, and an end.  Only this file knows the protocol between console and nodes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Optional, Sequence

from tests.characterization.product import Answer, run

_MAX_RECORDS = 500
"""Most records of one answer."""


class Node(NamedTuple):
    """A node: records in the order of its history, symptoms, conditions, running probes."""

    records: Sequence[Mapping[str, Any]]
    symptoms: Optional[Mapping[str, Any]] = None
    conditions: Optional[Mapping[str, Any]] = None
    running: Sequence[Sequence[Any]] = ()


def bring(
    folder: Path, nodes: Mapping[str, Node], at: float, run: Callable[..., Answer] = run
) -> Path:
    """Collect the records of nodes by ``folder/plan.json`` and return the history.

    ``run`` calls the command; its output is saved as ``folder/collected.json``.
    """
    answers, history = folder / "answers", folder / "history.sqlite"
    answers.mkdir(exist_ok=True)
    for name, node in nodes.items():
        text = "".join(json.dumps(line) + "\n" for line in _answers(node, at))
        (answers / name).write_text(text, encoding="utf-8")
    # the console ignores what cat prints after the file
    selected = [word for name in nodes for word in ("--node", name)]
    answer = run(
        "collect",
        "--plan",
        str(folder / "plan.json"),
        "--history",
        str(history),
        "--remote",
        f"cat {answers}/{{node}} -",
        "--at-once",
        "1",
        "--quiet",
        "--json",
        *selected,
        at=at,
    )
    assert answer.code == 0, answer.out[:2000] + answer.err[:2000]
    new = sum(node["new"] for node in answer.document()["nodes"])
    assert new == sum(len(node.records) for node in nodes.values()), answer.out[:2000]
    (folder / "collected.json").write_text(answer.out, encoding="utf-8")
    return history


def _answers(node: Node, at: float) -> Iterator[Any]:
    head = {
        "schema": 1,
        "version": "recorded",
        "now": at,
        "again": False,
        "running": [list(entry) for entry in node.running],
        "symptoms": node.symptoms,
        "conditions": node.conditions,
        "untaken": "",
    }
    starts = range(0, len(node.records), _MAX_RECORDS) or (0,)
    for start in starts:
        part = node.records[start : start + _MAX_RECORDS]
        yield head
        for place, record in enumerate(part, start + 1):
            yield [place, record]
        yield {"end": len(part), "more": start + len(part) < len(node.records)}
