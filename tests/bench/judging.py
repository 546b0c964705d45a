"""From a collected history to verdicts and one batch file: aims at 3 s and 500 MB for 10,000.

Every component has two operations and a full history of runs beside its peers, and every
hundredth is slow.  Building the history is not counted; the pipeline runs as a process of its own.
"""

from __future__ import annotations

import json
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Iterator, NamedTuple

from plumbline.model.expectation import Expectation, Expectations
from plumbline.model.limits import Limits
from plumbline.model.record import Latency, Operation, Outcome, Record, Scenario, Tool
from plumbline.model.reference import Baseline, Ceiling, Reference
from plumbline.model.service import Service
from plumbline.model.spec import ProbeSpec
from plumbline.store.history import History

ROOT = Path(__file__).parents[2]
SIZES = (1_000, 3_000, 10_000)
AIM_S, AIM_MB = 3.0, 500.0

RUNS = 30
MEMBERS = 50
"""Peers of one group, which are measured in one run."""

RATE_BPS = 200e6
SLOW = 0.4
DAY_S = 86400.0
STEPS = {
    "ost": ((Operation.WRITE, Scenario.SINGLE), (Operation.READ, Scenario.SINGLE)),
    "raw": ((Operation.READ, Scenario.SINGLE), (Operation.READ, Scenario.TOGETHER)),
}
TOOL = Tool("fio", "fio-3.39", ("fio", "--name=plumbline", "--output-format=json", "--direct=1"))


class Part(NamedTuple):
    """One component among the peers of its node."""

    layer: str
    number: int
    node: str

    @property
    def name(self) -> str:
        """Return the component's name."""
        return f"scratch-OST{self.number:04x}" if self.layer == "ost" else f"disk{self.number}"


def parts(count: int) -> Iterator[Part]:
    """Yield the components: groups of peers, a quarter of them OSTs, the others disks."""
    for number in range(count):
        group = number // MEMBERS
        layer = "raw" if group % 4 else "ost"
        yield Part(layer, number, f"{'oss' if layer == 'raw' else 'client'}{group}")


def expectation(part: Part) -> Expectation:
    """Return what is expected of a component."""
    spec = ProbeSpec(tool="fio", bytes=1 << 30, seconds=30.0)
    dates = ("2026-01-01", "2026-01-12")
    baseline = Baseline(RATE_BPS, 0.01, 12, *dates, spec.hash(), {}, "ada", "new disks")
    reference = Reference(Ceiling(250e6, (part.name,), ("disk",)), baseline)
    return Expectation(
        layer=part.layer,
        component=part.name,
        host=f"oss{part.number // MEMBERS}",
        group=part.node,
        target={"kind": "directory", "directory": f"/mnt/{part.name}"},
        path=(part.node, "switch", part.name),
        spec=spec,
        references={f"{what.value}/{how.value}": reference for what, how in STEPS[part.layer]},
        limits=Limits(),
    )


def service(part: Part) -> Service:
    """Return the service that shows the verdict on a component."""
    return Service(
        f"oss{part.number // MEMBERS}",
        part.node,
        f"{part.layer.upper()} {part.name}",
        f"plumbline_{part.layer}_{part.name}",
        f"check_{part.layer}",
        ("--component", part.name),
        part.layer,
        part.name,
        "",
        129600,
    )


def group_service(part: Part) -> Service:
    """Return the service that shows the verdict on a component's group."""
    return service(part)._replace(
        host=part.node,
        description=f"{part.layer.upper()} group {part.node}",
        component="",
        group=part.node,
    )


def plan(every: list[Part]) -> dict[str, object]:
    """Return the plan of a site as a document."""
    nodes: dict[str, list[Part]] = {}
    for part in every:
        nodes.setdefault(part.node, []).append(part)
    documents = {
        node: Expectations(node, "bench", tuple(expectation(one).to_json() for one in members))
        for node, members in nodes.items()
    }
    services = [service(part) for part in every]
    services += [group_service(members[0]) for members in nodes.values()]
    return {
        "schema": 1,
        "site": "bench",
        "nodes": {name: document.to_json() for name, document in documents.items()},
        "services": [one.to_json() for one in services],
    }


