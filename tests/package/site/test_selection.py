"""Documents that are damaged: what is asked for is UNKNOWN or refused, and the file is named."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from plumbline.model.errors import DocumentError
from plumbline.model.record import Operation
from plumbline.model.verdict import State
from plumbline.site.nodes import Choice, NodeJudgement
from plumbline.store.snapshot import load_expectations, load_snapshot
from tests.package.judgements import expectation, series, snapshot, write


def damaged(text: str, **changes: Any) -> str:
    return json.dumps({**json.loads(text), **changes})


def said_of(expectations: str, taken: str, choice: Choice, now: float) -> str:
    """Return why there is no verdict, or what it says, which is UNKNOWN."""
    try:
        judgement = NodeJudgement(load_expectations(expectations), load_snapshot(taken), now)
    except DocumentError as error:
        return str(error)
    (judged,) = judgement.verdicts(choice)
    assert judged.verdict.state is State.UNKNOWN
    return judged.verdict.sentence


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("snapshot", None, "snapshot.json: no such file; run a probe to write it"),
        ("snapshot", lambda old: "", "snapshot.json: the file is empty; run a probe"),
        ("snapshot", lambda old: old[: len(old) // 2], "snapshot.json is damaged ("),
        ("snapshot", lambda old: old.replace("195000000.0", "NaN"), "NaN is no number"),
        ("snapshot", lambda old: "not JSON", "snapshot.json is damaged (Expecting value"),
        (
            "snapshot",
            lambda old: damaged(old, schema=3),
            "the snapshot has schema 3, this version reads 1; run the probe again to rewrite it",
        ),
        ("snapshot", lambda old: damaged(old, groups=[]), "groups is [], which is no mapping"),
        (
            "snapshot",
            lambda old: old.replace('"evidence": null', '"evidence": {"odds": 3}'),
            "what the runs of a component say is damaged",
        ),
        ("snapshot", lambda old: damaged(old, series=[]), "series is [], which is no mapping"),
        (
            "snapshot",
            lambda old: damaged(old, series={}),
            "scratch-OST0003 write was never recorded on this node; run systemctl start",
        ),
        (
            "snapshot",
            lambda old: old.replace("195000000.0", "-3"),
            "rate is -3, which is no rate",
        ),
        ("snapshot", lambda old: damaged(old, running=[["ost"]]), "the snapshot is damaged"),
        ("expectations", None, "expectations.json: no such file; deploy the role agent again"),
        ("expectations", lambda old: "{", "expectations.json is damaged (Expecting property"),
        ("expectations", lambda old: damaged(old, schema=2), "expectations has schema 2"),
        (
            "expectations",
            lambda old: old.replace('"80:"', '"fast"'),
            "threshold 'fast' is not a Nagios range",
        ),
    ],
)
def test_a_damaged_document_is_named(tmp_path: Path, name: str, content: Any, text: str) -> None:
    now = time.time()
    fresh: dict[str, Any] = {"started_at": now - 70, "finished_at": now - 60}
    every = (series(195e6, operation=Operation.WRITE, **fresh), series(200e6, **fresh))
    _, expectations, _, taken = write(tmp_path, [expectation()], snapshot(*every, now=now))
    path = tmp_path / f"{name}.json"
    old = path.read_text()
    path.unlink()
    if content:
        path.write_text(content(old))
    choice = Choice("ost", "scratch-OST0003")
    said = said_of(expectations, taken, choice, now)
    assert text in said
