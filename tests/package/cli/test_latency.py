"""``plumbline latency`` asks a real Prometheus what devices did, and names the slow one."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, Mapping, NamedTuple, Optional

import pytest

from plumbline.errors import DocumentError, ToolError, UsageError
from tests.package.cli.driver import call
from tests.package.locate.scenes import Scene, lab
from tests.package.prometheus import PROGRAM, holding

WINDOW_S = 900
WINDOWS = 48
DEVICES = {
    f"oss{host}-disk{disk}": (f"oss{host}", f"sd{disk}") for host in (1, 2, 3) for disk in (1, 2)
}
SLOW = "oss2-disk1"
COUNTERS = (
    "node_disk_reads_completed_total",
    "node_disk_read_bytes_total",
    "node_disk_read_time_seconds_total",
)


class Asked(NamedTuple):
    """How it ended, and what it printed."""

    code: int
    out: str


def scraped(slowdown: float, reset_at: Optional[int] = None) -> str:
    """Return what node exporter counted: 10 reads of 1 MB a second, in 5 ms each.

    ``reset_at`` is the scrape at which the host of the slow device was booted.
    """
    now = time.time() // WINDOW_S * WINDOW_S
    lines: dict[str, list[str]] = {name: [f"# TYPE {name} unknown"] for name in COUNTERS}
    lines["plumbline_device_info"] = ["# TYPE plumbline_device_info unknown"]
    scrapes = range(0, (WINDOWS + 1) * WINDOW_S + 1, 300)
    for number, (component, (host, device)) in enumerate(DEVICES.items()):
        known = f'instance="{host}:9100",device="{device}"'
        for scrape, after in enumerate(scrapes):
            at = now - scrapes[-1] + after
            begun = scrapes[reset_at] if reset_at and scrape >= reset_at else 0
            reads = 10.0 * (after - begun) * (1 + number / 50)
            took = reads * 0.005 * (slowdown if component == SLOW else 1.0)
            for name, value in zip(COUNTERS, (reads, reads * 1e6, took)):
                lines[name].append(f"{name}{{{known}}} {value} {at}")
            said = f'plumbline_device_info{{{known},component="{component}"}} 1 {at}'
            lines["plumbline_device_info"].append(said)
    return "\n".join(line for found in lines.values() for line in found)


def ask(plan: Path, url: str, capsys: pytest.CaptureFixture[str], *more: str) -> Asked:
    code = call("latency", "--plan", str(plan), "--prometheus", url, "--since", "12h", *more)
    return Asked(code, capsys.readouterr().out)


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(Scene(lab()).plan.to_json()), encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    if PROGRAM is None:
        pytest.skip("prometheus is not installed")
    return tmp_path


@pytest.mark.long
@pytest.mark.parametrize("reset_at", [None, 70])
def test_a_slow_device_is_named_with_its_probe(
    folder: Path, plan: Path, capsys: pytest.CaptureFixture[str], reset_at: Optional[int]
) -> None:
    with holding(folder, scraped(3.0, reset_at)) as prometheus:
        text = ask(plan, prometheus.address, capsys)
        document = json.loads(ask(plan, prometheus.address, capsys, "--json").out)
    assert text.code == 1
    first, remedy, counts = text.out.splitlines()
    assert first.startswith("oss2 oss2-disk1: read latency 3.0 times that of its 5 peers")
    assert remedy == "  Next: on oss2, plumbline probe raw --component oss2-disk1"
    assert counts == "1 suspected of 6 devices compared"
    found: dict[str, Mapping[str, Any]] = {one["component"]: one for one in document["devices"]}
    assert [name for name, one in found.items() if one["slow"]] == [SLOW]
    assert found[SLOW]["slow_windows"] >= WINDOWS - 3
    assert document["unknown"] == []


@pytest.mark.long
def test_healthy_devices_end_well(
    folder: Path, plan: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with holding(folder, scraped(1.0)) as prometheus:
        asked = ask(plan, prometheus.address, capsys)
    assert asked == (0, "0 suspected of 6 devices compared\n")


@pytest.mark.long
@pytest.mark.parametrize(
    ("left_out", "words"),
    [
        ("node_disk", "has no node_disk_reads_completed_total of this time; let it scrape node"),
        ("plumbline_device_info", "has no plumbline_device_info of this time; deploy the role"),
    ],
)
def test_what_prometheus_lacks_is_named(
    folder: Path, plan: Path, capsys: pytest.CaptureFixture[str], left_out: str, words: str
) -> None:
    kept = [line for line in scraped(1.0).splitlines() if left_out not in line]
    with holding(folder, "\n".join(kept)) as prometheus, pytest.raises(ToolError, match=words):
        ask(plan, prometheus.address, capsys)


def test_a_span_holds_two_windows(plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError, match="at least two times --window"):
        ask(plan, "http://127.0.0.1:1", capsys, "--window", "7h")


def test_nobody_answers(plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ToolError, match=r"http://127\.0\.0\.1:1 does not answer"):
        ask(plan, "http://127.0.0.1:1", capsys)


def test_there_is_no_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(DocumentError, match="plan"):
        ask(tmp_path / "none.json", "http://127.0.0.1:1", capsys)