def records(every: list[Part], now: float) -> Iterator[Record]:
    """Yield all records in the order in which nightly runs would bring them."""
    chance = Random(1)
    spec = ProbeSpec(tool="fio", bytes=1 << 30, seconds=30.0)
    for run in range(RUNS):
        start = now - 3600 - (RUNS - 1 - run) * DAY_S
        for part in every:
            for number, (operation, scenario) in enumerate(STEPS[part.layer]):
                rate_Bps = RATE_BPS * chance.gauss(1, 0.01) * (1 if part.number % 100 else SLOW)
                yield Record(
                    id=f"{run}-{part.name}-{number}",
                    run_id=f"{part.node}-{run:032}",
                    layer=part.layer,
                    component=part.name,
                    operation=operation,
                    scenario=scenario,
                    outcome=Outcome.OK,
                    host=part.node,
                    started_at=start,
                    finished_at=start + 20,
                    path=(part.node, "switch", part.name),
                    bytes=1 << 30,
                    seconds=(1 << 30) / rate_Bps,
                    rate_Bps=rate_Bps,
                    repeats_Bps=(rate_Bps * 0.99, rate_Bps, rate_Bps * 1.01),
                    profile_Bps=(rate_Bps,) * 5,
                    latency=Latency(0.03, 0.03, 0.05, 0.1),
                    tool=TOOL,
                    spec=spec.to_json(),
                    spec_hash=spec.hash(),
                    fill=0.4,
                    coverage=0.99,
                    versions={},
                )


def build(folder: Path, count: int, now: float) -> tuple[Path, Path]:
    """Write the plan and the history of ``count`` components; return their paths."""
    every = list(parts(count))
    paths = folder / f"plan{count}.json", folder / f"history{count}.sqlite"
    paths[0].write_text(json.dumps(plan(every), indent=1), encoding="utf-8")
    with History(paths[1]):
        pass
    rows = (
        (
            one.id,
            one.run_id,
            one.layer,
            one.component,
            one.operation.value,
            one.scenario.value,
            "",
            one.outcome.value,
            one.started_at,
            one.rate_Bps,
            one.coverage,
            "",
            json.dumps(one.to_json(), separators=(",", ":")),
        )
        for one in records(every, now)
    )
    # as History.save does it, in one transaction: a minute instead of an hour
    with closing(sqlite3.connect(paths[1])) as connection, connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.executemany(
            "INSERT INTO records (id, run_id, layer, component, operation, scenario, partner, "
            f"outcome, started_at, rate_Bps, coverage, flags, body) VALUES ({', '.join('?' * 13)})",
            rows,
        )
    connection.close()
    return paths


class Cost(NamedTuple):
    """What one run of the pipeline took; ``peak_MB`` is of all its processes together."""

    seconds: float
    processor_s: float
    peak_MB: float
    said: str


def run(plan_file: Path, history: Path, batch: Path) -> Cost:
    """Judge a site as a process of its own, and watch its memory ten times a second."""
    argv = [sys.executable, "-m", "plumbline.cli", "submit", "--plan", str(plan_file)]
    argv += ["--history", str(history), "--batch", str(batch)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start, peak = time.perf_counter(), 0.0
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=environment) as process:
        while process.poll() is None:
            peak = max(peak, sum(map(memory_MB, family(process.pid))))
            time.sleep(0.1)
        seconds = time.perf_counter() - start
        said = process.stdout.read() if process.stdout else ""
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if process.returncode:
        raise SystemExit(f"plumbline submit ended with {process.returncode}")
    return Cost(seconds, used, peak, said.strip())


def family(pid: int) -> list[int]:
    """Return a process and its children."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    except OSError:
        return []
    return [pid, *map(int, children)]


def memory_MB(pid: int) -> float:
    """Return the memory of a process, what it shares with others counted in parts."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    except OSError:
        # it has ended meanwhile
        return 0.0
    return next((float(line.split()[1]) for line in text.splitlines() if "Pss:" in line), 0.0) / 1e3


def main() -> int:
    """Print seconds and memory by size, and how both grow."""
    costs: dict[int, Cost] = {}
    with tempfile.TemporaryDirectory() as name:
        for count in SIZES:
            files = build(Path(name), count, time.time())
            batch = Path(name) / "batch"
            # once to fill the page cache, which a history just collected is in too
            costs[count] = min(run(*files, batch) for _ in range(3))
            cost = costs[count]
            lines = len(batch.read_text(encoding="utf-8").splitlines())
            print(
                f"{count:6} components, {RUNS} runs of two operations: {cost.seconds:.2f} s "
                f"(processors {cost.processor_s:.2f} s), {cost.peak_MB:.0f} MB, {lines} results"
            )
            files[1].unlink()
    small, large = costs[SIZES[0]], costs[SIZES[-1]]
    print(
        f"{SIZES[-1] // SIZES[0]} times the components: {large.seconds / small.seconds:.1f} times "
        f"the time, {large.peak_MB / small.peak_MB:.1f} times the memory "
        f"(aim: {AIM_S:g} s, {AIM_MB:g} MB)"
    )
    return 1 if large.seconds > AIM_S or large.peak_MB > AIM_MB else 0


if __name__ == "__main__":
    sys.exit(main())
