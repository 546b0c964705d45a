"""``plumbline judge`` shows every verdict of a node and ends with the worst."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from plumbline.errors import DocumentError, UsageError
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
from tests.package.parallel_runs import expected, ran

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
    assert (document["schema"], document["node"]) == (2, "client1")
    states = {each["component"]: each["state"] for each in document["verdicts"]}
    assert states == {"OST0": "OK", "OST1": "CRITICAL", "oss3": "OK", "scratch": "OK"}
    slow = document["verdicts"][1]
    assert slow["ratio_baseline"] == pytest.approx(80 / 202.1)
    assert (slow["reason"], slow["figures"][0]["value"]) == ("below_level", 80e6)


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
    with pytest.raises(
        DocumentError, match="client1 have no OST9 in layer ost, raw, net, fs; add it"
    ):
        execute(tmp_path, [], "--component", "OST9")
    with pytest.raises(DocumentError, match="no component in layer raw"):
        execute(tmp_path, [], "--layer", "raw")


def test_explain_shows_each_rule_with_its_numbers_and_the_alternatives(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(tmp_path, measured(150e6), "--explain", "OST1") == 1
    first, *lines = capsys.readouterr().out.splitlines()
    assert first.startswith("WARNING ost OST1 read 150.0 MB/s, 74 % of baseline")
    assert any(line.strip().startswith("rule below level: applies (74.2 %") for line in lines)
    assert lines[-1].strip() == "above 161.7 MB/s: OK"
    with pytest.raises(DocumentError, match="OST9"):
        execute(tmp_path, measured(150e6), "--explain", "OST9")


def test_a_replay_prints_a_line_for_each_component_and_day(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "samples.csv"
    rows = [
        f"h,{1_700_006_400 + 60 * n},d{d},{40 if d == 2 else 100}"
        for n in range(4)
        for d in range(4)
    ]
    path.write_text("host,ts,component,rate\n" + "\n".join(rows) + "\nh,1700006400,d5,\n")
    assert call("judge", "--replay", str(path), "--json") == 0
    out, err = capsys.readouterr()
    lines = [json.loads(line) for line in out.splitlines()]
    assert [(line["component"], line["state"]) for line in lines] == [
        ("d0", "OK"),
        ("d1", "OK"),
        ("d2", "CRITICAL"),
        ("d3", "OK"),
    ]
    assert err == "plumbline: rows without a figure or a component, left out: 1\n"
    assert call("judge", "--replay", str(path)) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[-1] == "4 components, 4 days of components: 3 OK, 1 CRITICAL"


def test_disks_polled_one_after_another_have_peers_within_the_window_that_is_proposed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "samples.csv"
    rows = [
        f"h,{1_700_006_400 + 3600 * n + 30 * d},d{d},{40 if d == 2 else 100}"
        for n in range(4)
        for d in range(4)
    ]
    path.write_text("host,ts,component,rate\n" + "\n".join(rows) + "\n")
    assert call("judge", "--replay", str(path)) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[-1] == "4 components, 4 days of components: 4 UNKNOWN"
    assert err == (
        "plumbline: host h has 4 components, no two measured at the same time: none has peers; "
        "a round takes 90 s, try --together 2min\n"
    )
    assert call("judge", "--replay", str(path), "--together", "2min") == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[-1] == "4 components, 4 days of components: 3 OK, 1 CRITICAL"
    assert err == ""


def test_a_replay_of_nothing_and_a_window_without_a_replay_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "samples.csv"
    path.write_text("ts,component,rate\n1700006400,a,\n")
    with pytest.raises(
        DocumentError, match=r"has no row with a figure and the name of a component"
    ):
        call("judge", "--replay", str(path))
    with pytest.raises(DocumentError, match="no known unit"):
        call("judge", "--replay", str(path), "--together", "10 M")
    with pytest.raises(UsageError, match=r"--together belongs to --replay FILE\.csv"):
        call("judge", "--together", "10min")


def test_targets_driven_at_once_have_one_line_and_alone_their_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taken = snapshot(*ran([200e6, 201e6, 80e6, 200e6], time.time() - 60), now=time.time())
    documents = write(tmp_path, expected(), taken)
    assert call("judge", "--layer", "fs", *documents) == 2
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert lines[1].startswith("CRITICAL  fs     file system scratch - OST2 write together")
    assert call("judge", "--component", "OST1", *documents) == 0
    assert "OST1 write together 201.0 MB/s" in capsys.readouterr().out
    assert call("judge", "--explain", "OST2", *documents) == 2
    assert "CRITICAL fs OST2 write together 80.0 MB/s" in capsys.readouterr().out
