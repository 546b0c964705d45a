"""Judging of sites and nodes; damaged documents are named."""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any, Mapping

import pytest

from plumbline.model.errors import DocumentError, StoreError
from plumbline.model.expectation import Expectations
from plumbline.model.record import Operation
from plumbline.model.series import Running
from plumbline.model.verdict import Judged, Reason, State
from plumbline.site.nodes import Choice, NodeJudgement, judgement
from plumbline.store.history import History
from plumbline.store.plan import SitePlan
from plumbline.store.snapshot import load_expectations, load_snapshot
from tests.package.cli.driver import call
from tests.package.judgements import (
    REFERENCE,
    expectation,
    series,
    snapshot,
    write,
)
from tests.package.recorded import table
from tests.package.records import NIGHTS, every_night

# --- A site is judged node by node, with peers of the whole site.


READ = {"read/single": REFERENCE}


def judge_site(
    plan: SitePlan, history: Path, now: float, *, evidence: bool = False
) -> list[Judged]:
    """Return the verdicts on a site."""
    with judgement(plan, history, now) as site:
        return list(site.verdicts(evidence=evidence))


def site(nodes: int, members: int) -> SitePlan:
    """Return a plan in which each node measures the same number of targets of one file system."""
    documents = {}
    for node in range(nodes):
        entries = [
            expectation(component=f"OST{node}-{number}", references=READ).to_json()
            for number in range(members)
        ]
        documents[f"client{node}"] = Expectations(f"client{node}", "lab", tuple(entries))
    return SitePlan(documents, (), path="plan.json")


def fill(path: Path, plan: SitePlan, now: float, nights: int = NIGHTS) -> None:
    """Save nights of each node; the first target of each node but client0 is slow."""
    with History(path) as history:
        for node, document in plan.nodes.items():
            for number, entry in enumerate(document.entries[:5]):
                slow = number == 0 and node != "client0"
                rate = 80e6 if slow else 200e6
                common: dict[str, Any] = {
                    "repeats": (rate,) * 3,
                    "spec_hash": "abc",
                    "rate": rate,
                }
                common |= {"component": entry["component"], "host": node}
                for record in every_night(now - 60, nights, **common):
                    history.save(record)


def test_one_slow_night_is_watched(tmp_path: Path) -> None:
    now, plan = time.time(), site(2, 5)
    fill(tmp_path / "all.sqlite", plan, now, nights=1)
    verdicts = [judged.verdict for judged in judge_site(plan, tmp_path / "all.sqlite", now)]
    assert {verdict.state for verdict in verdicts} == {State.OK}
    watched = [verdict.component for verdict in verdicts if verdict.reason is Reason.WATCHED]
    assert watched == ["OST1-0"]


@pytest.mark.slow
def test_every_component_and_group_of_every_node_is_judged(tmp_path: Path) -> None:
    nodes, members = 3, 5
    now, plan = time.time(), site(nodes, members)
    fill(tmp_path / "all.sqlite", plan, now)
    results = judge_site(plan, tmp_path / "all.sqlite", now)
    assert len(results) == nodes * (members + 1)
    assert list(dict.fromkeys(result.node for result in results)) == list(plan.nodes)
    verdicts = [result.verdict for result in results]
    slow = [verdict.component for verdict in verdicts if verdict.state is State.CRITICAL]
    assert slow == [f"OST{node}-0" for node in range(1, nodes)]
    groups = [verdict for verdict in verdicts if verdict.group]
    assert {group.component for group in groups} == {"scratch"}
    assert len(groups) == nodes


def test_a_group_spans_the_site_and_needs_more_than_half_of_its_members(tmp_path: Path) -> None:
    now, plan = time.time(), site(2, 2)
    with History(tmp_path / "all.sqlite") as history:
        common: dict[str, Any] = {"repeats": (80e6,) * 3, "spec_hash": "abc", "rate": 80e6}
        for name in ("OST0-0", "OST1-0", "OST1-1"):
            for record in every_night(now - 60, component=name, **common):
                history.save(record)
    verdicts = [result.verdict for result in judge_site(plan, tmp_path / "all.sqlite", now)]
    states = [(verdict.component, verdict.group, verdict.state) for verdict in verdicts]
    # three of four targets on two nodes have the same loss, which is a shared loss
    assert states == [
        ("OST0-0", False, State.OK),
        ("OST0-1", False, State.UNKNOWN),
        ("scratch", True, State.CRITICAL),
        ("OST1-0", False, State.OK),
        ("OST1-1", False, State.OK),
        ("scratch", True, State.CRITICAL),
    ]


