"""``plumbline metrics`` exports results of a node or a site to Prometheus and Checkmk."""

from __future__ import annotations

import json
import os
import stat
import time
from pathlib import Path
from typing import Iterable

import pytest
from prometheus_client.parser import text_string_to_metric_families

from plumbline.doors.prometheus import STEPS, families
from plumbline.model import codec
from plumbline.model.errors import StoreError
from plumbline.model.expectation import Expectations
from plumbline.model.quantity import OPERATIONS_PER_S, SECONDS
from plumbline.model.series import Series
from plumbline.model.space import (
    Amount,
    Outlook,
    SpaceReport,
    SpaceTerms,
    SystemSpace,
    TargetOutlook,
    TargetSpace,
    Trend,
)
from plumbline.model.symptom import Direction, Look, Report, Symptom
from plumbline.model.units import DAY_S
from plumbline.model.verdict import State
from plumbline.parts.space.history import record_of
from plumbline.parts.space.outlook import Look as SpaceLook
from tests.package.cli.driver import Run, call
from tests.package.cli.test_judge import READ, fresh
from tests.package.judgements import (
    evidence,
    expectation,
    host_expectation,
    sent,
    series,
    snapshot,
    write,
)
from tests.package.parallel_runs import expected, ran
from tests.package.prometheus import complaints
from tests.package.records import save

EXPECTED = [
    expectation(component="OST0", references=READ),
    expectation(component="OST1", references=READ),
    expectation(
        layer="raw",
        component="disk1",
        group="oss1",
        references=READ,
        target={"kind": "device", "device": "/dev/disk/by-id/sdz"},
    ),
    host_expectation("oss1", target={"kind": "host", "address": "10.0.0.3"}),
    *expected(),
]
OST0 = {"layer": "ost", "component": "OST0", "file_system": "scratch"}
OST1 = {**OST0, "component": "OST1"}
STEP = {"operation": "read", "scenario": "single"}
IN_OTHER_UNITS = {
    f"{metric.name}_{quantity.metric}"
    for metric in STEPS
    for quantity in (OPERATIONS_PER_S, SECONDS)
}
NAMES = {family.name for family in families((), (), 0.0)} - IN_OTHER_UNITS
"""Metrics of a site whose layers move bytes."""
EVIDENCE = {("ost", "OST1", False): evidence()}


def measured() -> list[Series]:
    """Return the series of a node: OST1 is slow, disk1 failed, the link retransmits."""
    return [
        series(200e6, **fresh(component="OST0", coverage=0.97)),
        series(80e6, **fresh(component="OST1")),
        series(None, **fresh(layer="raw", component="disk1")),
        sent("oss1", 117e6, **fresh(retransmits=1000, bytes=144_800_000)),
        *ran([200e6] * 4, time.time() - 60),
    ]


def metrics_file(folder: Path, measured: Iterable[Series], *options: str) -> str:
    """Write the metrics of a node and return them."""
    documents = write(folder, EXPECTED, snapshot(*measured, now=time.time(), known=EVIDENCE))
    target = folder / "plumbline.prom"
    assert call("metrics", *documents, "--output", str(target), *options) == 0
    return target.read_text(encoding="utf-8")


def values(text: str) -> dict[str, list[tuple[dict[str, str], float]]]:
    """Return labels and values by metric name, as read by the Prometheus client."""
    return {
        family.name: [(sample.labels, sample.value) for sample in family.samples]
        for family in text_string_to_metric_families(text)
    }


def value_of(text: str, name: str, labels: dict[str, str]) -> float:
    """Return the only value of a metric with these labels."""
    (value,) = (value for keys, value in values(text)[f"plumbline_{name}"] if keys == labels)
    return value


def test_a_link_has_the_share_of_retransmits(tmp_path: Path) -> None:
    link = {"layer": "net", "component": "oss3", "operation": "send", "scenario": "single"}
    assert value_of(
        metrics_file(tmp_path, measured()), "retransmitted_ratio", link
    ) == pytest.approx(0.01)


