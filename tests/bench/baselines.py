"""How long baselines of 10,000 targets take: capture, accept, diff, age, in seconds and peak MB.

Five runs of two operations on each target, 100,000 records; each action is a process of its own.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Iterator

import yaml

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from plumbline.model.record import Operation, Outcome, Record, Scenario, Tool  # noqa: E402
from plumbline.plan.policy import load, spec_of  # noqa: E402
from tests.bench.ceilings import site  # noqa: E402

TARGETS = 10_000
RUNS = 5
DAY_S = 86400.0
PROFILE_BPS = tuple(150e6 + 1e5 * second for second in range(10))
RATES_BPS = {Operation.WRITE: 100e6, Operation.READ: 150e6}


def records() -> Iterator[Record]:
    """Yield the records of a site whose targets differ by 2 % and whose runs by 1 %."""
    chance, spec = random.Random(7), spec_of(load({}), "ost", "work", "")
    begun = time.time() - RUNS * DAY_S
    for target in range(TARGETS):
        own = chance.gauss(1, 0.02)
        for run in range(RUNS):
            for operation, middle_Bps in RATES_BPS.items():
                rate = middle_Bps * own * chance.gauss(1, 0.01)
                yield Record(
                    id=f"{target:08x}{run:016x}{operation.value:>8}",
                    run_id=f"{run:032x}",
                    layer="ost",
                    component=f"work-OST{target:04x}",
                    operation=operation,
                    scenario=Scenario.SINGLE,
                    outcome=Outcome.OK,
                    host="client1",
                    started_at=begun + run * DAY_S,
                    finished_at=begun + run * DAY_S + 20,
                    bytes=3 << 30,
                    seconds=20.0,
                    rate=rate,
                    repeats=(rate,) * 3,
                    profile=PROFILE_BPS,
                    tool=Tool("fio", "3.39", ("fio", "--rw=write", "--bs=1M", "--direct=1")),
                    spec=spec.to_json(),
                    spec_hash=spec.hash(),
                    fill=0.4 + 0.02 * chance.random(),
                    versions={"client": "2.17.0", "server": "2.17.0", "checksums": "t10ip4K"},
                )


def prepare(folder: Path) -> list[str]:
    """Write inventory and records; return the arguments that name the records."""
    documents = folder / "group_vars" / "all"
    documents.mkdir(parents=True)
    text = yaml.safe_dump({"plumbline_topology": site(TARGETS)})
    (documents / "topology.yml").write_text(text, encoding="utf-8")
    with (folder / "records.jsonl").open("w", encoding="utf-8") as stream:
        stream.writelines(f"{json.dumps(record.to_json())}\n" for record in records())
    return ["--records", str(folder / "records.jsonl")]


def timed(*argv: str) -> tuple[float, float, float]:
    """Run one action; return its seconds on the clock, its CPU seconds, its peak in MB."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "plumbline.cli", "baseline", *argv],
        stdout=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"plumbline baseline {argv[0]} ended with {process.returncode}")
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e6


def main() -> None:
    """Print the table."""
    print(f"baselines of {TARGETS} targets, {2 * RUNS * TARGETS} records")
    print("action       s   CPU s   peak MB")
    with tempfile.TemporaryDirectory() as name:
        given = prepare(Path(name))
        for action, more in (
            ("capture", given),
            ("accept", ["--reason", "first", "--by", "bench"]),
            ("diff", []),
            ("age", given),
        ):
            seconds, cpu_s, peak_MB = timed(action, "-i", name, *more)
            print(f"{action:8}{seconds:6.1f}{cpu_s:8.1f}{peak_MB:10.0f}", flush=True)


if __name__ == "__main__":
    main()
