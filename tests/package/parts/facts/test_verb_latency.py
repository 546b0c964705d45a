"""``plumbline latency`` queries a real Prometheus and names the slow device."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, Iterator, Mapping, Optional

import pytest

from plumbline.model.errors import ToolError
from plumbline.store.facts import suspicions_of
from tests.package.cli.driver import Printed, Run
from tests.package.parts.facts.test_loads import answering, matrix
from tests.package.parts.locate.scenes import LAB
from tests.package.prometheus import PROGRAM, Sample, holding, openmetrics

WINDOW_S = 900
WINDOWS = 48
DEVICES = {
    f"oss{host}-disk{disk}": (f"oss{host}", f"sd{disk}") for host in (1, 2, 3) for disk in (1, 2)
}
SLOW = "oss2-disk1"
OSTS = tuple(f"scratch-OST{index:04x}" for index in range(6))
SLOW_OST = "scratch-OST0004"
COUNTERS = (
    "node_disk_reads_completed_total",
    "node_disk_read_bytes_total",
    "node_disk_read_time_seconds_total",
)
BUCKETS = "plumbline_lustre_disk_io_seconds_bucket"
LUSTRE = (
    "plumbline_lustre_operations_total",
    "plumbline_lustre_bytes_total",
    "plumbline_lustre_operation_seconds_total",
)


def scrapes() -> Iterator[tuple[int, float]]:
    """Yield the seconds since the first scrape and the time of each."""
    now = time.time() // WINDOW_S * WINDOW_S
    last = (WINDOWS + 1) * WINDOW_S
    yield from ((after, now - last + after) for after in range(0, last + 1, 300))


def devices(slowdown: float, reset_at: Optional[int] = None) -> Iterator[Sample]:
    """Yield counters of node exporter: 10 reads of 1 MB a second, 5 ms each.

    ``reset_at`` is the scrape at which hosts were booted.
    """
    for number, (component, (host, device)) in enumerate(DEVICES.items()):
        labels = f'instance="{host}:9100",device="{device}"'
        for scrape, (after, at) in enumerate(scrapes()):
            begun = 300 * reset_at if reset_at and scrape >= reset_at else 0
            reads = 10.0 * (after - begun) * (1 + number / 50)
            took = reads * 0.005 * (slowdown if component == SLOW else 1.0)
            for name, value in zip(COUNTERS, (reads, reads * 1e6, took)):
                yield Sample(name, labels, value, at)
            yield Sample("plumbline_device_info", f'{labels},component="{component}"', 1, at)


def osts(slowdown: float) -> Iterator[Sample]:
    """Yield counters of Lustre servers for each OST, summed over clients.

    The disk takes 16 ms for each write, and ``slowdown`` times that for one OST; obdfilter counts
    them before.  The counters of a client (osc) for the same OSTs differ and must be ignored.
    """
    for number, ost in enumerate(OSTS):
        disk_s = 0.016 * (slowdown if ost == SLOW_OST else 1.0)
        for source in ("obdfilter", "osc"):
            labels = f'instance="oss",source="{source}",target="{ost}",operation="write"'
            for after, at in scrapes():
                writes = 20.0 * after * (1 + number / 50)
                for name, value in zip(LUSTRE, (writes, writes * 4e6, writes * 0.002)):
                    yield Sample(name, labels, value, at)
        labels = f'instance="oss",source="osd-ldiskfs",target="{ost}",operation="write"'
        for after, at in scrapes():
            for limit in ("0.008", "0.016", "0.032", "0.064", "+Inf"):
                count = 20.0 * after * (1 + number / 50) * (disk_s <= float(limit))
                yield Sample(BUCKETS, f'{labels},le="{limit}"', count, at)


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(LAB.plan.to_json()), encoding="utf-8")
    return path


@pytest.fixture
def ask(plan: Path, run: Run) -> Run:
    """Return a function that runs the command on a Prometheus address."""

    def latency(url: str, *options: str, code: int = 0) -> Printed:
        words = ("--plan", str(plan), "--prometheus", url, "--since", "12h", *options)
        return run("latency", *words, code=code)

    return latency


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    if PROGRAM is None:
        pytest.skip("prometheus is not installed")
    return tmp_path


@pytest.mark.long
@pytest.mark.parametrize("reset_at", [None, 70])
def test_a_slow_device_is_named_with_its_probe(
    folder: Path, ask: Run, reset_at: Optional[int]
) -> None:
    with holding(folder, openmetrics(devices(3.0, reset_at))) as prometheus:
        text = ask(prometheus.address, code=1)
        document = ask(prometheus.address, "--json", code=1).document
    first, remedy, counts, unknown = text.out.splitlines()
    assert first.startswith("oss2 oss2-disk1: read latency 3.0 times that of its 5 peers")
    assert remedy == "  Next: on oss2, plumbline probe raw --component oss2-disk1"
    assert counts == "1 suspected of 6 compared"
    rows: dict[str, Mapping[str, Any]] = {row["component"]: row for row in document["components"]}
    assert [name for name, row in rows.items() if row["slow"]] == [SLOW]
    assert rows[SLOW]["slow_windows"] >= WINDOWS - 3
    assert unknown.startswith("6 without enough load or peers, health unknown: scratch-OST0000")
    assert document["unknown"] == list(OSTS)


@pytest.mark.long
def test_a_slow_ost_is_named_with_its_probe_and_saved_for_its_node(folder: Path, ask: Run) -> None:
    history = folder / "history.sqlite"
    with holding(folder, openmetrics(osts(4.0))) as prometheus:
        text = ask(prometheus.address, code=1)
        ask(prometheus.address, "--save", str(history))
    first, remedy, counts, _ = text.out.splitlines()
    assert first.startswith(f"oss3 {SLOW_OST}: write latency 4.0 times that of its 5 peers")
    assert remedy == f"  Next: on client1, plumbline probe ost --component {SLOW_OST}"
    assert counts == "1 suspected of 6 compared"
    (suspicion,) = suspicions_of(history, "client1", time.time()) or ()
    assert suspicion[:2] == ("ost", SLOW_OST)
    assert suspicions_of(history, "oss1", time.time()) == ()


@pytest.mark.long
def test_healthy_devices_exit_with_0(folder: Path, ask: Run) -> None:
    with holding(folder, openmetrics(devices(1.0))) as prometheus:
        output = ask(prometheus.address)
    assert output.out.startswith("0 suspected of 6 compared\n")


@pytest.mark.long
@pytest.mark.parametrize(
    ("missing", "words"),
    [
        ("node_disk", "has no node_disk_reads_completed_total of this time; let it scrape node"),
        ("plumbline_device_info", "has no plumbline_device_info of this time; deploy the role"),
    ],
)
def test_metrics_missing_in_prometheus_are_named(
    folder: Path, ask: Run, missing: str, words: str
) -> None:
    text = openmetrics(sample for sample in devices(1.0) if missing not in sample.metric)
    with holding(folder, text) as prometheus, pytest.raises(ToolError, match=words):
        ask(prometheus.address)


def test_warnings_of_prometheus_are_shown_if_no_data_remains(ask: Run) -> None:
    with answering(matrix(warnings=["store oss2 is away"])) as server:
        warning, error = ask(server.url, code=69).err.splitlines()
        assert warning == f"plumbline: {server.url} warns: store oss2 is away"
        assert "has no node_disk_reads_completed_total" in error