def test_a_damaged_component_is_unknown_and_the_others_have_metrics(
    tmp_path: Path, run: Run
) -> None:
    measurements = snapshot(*measured(), now=time.time(), known=EVIDENCE)
    measurements.series["ost/OST0"]["operations"][0]["latest"]["rate"] = "fast"
    documents = write(tmp_path, EXPECTED, measurements)
    text = run("metrics", *documents).out
    assert value_of(text, "verdict_state", OST0) == 3
    assert value_of(text, "verdict_state", OST1) == 2
    rates = values(text)["plumbline_rate_bytes_per_second"]
    assert {**OST0, **STEP} not in [labels for labels, _ in rates]


def test_a_device_is_labelled_with_its_kernel_name(tmp_path: Path) -> None:
    devices = values(metrics_file(tmp_path, measured()))["plumbline_device_info"]
    assert devices == [({"device": "sdz", "component": "disk1"}, 1.0)]


def test_promtool_finds_nothing_wrong(tmp_path: Path) -> None:
    write_report(tmp_path / "symptoms.json")
    write_space(tmp_path / "space.json")
    text = metrics_file(tmp_path, measured())
    assert values(text).keys() == NAMES
    assert complaints(text) == ""
    wrong = text.replace("plumbline_rate_bytes_per_second", "plumbline_rate_milliseconds")
    assert complaints(wrong)


def test_the_metrics_file_is_world_readable_under_any_umask(
    tmp_path: Path,
) -> None:
    umask = os.umask(0o077)
    try:
        metrics_file(tmp_path, measured())
    finally:
        os.umask(umask)
    assert stat.S_IMODE((tmp_path / "plumbline.prom").stat().st_mode) == 0o644
    assert [path.name for path in tmp_path.glob("*.prom*")] == ["plumbline.prom"]


def test_an_error_leaves_the_old_file_in_place(tmp_path: Path) -> None:
    metrics_file(tmp_path, measured())
    old = (tmp_path / "plumbline.prom").read_text()
    (tmp_path / f".plumbline.prom.{os.getpid()}.new").mkdir()
    with pytest.raises(StoreError, match=r"plumbline\.prom cannot be written"):
        metrics_file(tmp_path, measured())
    assert (tmp_path / "plumbline.prom").read_text() == old


