"""``plumbline locate`` names the slow parts, from the plan and the history of all nodes."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, Iterable, Optional

import pytest

from plumbline.model.codec import write
from plumbline.model.errors import DocumentError
from plumbline.model.record import Record
from plumbline.parts.locate.observation import Site
from plumbline.parts.locate.sentences import HEADERS
from plumbline.store.facts import keep_collected
from tests.package.cli.driver import Printed, Run
from tests.package.model.ledgers import condition, ledger, look_at
from tests.package.observe.servers import counted
from tests.package.parts.locate.scenes import LAB, LaneRates, both, rate, record_of, with_baselines
from tests.package.records import night_after_night, save


def plan() -> dict[str, Any]:
    """Return the lab's plan with a baseline below the ceiling for each reference."""
    return with_baselines(LAB.plan)


def measured(
    faults: LaneRates, retransmitted: Iterable[str] = (), now: Optional[float] = None
) -> Iterable[Record]:
    """Yield the records of one night; paths across ``retransmitted`` lose segments."""
    now = time.time() if now is None else now
    for measurable in Site(LAB.plan.expectations).measurables():
        measured_Bps = rate(measurable.of, faults)
        yield record_of(
            measurable,
            measured_Bps,
            clean=not set(retransmitted) & {*measurable.of.path},
            run_id=f"{measurable.of.node} {measurable.of.layer}",
            repeats=(measured_Bps,) * 2,
            started_at=now - 70,
            finished_at=now - 60,
        )


@pytest.fixture
def execute(tmp_path: Path, run: Run) -> Run:
    """Return a function that saves nights of records and locates."""

    def locate(
        records: Iterable[Record], *arguments: str, document: Any = None, code: int = 0
    ) -> Printed:
        path, history = tmp_path / "plan.json", tmp_path / "history.sqlite"
        path.write_text(json.dumps(document or plan()), encoding="utf-8")
        save(history, night_after_night(records))
        options = ("--plan", str(path), "--history", str(history))
        return run("locate", *options, *arguments, code=code)

    return locate


def test_a_slow_disk_and_a_slow_link_are_named(execute: Run) -> None:
    faults = {"oss2-disk1": both(80e6), "oss3-nic": both(25e6)}
    first, second, last = execute(measured(faults), code=1).out.splitlines()
    assert first.startswith("Suspect: nic oss3-nic (2 of 3 slow targets cross it, 3 healthy ones")
    assert second.startswith("Suspect: disk oss2-disk1 (1 of 3 slow targets cross it, 3 healthy")
    assert "Raw reads 40 % of what is expected, targets 67 %" in second
    assert last.startswith("20 slow, ")


def all_slower() -> list[Record]:
    """Return a night on which all targets lose half their rate, disks and links nothing."""
    return [
        record if record.layer != "ost" or record.rate is None else halved(record, record.rate / 2)
        for record in measured({})
    ]


def halved(record: Record, rate: float) -> Record:
    return record._replace(rate=rate, repeats=(rate,) * 2)


def test_a_shared_loss_is_one_line_and_not_a_suspect_per_component(execute: Run) -> None:
    first, last = execute(all_slower(), code=1).out.splitlines()
    assert first.startswith("Shared loss: ost group scratch ")
    assert " 50 % of its baseline over 8 runs" in first
    assert last.startswith("12 slow, ")
    raw = execute([], "--json", code=1).document
    assert raw["sets"] == []
    assert [(loss["layer"], loss["group"]) for loss in raw["shared"]] == [("ost", "scratch")]


def save_upgrade(tmp_path: Path) -> None:
    """Save a change of the servers before the loss, and of a client after it."""
    first = min(record.started_at for record in night_after_night(all_slower()))
    old, new = condition("Lustre", "2.3.0"), condition("Lustre", "2.4.0")
    for node in ("oss1", "oss2", "oss3"):
        bills = (look_at(node, first - age, item) for age, item in ((7200, old), (3600, new)))
        keep_collected(tmp_path / "history.sqlite", node, write(ledger(*bills)))
    bills = (look_at("client1", first + age, item) for age, item in ((3600, old), (7200, new)))
    keep_collected(tmp_path / "history.sqlite", "client1", write(ledger(*bills)))


def test_a_change_before_a_shared_loss_is_in_its_sentence(tmp_path: Path, execute: Run) -> None:
    execute(all_slower(), code=1)
    save_upgrade(tmp_path)
    sentence = execute([], code=1).out.splitlines()[0]
    assert ". No part explains it. Since 20" in sentence
    assert sentence.endswith(": Lustre 2.3.0 -> 2.4.0 on all 3 servers.")


