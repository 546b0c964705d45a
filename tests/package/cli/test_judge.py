"""``plumbline judge`` prints the verdicts of a node, ``status`` one screen of states."""

from __future__ import annotations

import argparse
import io
import json
import time
from pathlib import Path
from types import MappingProxyType
from typing import Any, Mapping

import pytest

from plumbline.cli import options
from plumbline.model.errors import DocumentError
from plumbline.model.evidence import Evidence, Subject
from plumbline.model.layers import LAYERS
from plumbline.model.series import Series
from tests.package.cli.driver import Printed, Run, call
from tests.package.judgements import (
    REFERENCE,
    evidence,
    expectation,
    host_expectation,
    sent,
    series,
    snapshot,
    write,
)
from tests.package.parallel_runs import expected, ran

# --- ``plumbline judge`` prints every verdict of a node and exits with the worst.


READ = {"read/single": REFERENCE}
EXPECTED = [
    expectation(component="OST0", references=READ),
    expectation(component="OST1", references=READ),
    host_expectation("oss1"),
]


def fresh(**changes: Any) -> dict[str, Any]:
    now = time.time()
    return {"started_at": now - 70, "finished_at": now - 60, **changes}


Evidences = Mapping[Subject, Evidence]
NO_EVIDENCE: Evidences = MappingProxyType({})


def alarm_on_ost1(**changes: Any) -> Evidences:
    """Return evidence of an alarm on OST1."""
    return {("ost", "OST1", False): evidence(**changes)}


def measured(slow_Bps: float) -> list[Series]:
    return [
        series(200e6, **fresh(component="OST0")),
        series(slow_Bps, **fresh(component="OST1")),
        sent("oss1", 117e6, **fresh()),
    ]


@pytest.fixture
def execute(tmp_path: Path, run: Run) -> Run:
    """Return a function that judges the series of a node."""

    def judge(
        measured: list[Series], *arguments: str, known: Evidences = NO_EVIDENCE, code: int = 0
    ) -> Printed:
        documents = write(tmp_path, EXPECTED, snapshot(*measured, now=time.time(), known=known))
        return run("judge", *documents, *arguments, code=code)

    return judge


def test_every_component_and_group_has_a_line(execute: Run) -> None:
    assert execute(measured(200e6)).out.splitlines() == [
        "state  layer  verdict",
        "OK     ost    OST0 read 200.0 MB/s, 99 % of baseline",
        "OK     ost    OST1 read 200.0 MB/s, 99 % of baseline",
        "OK     net    oss3 send 117.0 MB/s, 100 % of baseline",
        "OK     ost    group scratch read 99 % of baseline, upper median of 2",
    ]


def test_the_worst_verdict_is_the_exit_code(execute: Run) -> None:
    execute(measured(150e6), known=alarm_on_ost1(ratio=0.74), code=1)
    execute(measured(80e6), known=alarm_on_ost1(), code=2)
    execute(measured(80e6)[:1], "--layer", "ost", code=3)


def test_one_slow_run_is_watched(execute: Run) -> None:
    assert execute(measured(80e6)).out.splitlines()[2] == (
        "OK     ost    OST1 watching: read 80.0 MB/s, 40 % of baseline 202.1 MB/s (12 runs to "
        "2026-11-20), ceiling 250.0 MB/s by disk oss2-disk1; too few runs to tell it from chance"
    )
    suspicious = alarm_on_ost1(alarm=False, odds=4.0)
    assert (
        "odds 55 to 1 against chance, 8,103 for an alarm"
        in execute(measured(80e6), known=suspicious).out
    )


def test_one_component_can_be_selected(execute: Run) -> None:
    out = execute(measured(80e6), "--component", "OST0", "-v").out
    assert "OST1" not in out
    assert "    baseline 202.1 MB/s, spread 1.0 %" in out
    execute(measured(80e6), "--layer", "net")


def test_a_damaged_series_affects_only_its_component(tmp_path: Path, run: Run) -> None:
    documents = write(tmp_path, EXPECTED, snapshot(*measured(200e6), now=time.time()))
    path = tmp_path / "snapshot.json"
    raw = json.loads(path.read_text())
    del raw["series"]["ost/OST1"]["operations"][0]["latest"]["outcome"]
    path.write_text(json.dumps(raw))
    damaged = run("judge", *documents, "--component", "OST1", code=3).out
    assert "OST1 cannot be judged: record" in damaged
    run("judge", *documents, "--component", "OST0")