def test_metrics_are_printed_without_a_file(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    documents = write(tmp_path, EXPECTED, snapshot(*measured(), now=time.time(), known=EVIDENCE))
    assert call("metrics", *documents, "--format", "checkmk") == 0
    lines = capfdbinary.readouterr().out.decode().splitlines()
    assert [line.split('"')[1] for line in lines] == [
        "OST OST0",
        "OST OST1",
        "RAW disk1",
        "NET oss3",
        "OST group scratch",
        "FS group scratch",
        "NODE client1",
    ]
    assert lines[1].startswith('2 "OST OST1" read_Bps=80000000;;;0;250000000 OST1 read 80.0 MB/s, ')


DEGRADED = Symptom(
    "md", "client1", "degraded", State.WARNING, Direction.RAISES, "array md0 is degraded"
)


def write_report(path: Path) -> None:
    """Write the report of a node with symptoms of two array collectors."""
    looks = [Look(name, 1, (DEGRADED,), kind="arrays") for name in ("md", "ddn")]
    looks.append(Look("smart", 1, unavailable="no", kind="disks"))
    path.parent.mkdir(exist_ok=True)
    report = Report("client1", time.time() - 60, tuple(looks))
    path.write_text(json.dumps(codec.write(report)))


def write_space(path: Path) -> None:
    """Write the report of a node on a file system with a target that fills and one that is lost."""
    filling = Outlook(Trend.FILLING, 28, 9 * DAY_S, 16 * DAY_S)
    amounts = Amount(800, 200), Amount(10, 90)
    targets = (
        TargetOutlook(TargetSpace("OST0", "ost", *amounts), filling, filling),
        TargetOutlook(TargetSpace("OST1", "ost", trouble="it does not answer")),
    )
    report = SpaceReport("client1", (SystemSpace(SpaceTerms("scratch"), 1.7e9, targets),))
    path.write_text(json.dumps(codec.write(report)))


def test_the_space_of_each_known_target_is_exported(tmp_path: Path, run: Run) -> None:
    documents = write(tmp_path, EXPECTED, snapshot(*measured(), now=time.time()))
    write_space(tmp_path / "space.json")
    text = run("metrics", *documents).out
    labels = {"file_system": "scratch", "target": "OST0", "kind": "ost"}
    assert value_of(text, "space_used_bytes", labels) == 800
    assert value_of(text, "space_free_inodes", labels) == 90
    assert value_of(text, "space_full_seconds", labels) == 9 * DAY_S
    of_system = {"node": "client1", "file_system": "scratch"}
    assert value_of(text, "space_timestamp_seconds", of_system) == 1.7e9
    # what is not known is absent, and not 0
    assert 'target="OST1"' not in text
    (tmp_path / "space.json").write_text("{")
    assert "plumbline: without space: " in run("metrics", *documents).err


def test_symptoms_are_counted_by_kind_and_severity(tmp_path: Path, run: Run) -> None:
    documents = write(tmp_path, EXPECTED, snapshot(*measured(), now=time.time()))
    write_report(tmp_path / "symptoms.json")
    text = run("metrics", *documents).out
    labels = {"node": "client1", "kind": "arrays"}
    assert value_of(text, "symptoms", {**labels, "severity": "warning"}) == 2
    assert value_of(text, "symptoms", {**labels, "severity": "critical"}) == 0
    assert 'kind="disks"' not in text
    lines = run("metrics", "--format", "checkmk", *documents).out.splitlines()
    assert [line[:28] for line in lines if "SYMPTOMS" in line] == [
        '0 "SYMPTOMS client1" collect',
        '1 "SYMPTOMS client1 arrays" ',
    ]


def test_unreadable_symptoms_are_excluded_and_reported(tmp_path: Path, run: Run) -> None:
    documents = write(tmp_path, EXPECTED, snapshot(*measured(), now=time.time()))
    (Path(documents[3]).parent / "symptoms.json").write_text("{")
    out, err = run("metrics", *documents)
    assert "plumbline_symptoms" not in out
    assert "without symptoms" in err


def test_the_console_counts_collected_symptoms(tmp_path: Path, run: Run) -> None:
    node = Expectations("client1", "lab", tuple(entry.to_json() for entry in EXPECTED)).to_json()
    plan, history = tmp_path / "plan.json", tmp_path / "all.sqlite"
    plan.write_text(json.dumps({"schema": 1, "nodes": {"client1": node}, "services": []}))
    save(history, [])
    write_report(tmp_path / "symptoms" / "client1.json")
    text = run("metrics", "--plan", str(plan), "--history", str(history)).out
    labels = {"node": "client1", "kind": "arrays", "severity": "warning"}
    assert value_of(text, "symptoms", labels) == 2
    assert 'plumbline_symptoms{kind="disks"' not in text


def test_the_console_exports_the_space_that_nodes_have_sent(tmp_path: Path, run: Run) -> None:
    node = Expectations("client1", "lab", tuple(entry.to_json() for entry in EXPECTED))
    node = node._replace(space=(SpaceTerms("scratch"),))
    plan, history = tmp_path / "plan.json", tmp_path / "all.sqlite"
    plan.write_text(json.dumps({"schema": 1, "nodes": {"client1": node.to_json()}, "services": []}))
    look = SpaceLook(
        SpaceTerms("scratch"), time.time(), (TargetSpace("OST0", "ost", Amount(800, 200)),)
    )
    save(history, [record_of(look, "client1")])
    text = run("metrics", "--plan", str(plan), "--history", str(history)).out
    labels = {"file_system": "scratch", "target": "OST0", "kind": "ost"}
    assert value_of(text, "space_free_bytes", labels) == 200
    assert "plumbline_space_free_inodes" not in values(text)