@pytest.mark.slow
def test_a_change_before_a_shared_loss_is_in_the_service_of_its_group(
    tmp_path: Path, execute: Run, run: Run
) -> None:
    execute(all_slower(), code=1)
    words = [str(tmp_path / name) for name in ("plan.json", "history.sqlite")]
    words = ["--plan", words[0], "--history", words[1], "--batch", "-"]

    def group() -> str:
        (result,) = (
            line.partition(";OST group scratch;")[2].partition(" | ")[0]
            for line in run("submit", *words).out.splitlines()
            if ";OST group scratch;" in line
        )
        return result

    before = group()
    assert before.startswith("2;OST CRITICAL - group scratch read 50 % of its baseline over 8 runs")
    save_upgrade(tmp_path)
    note = group().removeprefix(before)
    assert note.startswith("; since 20")
    assert note.endswith(": Lustre 2.3.0 -> 2.4.0 on all 3 servers")
    # the saved verdict is the same
    assert group() == before + note


def test_a_loss_explained_by_one_part_is_not_a_shared_loss(execute: Run) -> None:
    out = execute(measured({"client1-nic": both(25e6)}), code=1).out
    assert out.startswith("Suspects, ambiguous: client client1 or nic client1-nic")
    assert "Shared loss" not in out


@pytest.mark.slow
def test_the_evidence_is_shown_on_request(execute: Run) -> None:
    lines = execute(measured({"oss2-disk1": both(80e6)}), "-v", code=1).out.splitlines()
    assert lines[2].split() == [*HEADERS]
    assert any("raw oss2-disk1 read " in line and "40 %" in line for line in lines)


@pytest.mark.slow
def test_one_slow_night_is_no_fault_unless_only_that_run_is_judged(execute: Run) -> None:
    nights = [
        record._replace(
            id=f"{record.id} {ago:.0f}",
            started_at=record.started_at - ago,
            finished_at=record.finished_at - ago,
        )
        for ago in (86400.0, 2 * 86400.0)
        for record in measured({})
    ]
    assert execute([*nights, *measured({"oss2-disk1": both(80e6)})]).out.startswith("0 slow, ")
    assert execute([], "--last-run", code=1).out.startswith("Suspect: disk oss2-disk1 (")


@pytest.mark.slow
def test_nodes_without_usable_symptoms_are_named(tmp_path: Path, execute: Run) -> None:
    (tmp_path / "symptoms").mkdir()
    (tmp_path / "symptoms" / "oss9.json").write_text("{}", encoding="utf-8")
    remark = "Left out are the symptoms of oss9 (it is no node of the plan)."
    assert remark in execute(measured({})).out.splitlines()
    assert execute([], "--json").document["remarks"] == [remark]


def test_a_plan_without_parts_is_refused(execute: Run) -> None:
    old = plan()
    del old["parts"]
    with pytest.raises(DocumentError, match="does not say what the parts are; write it again"):
        execute([], document=old)


@pytest.mark.slow
def test_jobs_on_a_slow_target_are_named_and_probes_are_not(tmp_path: Path, execute: Run) -> None:
    at = time.time() - 100
    rows = [
        [at, at + 10, "4711", 0, 38 * 10**9],
        [at, at + 10, "fio.987", 0, 10**9],
        [at + 10, at + 20, "a\x1b[31m", 5 * 10**9, 0],
    ]
    counts = [
        record._replace(component=target, id=f"{record.id} {target} {record.operation}")
        for target in ("scratch-OST0001", "scratch-OST0002")
        for record in counted([1.0], start=at, jobs=rows)
    ]
    faults = {"oss2-disk1": both(80e6)}
    save(tmp_path / "history.sqlite", counts)
    (remark,) = [
        line
        for line in execute(measured(faults), code=1).out.splitlines()
        if line.startswith("Jobs on")
    ]
    assert remark.startswith("Jobs on scratch-OST0002 within 10 min of its low ")
    jobs = "job 4711 moved 38.0 GB, job a\N{REPLACEMENT CHARACTER}[31m moved 5000.0 MB."
    assert remark.endswith(f" UTC: {jobs}")
    assert remark in execute([], "--json", code=1).document["remarks"]


@pytest.mark.slow
def test_a_difference_from_its_peers_is_a_symptom_of_a_suspected_host(
    tmp_path: Path, execute: Run
) -> None:
    raw = plan()
    for name in ("client2", "client3", "client4"):
        raw["nodes"][name] = {**raw["nodes"]["client1"], "node": name, "entries": []}
        raw["parts"][name] = raw["parts"]["client1"]
    for name in ("client1", "client2", "client3", "client4"):
        governor = "powersave" if name == "client1" else "performance"
        changes = ledger(look_at(name, time.time(), condition("governor", governor, "cpu")))
        keep_collected(tmp_path / "history.sqlite", name, write(changes))
    out = execute(measured({"client1-nic": both(25e6)}), document=raw, code=1).out
    assert out.startswith("Suspects, ambiguous: client client1 or nic client1-nic")
    assert "Symptoms of client client1: governor powersave, 3 peers performance." in out