def test_damaged_expectations_affect_only_their_layer(tmp_path: Path, run: Run) -> None:
    documents = write(tmp_path, EXPECTED, snapshot(*measured(200e6), now=time.time()))
    path = tmp_path / "expectations.json"
    raw = json.loads(path.read_text())
    raw["entries"][1]["limits"] = "none"
    path.write_text(json.dumps(raw))
    output = run("judge", *documents, "--layer", "net")
    assert output.out.splitlines()[1:] == ["OK     net    oss3 send 117.0 MB/s, 100 % of baseline"]
    damage = "expectations of client1: an entry of layer ost is damaged"
    assert output.err.startswith(f"plumbline: {damage}")
    assert len(output.err.splitlines()) == 1
    for arguments in ((), ("--layer", "ost"), ("--component", "OST0")):
        with pytest.raises(DocumentError, match=damage):
            run("judge", *documents, *arguments)


def test_on_a_console_that_is_no_node_the_site_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PLAN", "HISTORY", "EXPECTATIONS"):
        monkeypatch.setattr(options, name, str(tmp_path / name))
        (tmp_path / name).touch()
    node = argparse.Namespace(plan=None, history=None)
    assert not options.asks_for_site(node)
    (tmp_path / "EXPECTATIONS").unlink()
    assert options.asks_for_site(node)
    assert (node.plan, node.history) == (str(tmp_path / "PLAN"), str(tmp_path / "HISTORY"))


@pytest.mark.parametrize(
    ("words", "choice", "names"),
    [
        (("--component", "OST9"), f"OST9 in layer {', '.join(LAYERS)}", ": it has OST1, OST0"),
        (("--component", "x"), f"x in layer {', '.join(LAYERS)}", ": it has OST0, OST1, oss3"),
        (("--layer", "net", "--component", "OST0"), "OST0 in layer net", ": it has oss3"),
        (("--layer", "raw"), "component in layer raw", ""),
    ],
)
def test_an_unexpected_component_or_layer_is_named_with_those_that_are_there(
    execute: Run, words: tuple[str, ...], choice: str, names: str
) -> None:
    sentence = f"client1 has no {choice}; correct the name{names}, or add it to the topology"
    with pytest.raises(DocumentError, match=sentence):
        execute([], *words)


def test_a_test_named_without_its_file_system_is_found(tmp_path: Path, run: Run) -> None:
    entries = [expectation(component=f"scratch:{test}", references=READ) for test in ("1m1", "1m2")]
    documents = write(tmp_path, entries, snapshot(now=time.time()))
    with pytest.raises(DocumentError, match="it has scratch:1m2, or add"):
        run("judge", *documents, "--component", "1m2")


def test_the_last_run_is_judged_with_the_evidence_of_earlier_runs_in_the_sentence(
    execute: Run,
) -> None:
    known = alarm_on_ost1(alarm=False, odds=4.0, ratio=0.74)
    assert "watching: read" in execute(measured(80e6), known=known).out
    verdicts = execute(measured(80e6), "--last-run", "--json", known=known, code=2).document[
        "verdicts"
    ]
    (ost1,) = (verdict for verdict in verdicts if verdict["component"] == "OST1")
    assert (ost1["state"], ost1["reason"]) == ("CRITICAL", "below_level")
    assert ost1["sentence"].endswith(
        "55 to 1 against chance, 8,103 for an alarm; its service watches"
    )


def test_explain_shows_each_rule_with_its_numbers_and_the_alternatives(execute: Run) -> None:
    known = alarm_on_ost1(ratio=0.74)
    first, second, *lines = execute(
        measured(150e6), "--explain", "OST1", known=known, code=1
    ).out.splitlines()
    assert first.startswith("WARNING ost OST1 read 150.0 MB/s, 74 % of baseline")
    assert second.startswith("  read 74 % of its baseline over 3 runs since 2024-10-02")
    assert second.endswith("odds 59,874 to 1 against chance, 8,103 for an alarm")
    assert any(line.strip().startswith("rule below level: applies (74.2 %") for line in lines)
    assert lines[-1].strip() == "above 161.7 MB/s: OK"
    with pytest.raises(DocumentError, match="OST9"):
        execute(measured(150e6), "--explain", "OST9")


def test_a_replay_prints_a_line_for_each_component_and_day(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "samples.csv"
    rows = [
        f"h,{1_700_006_400 + 86400 * day},d{d},{40 if d == 2 else 100}"
        for day in range(6)
        for d in range(4)
    ]
    path.write_text("host,ts,component,rate\n" + "\n".join(rows) + "\nh,1700006400,d5,\n")
    out, err = run("judge", "--replay", str(path), "--json")
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line["component"] for line in lines] == [f"d{d}" for _ in range(6) for d in range(4)]
    assert {line["state"] for line in lines if line["component"] != "d2"} == {"OK"}
    states = [line["state"] for line in lines if line["component"] == "d2"]
    assert (states[0], states[-1]) == ("OK", "CRITICAL")
    assert err == "plumbline: rows without a figure or a component, left out: 1\n"
    alarms = sum(state == "CRITICAL" for state in states)
    assert run("judge", "--replay", str(path)).out.splitlines()[-1] == (
        f"4 components, 24 days of components: {24 - alarms} OK, {alarms} CRITICAL"
    )


