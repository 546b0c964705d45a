"""A device that is slow by the tail of its small reads alone is named, in seconds, everywhere."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, Iterator

import pytest

from plumbline.model.expectation import Expectation
from plumbline.plan.expectations import compile_plan
from plumbline.plan.policy import load
from plumbline.topology.graph import build
from tests.characterization.door import Node, bring
from tests.characterization.product import Answer, run
from tests.package.cli.driver import finish
from tests.package.sites import parts

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("faketime") is None, reason="there is no faketime"),
]

NIGHTS, NOW, DAY_S = 8, 1_767_225_600.0, 86400.0
LATE = "oss1-nvme3"
RATES = {"read": 6e9, "randread": 12_000.0, "randread32": 300_000.0}
"""About those of data sheets; the figures are made up here, not measured."""
TAILS_S = {"randread": 0.0003, "randread32": 0.0004}
LATE_S = 0.012


def devices() -> dict[str, Any]:
    """Return a server with six devices of flash."""
    nvme = {
        "name": "oss1-nvme[1-6]",
        "kind": "disk",
        "rate": "7 GB/s",
        "device": "/dev/nvme[1-6]n1",
        "media": "flash",
        "iops": 1_000_000,
        "feeds": "oss1",
    }
    return parts(
        {"name": "switch1", "kind": "switch"},
        {"name": "oss1", "kind": "server", "feeds": "switch1"},
        nvme,
    )


def records(entries: tuple[Expectation, ...]) -> Iterator[dict[str, Any]]:
    """Yield nights of records; in the last three one device has a long tail, and usual rates."""
    for night in range(NIGHTS):
        for number, entry in enumerate(entries):
            healthy = 1 + 0.01 * ((night + number) % 3)
            late = entry.component == LATE and night >= NIGHTS - 3
            for operation, scenario, _ in entry.steps():
                name = operation.of or operation
                tail_s = LATE_S if late and name == "randread" else TAILS_S.get(name, 0.0)
                rate = RATES[name] if operation.of is None else 1 / tail_s
                at = NOW - (NIGHTS - night) * DAY_S + 3600 + 20 * number
                yield {
                    "schema": 3,
                    "id": f"{entry.component} {operation} {scenario.value} {night}",
                    "run_id": f"night {night}",
                    "layer": "raw",
                    "component": entry.component,
                    "operation": operation,
                    "scenario": scenario.value,
                    "outcome": "ok",
                    "host": "oss1",
                    "started_at": at,
                    "finished_at": at + 5.0,
                    "path": entry.path,
                    "seconds": 5.0,
                    "rate": healthy * rate,
                    "repeats": [healthy * rate],
                    "spec": entry.spec_of(operation).to_json(),
                    "spec_hash": entry.spec_of(operation).hash(),
                    "versions": {},
                }


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("flash")
    plan = compile_plan(build(devices()), load({}), {})
    (folder / "plan.json").write_text(json.dumps(plan.to_json()), encoding="utf-8")
    bring(folder, {"oss1": Node(list(records(plan.expectations["oss1"])))}, NOW)
    return folder


def ask(site: Path, verb: str, *options: str) -> Answer:
    """Run a verb with plan and history and return its answer."""
    where = ("--plan", f"{site}/plan.json", "--history", f"{site}/history.sqlite")
    return run(verb, *where, *options, at=NOW)


def test_a_device_with_a_long_tail_and_usual_rates_is_named(site: Path) -> None:
    verdicts = {
        verdict["component"]: verdict
        for verdict in ask(site, "judge", "--json").document()["verdicts"]
        if verdict["layer"] == "raw" and not verdict["group"]
    }
    states = {name: verdict["state"] for name, verdict in verdicts.items()}
    assert states.pop(LATE) == "CRITICAL"
    assert set(states.values()) == {"OK"}
    assert verdicts[LATE]["sentence"].startswith(
        f"{LATE} randread p99.9 12.0 ms, no baseline yet, 40 times its 5 peers' median 297.0 us: "
    )


def test_nagios_gets_the_rates_and_tails_of_small_reads(site: Path) -> None:
    batch = site / "batch"
    assert ask(site, "submit", "--batch", str(batch)).code == 0
    (line,) = (
        line
        for line in batch.read_text(encoding="utf-8").splitlines()
        if f"RAW {LATE} read randread randread32;2;" in line
    )
    _, data = line.split("| ")
    figures = dict(label.split("=") for label in data.replace("'", "").split())
    assert [*figures][:6] == [
        "read_Bps",
        "read_together_Bps",
        "randread_ops",
        "randread32_ops",
        "randread_p99.9_s",
        "randread32_p99.9_s",
    ]
    assert figures["randread_p99.9_s"].startswith("0.012;")
    # the data sheet is the maximum of many reads at once
    assert figures["randread32_ops"].endswith(";0;1000000")


def test_metrics_and_report_have_small_reads_in_their_units(site: Path) -> None:
    metrics = ask(site, "metrics").out
    labels = f'layer="raw",component="{LATE}"'
    for name, operation in (
        ("rate_operations_per_second", "randread"),
        ("rate_seconds", "randread p99.9"),
        ("ceiling_operations_per_second", "randread32"),
        ("ceiling_bytes_per_second", "read"),
    ):
        lines = [line for line in metrics.splitlines() if line.startswith(f"plumbline_{name}{{")]
        assert [line for line in lines if labels in line and f'operation="{operation}"' in line]
    assert not [line for line in metrics.splitlines() if "ceiling_bytes" in line and "rand" in line]
    report = site / "report"
    assert ask(site, "report", "--output", str(report)).code == 0
    numbers = (report / "data" / "targets.csv").read_text(encoding="utf-8")
    assert f"{LATE},randread p99.9,single,CRITICAL,0.012," in numbers


@pytest.mark.skipif(shutil.which("fio") is None, reason="there is no fio")
def test_files_of_directories_are_read_at_random_by_fio(tmp_path: Path) -> None:
    words = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        words += ["--directory", f"{name}={tmp_path}/{name}"]
    done = finish(tmp_path, "probe", "ost", *words, "--random-reads", "--bytes", "4MiB", "--json")
    records = json.loads(done.stdout)["records"]
    if "direct" in records[0]["reason"]:
        pytest.skip("this file system takes no direct I/O")
    small = [record for record in records if record["operation"] in ("randread", "randread32")]
    assert [record["outcome"] for record in small] == ["ok"] * 4, records
    for record in small:
        assert record["spec"]["transfer_bytes"] == 4096
        assert 0 < record["bytes"] <= len(record["repeats"]) * 4 << 20
        times = [record["quantities"][name] for name in ("p50", "p99", "p99.9")]
        assert 0 < times[0] <= times[1] <= times[2] < 60
    assert [list((tmp_path / name).iterdir()) for name in ("a", "b")] == [[], []]


@pytest.mark.parametrize("words", [["raw"], ["ost"], ["mdt", "--directory", "a=/tmp"]])
def test_random_reads_are_of_directories_alone(words: list[str], tmp_path: Path) -> None:
    done = finish(tmp_path, "probe", *words, "--random-reads")
    assert done.returncode == 64
    assert "--random-reads reads files of directories" in done.stderr