def test_explain_shows_the_runs_of_the_node_of_a_component(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan, history = site(3, 5), tmp_path / "all.sqlite"
    fill(history, plan, time.time())
    nodes = {name: node.to_json() for name, node in plan.nodes.items()}
    document = {"schema": 1, "site": "lab", "nodes": nodes, "services": []}
    (tmp_path / "plan.json").write_text(json.dumps(document))
    words = ["judge", "--plan", str(tmp_path / "plan.json"), "--history", str(history)]
    assert call(*words, "--explain", "OST2-0") == 2
    out = capsys.readouterr().out
    assert out.startswith("CRITICAL ost OST2-0 read 80.0 MB/s")
    assert "rule below level: applies" in out
    assert "OST1" not in out
    with pytest.raises(DocumentError, match="has no OST9 in layer"):
        call(*words, "--explain", "OST9")


def test_peers_are_the_components_in_the_runs_of_the_same_node(tmp_path: Path) -> None:
    now, plan = time.time(), site(2, 5)
    fill(tmp_path / "all.sqlite", plan, now)
    results = judge_site(plan, tmp_path / "all.sqlite", now, evidence=True)
    verdicts = [result.verdict for result in results if not result.verdict.group]
    lines = [line.strip() for verdict in verdicts for line in verdict.evidence]
    peers = {line.partition(" of ")[2] for line in lines if line.endswith("in the same run")}
    assert peers == {"its 4 peers' median 200.0 MB/s in the same run"}
    results = judge_site(plan, tmp_path / "all.sqlite", now)
    assert all(result.verdict.evidence == () for result in results)


def test_a_damaged_record_affects_only_its_component_and_group(tmp_path: Path) -> None:
    now, plan = time.time(), site(2, 5)
    fill(tmp_path / "all.sqlite", plan, now)
    with closing(sqlite3.connect(tmp_path / "all.sqlite")) as database, database:
        database.execute("UPDATE records SET body = '{' WHERE component = 'OST0-3'")
    verdicts = [result.verdict for result in judge_site(plan, tmp_path / "all.sqlite", now)]
    unknown = [verdict for verdict in verdicts if verdict.state is State.UNKNOWN]
    assert [verdict.component for verdict in unknown] == ["OST0-3", "scratch"]
    assert "cannot be judged: history" in unknown[0].sentence


def test_a_hung_run_is_found_in_the_history(tmp_path: Path) -> None:
    now, plan = time.time(), site(1, 2)
    fill(tmp_path / "all.sqlite", plan, now)
    with History(tmp_path / "all.sqlite") as history:
        history.begin("r", Running("ost", "OST0-1", now - 9000))
    states = [result.verdict.state for result in judge_site(plan, tmp_path / "all.sqlite", now)]
    assert states == [State.OK, State.CRITICAL, State.OK]


def test_a_missing_history_is_not_created(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"there is no history .*all.sqlite; name the one"):
        judge_site(site(1, 1), tmp_path / "all.sqlite", 0.0)
    assert list(tmp_path.iterdir()) == []


def test_damaged_expectations_of_a_node_are_named(tmp_path: Path) -> None:
    nodes = dict(site(3, 400).nodes)
    entries = tuple({**entry, "limits": 5} for entry in nodes["client2"].entries)
    nodes["client2"] = nodes["client2"]._replace(entries=entries)
    with History(tmp_path / "all.sqlite"):
        pass
    with pytest.raises(DocumentError, match="expectations of client2: an entry of layer ost is"):
        judge_site(SitePlan(nodes, (), path="plan.json"), tmp_path / "all.sqlite", 0.0)
    with judgement(
        SitePlan(nodes, (), path="plan.json"), tmp_path / "all.sqlite", 0.0, "net"
    ) as judged:
        assert [text.partition(" is ")[0] for text in judged.left_out] == [
            "expectations of client2: an entry of layer ost"
        ]


# --- Damaged documents: the verdict is UNKNOWN or refused, and the file is named.


def message(expectations: str, snapshot_path: str, choice: Choice, now: float) -> str:
    """Return the error, or the sentence of the verdict, which is UNKNOWN."""
    try:
        judgement = NodeJudgement(
            load_expectations(expectations), load_snapshot(snapshot_path), now
        )
    except DocumentError as error:
        return str(error)
    (judged,) = judgement.verdicts(choice)
    assert judged.verdict.state is State.UNKNOWN
    return judged.verdict.sentence


@pytest.mark.parametrize(
    "case", table("node_documents.yml")["cases"], ids=lambda case: case["says"]
)
def test_a_damaged_document_is_named(tmp_path: Path, case: Mapping[str, Any]) -> None:
    now = time.time()
    fresh: dict[str, Any] = {"started_at": now - 70, "finished_at": now - 60}
    measured = (series(195e6, operation=Operation.WRITE, **fresh), series(200e6, **fresh))
    documents = write(tmp_path, [expectation()], snapshot(*measured, now=now))
    path = tmp_path / f"{case['file']}.json"
    whole = path.read_text()
    for old, new in case.get("replace", {}).items():
        assert old in whole
        whole = whole.replace(old, new)
    if "keys" in case:
        whole = json.dumps({**json.loads(whole), **case["keys"]})
    path.write_text(case.get("text", whole) or "")
    if case.get("text", whole) is None:
        path.unlink()
    assert case["says"] in message(
        documents[1], documents[3], Choice("ost", "scratch-OST0003"), now
    )