def test_disks_polled_in_turn_have_peers_within_the_suggested_window(
    tmp_path: Path, run: Run
) -> None:
    path = tmp_path / "samples.csv"
    rows = [
        f"h,{1_700_006_400 + 3600 * n + 30 * d},d{d},{40 if d == 2 else 100}"
        for n in range(4)
        for d in range(4)
    ]
    path.write_text("host,ts,component,rate\n" + "\n".join(rows) + "\n")
    out, err = run("judge", "--replay", str(path))
    assert out.splitlines()[-1] == "4 components, 4 days of components: 4 UNKNOWN"
    assert err == (
        "plumbline: host h has 4 components, no two measured at the same time: none has peers; "
        "a round takes 90 s, try --together 2min\n"
    )
    out, err = run("judge", "--replay", str(path), "--together", "2min")
    assert out.splitlines()[-1] == "4 components, 4 days of components: 4 OK"
    assert err == ""


def test_an_empty_replay_is_refused(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "samples.csv"
    path.write_text("ts,component,rate\n1700006400,a,\n")
    with pytest.raises(
        DocumentError, match=r"has no row with a figure and the name of a component"
    ):
        call("judge", "--replay", str(path))


def test_parallel_targets_share_one_line_and_have_their_own_on_request(
    tmp_path: Path, run: Run
) -> None:
    measured = ran([200e6, 201e6, 80e6, 200e6], time.time() - 60)
    without_alarm = write(tmp_path, expected(), snapshot(*measured, now=time.time()))
    assert (
        "OK     fs     file system scratch watching: write"
        in run("judge", "--layer", "fs", *without_alarm).out
    )
    known = {("fs", "OST2", False): evidence(what="write together")}
    documents = write(tmp_path, expected(), snapshot(*measured, now=time.time(), known=known))
    lines = run("judge", "--layer", "fs", *documents, code=2).out.splitlines()
    assert len(lines) == 2
    assert lines[1].startswith("CRITICAL  fs     file system scratch - OST2 write together")
    assert "OST1 write together 201.0 MB/s" in run("judge", "--component", "OST1", *documents).out
    assert (
        "CRITICAL fs OST2 write together 80.0 MB/s"
        in run("judge", "--explain", "OST2", *documents, code=2).out
    )


# --- ``plumbline status`` on a node, from its snapshot; of a site see test_report.


def documents(folder: Path, slow_Bps: float, known: Evidences = NO_EVIDENCE) -> list[str]:
    """Write expectations and snapshot of a node; return the options that name them."""
    measurements = snapshot(*measured(slow_Bps), now=time.time(), known=known)
    return list(write(folder, EXPECTED, measurements))


def test_status_lists_the_worst_first_and_exits_with_its_state(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    head, _, first, *rest = run(
        "status", *documents(tmp_path, 80e6, alarm_on_ost1()), code=2
    ).out.splitlines()
    assert head.endswith(": 1 CRITICAL, 0 UNKNOWN, 0 WARNING, 2 OK")
    assert first.split()[:4] == ["CRITICAL", "ost", "OST1", "read"]
    assert "80.0 MB/s, 40 % of baseline" in first
    assert len(rest) == 2


def test_status_shows_a_group_loss_and_exits_with_its_state(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    known = {("ost", "scratch", True): evidence()}
    head, _, first, *rest = run(
        "status", *documents(tmp_path, 200e6, known), code=2
    ).out.splitlines()
    assert head.endswith(": 1 CRITICAL, 0 UNKNOWN, 0 WARNING, 3 OK")
    assert first.split()[:6] == ["CRITICAL", "ost", "group", "scratch", "read", "40"]
    assert [row.split()[2] for row in rest] == ["OST0", "OST1", "oss3"]
    components = run("status", "--json", *documents(tmp_path, 200e6, known), code=None).document[
        "components"
    ]
    assert [row["group"] for row in components] == [False, False, False, True]


def test_status_as_json_has_the_rates(tmp_path: Path, run: Run) -> None:
    rows = run("status", "--json", *documents(tmp_path, 200e6)).document["components"]
    assert [row["component"] for row in rows] == ["OST0", "OST1", "oss3"]
    assert rows[0]["rates"]["read"][-1] == 200e6


def test_a_terminal_without_unicode_bars_gets_digits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    latin = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    monkeypatch.setattr("sys.stdout", latin)
    assert call("status", *documents(tmp_path, 80e6, alarm_on_ost1())) == 2
    latin.seek(0)
    first = latin.read().splitlines()[2]
    assert first.split()[3].isdigit()
