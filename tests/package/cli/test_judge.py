"""``plumbline judge`` shows every verdict of a node and ends with the worst."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from plumbline.errors import DocumentError
from plumbline.model.series import Series
from tests.package.cli.driver import call
from tests.package.judgements import (
    REFERENCE,
    expectation,
    host_expectation,
    sent,
    series,
    snapshot,
    write,
)

READ = {"read/single": REFERENCE}
EXPECTED = [
    expectation(component="OST0", references=READ),
    expectation(component="OST1", references=READ),
    host_expectation("oss1"),
]


def fresh(**changes: Any) -> dict[str, Any]:
    now = time.time()
    return {"started_at": now - 70, "finished_at": now - 60, **changes}


def execute(folder: Path, every: list[Series], *arguments: str) -> int:
    documents = write(folder, EXPECTED, snapshot(*every, now=time.time()))
    return call("judge", *documents, *arguments)


def measured(slow_Bps: float) -> list[Series]:
    return [
        series(200e6, **fresh(component="OST0")),
        series(slow_Bps, **fresh(component="OST1")),
        sent("oss1", 117e6, **fresh()),
    ]


def test_every_component_and_group_has_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(tmp_path, measured(200e6)) == 0
    assert capsys.readouterr().out.splitlines() == [
        "state  layer  verdict",
        "OK     ost    OST0 read 200.0 MB/s, 99 % of baseline",
        "OK     ost    OST1 read 200.0 MB/s, 99 % of baseline",
        "OK     net    oss3 send 117.0 MB/s, 100 % of baseline",
        "OK     ost    group scratch read 99 % of baseline, upper median of 2",
    ]


def test_the_worst_verdict_is_the_exit_code(tmp_path: Path) -> None:
    assert execute(tmp_path, measured(150e6)) == 1
    assert execute(tmp_path, measured(80e6)) == 2
    assert execute(tmp_path, measured(80e6)[:1], "--layer", "ost") == 3


def test_one_component_can_be_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(tmp_path, measured(80e6), "--component", "OST0", "-v") == 0
    out = capsys.readouterr().out
    assert "OST1" not in out
    assert "    baseline 202.1 MB/s, spread 1.0 %" in out
    assert execute(tmp_path, measured(80e6), "--layer", "net") == 0


def test_the_document_holds_the_verdicts_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    execute(tmp_path, measured(80e6), "--json")
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["node"]) == (1, "client1")
    states = {each["component"]: each["state"] for each in document["verdicts"]}
    assert states == {"OST0": "OK", "OST1": "CRITICAL", "oss3": "OK", "scratch": "OK"}
    slow = document["verdicts"][1]
    assert slow["ratio_baseline"] == pytest.approx(80 / 202.1)
    assert (slow["rule"], slow["figures"][0]["value"]) == (5, 80e6)


def test_a_damaged_series_spoils_its_component_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    documents = write(tmp_path, EXPECTED, snapshot(*measured(200e6), now=time.time()))
    path = tmp_path / "snapshot.json"
    raw = json.loads(path.read_text())
    del raw["series"]["ost/OST1"][0]["latest"]["outcome"]
    path.write_text(json.dumps(raw))
    assert call("judge", *documents, "--component", "OST1") == 3
    assert call("judge", *documents, "--component", "OST0") == 0
    assert "OST1 cannot be judged: record" in capsys.readouterr().out


def test_what_is_not_expected_here_is_named(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="client1 have no OST9 in layer ost, raw, net; add it"):
        execute(tmp_path, [], "--component", "OST9")
    with pytest.raises(DocumentError, match="no component in layer raw"):
        execute(tmp_path, [], "--layer", "raw")
