"""CPU time of each check as a multiple of Python's own start; the aim is at most 2.2.

A figure to look at and not a test, as both numbers vary on a busy machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any, Iterator, Mapping

from plumbline.model.codec import compact
from plumbline.model.expectation import Expectation, Expectations, Partner
from plumbline.model.limits import Baseline, Ceiling, Limits, Reference
from plumbline.model.record import Operation, Outcome, Record, Scenario
from plumbline.model.series import Sample, Series, Snapshot
from plumbline.model.service import NO_ALARMS
from plumbline.model.spec import ProbeSpec
from plumbline.model.symptom import Direction, Look, Report, Symptom
from plumbline.model.verdict import Figure, Reason, State, Verdict
from plumbline.model.verdict_files import SYMPTOMS_FILE
from plumbline.site.checks import Verdicts
from plumbline.site.published import publish_symptoms
from plumbline.store.files import seal
from plumbline.store.snapshot import load_snapshot
from plumbline.store.verdicts import published_paths
from tests.package.judgements import published
from tests.package.judgements import snapshot as snapshot_of
from tests.package.parallel_runs import expected, ran

ROOT = Path(__file__).parents[2]
PYTHON = "/usr/bin/python3"
AIM = 2.2
ROUNDS = 40

# A large client: this many targets, this many earlier runs of each.
TARGETS = 48
RUNS = 30
RATE_BPS = 200e6
DAY_S = 86400.0
CHECKS = {
    "check_ost": ("ost", (Operation.WRITE, Operation.READ)),
    "check_raw": ("raw", (Operation.READ,)),
    "check_net": ("net", (Operation.SEND, Operation.RECEIVE)),
}
# A large site: this many file systems and shared components.
PATHS = 1200
CEILING = Ceiling(250e6, ("disk",))
SPEC = ProbeSpec(tool="fio", bytes=1 << 30, seconds=30.0)


def expectation(layer: str, number: int, operations: tuple[Operation, ...]) -> Expectation:
    """Return the expectation of a target with peers."""
    reference = Reference(
        CEILING,
        Baseline(RATE_BPS, 0.01, 12, "2026-01-01", "2026-01-12", SPEC.hash(), {}, "a", "first"),
    )
    return Expectation(
        layer=layer,
        component=f"{layer}{number}",
        host="server",
        group="all",
        target={"kind": "directory"},
        path=("client", "disk"),
        spec=SPEC,
        references={f"{operation.value}/single": reference for operation in operations},
        limits=Limits(),
        partners=(Partner("peer", "192.0.2.1", ("peer",), CEILING),) if layer == "net" else (),
    )


def series(layer: str, number: int, operation: Operation, now: float) -> Series:
    """Return a full history of an operation on a target."""
    latest = Record(
        id=f"{layer}{number}{operation.value}",
        run_id="run",
        layer=layer,
        component=f"{layer}{number}",
        operation=operation,
        scenario=Scenario.SINGLE,
        outcome=Outcome.OK,
        host="client",
        started_at=now - 60,
        finished_at=now - 50,
        partner="peer" if layer == "net" else None,
        bytes=1 << 30,
        seconds=5.0,
        rate=RATE_BPS,
        repeats=(RATE_BPS,) * 3,
        profile=(RATE_BPS,) * 5,
        spec_hash=SPEC.hash(),
        coverage=1.0,
        versions={},
    )
    samples = [
        Sample(now - 60 - day * DAY_S, RATE_BPS, 1.0, RATE_BPS, TARGETS - 1, latest.partner)
        for day in range(RUNS)
    ]
    return Series(latest, tuple(samples))


def documents(folder: Path, now: float) -> tuple[Path, Path]:
    """Write the documents for the checks of a large client."""
    measurements = [(*value, number) for value in CHECKS.values() for number in range(TARGETS)]
    expectations = Expectations(
        "client", "bench", tuple(expectation(la, n, ops).to_json() for la, ops, n in measurements)
    )
    kept: dict[str, Mapping[str, Any]] = {
        f"{layer}/{layer}{number}": {
            "evidence": None,
            "operations": [
                {"latest": item.latest.to_json(), "samples": item.samples}
                for item in (series(layer, number, operation, now) for operation in operations)
            ],
        }
        for layer, operations, number in measurements
    }
    paths = folder / "expectations.json", folder / "snapshot.json"
    paths[0].write_text(json.dumps(expectations.to_json()), encoding="utf-8")
    paths[1].write_text(
        seal(json.dumps(Snapshot("client", now, (), {}, kept).to_json())), encoding="utf-8"
    )
    return paths


def cpu_s(argv: list[str]) -> float:
    """Run a command without output; return the seconds of CPU that it takes."""
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    _, code, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(code)
    return usage.ru_utime + usage.ru_stime


def suspects(folder: Path, now: float) -> Path:
    """Write the document for check_path of a large site."""
    figures = (Figure("slow", 0), Figure("good", 96))
    names = [f"server oss{number}" for number in range(PATHS)]
    verdicts = {
        name: Verdict("path", name, State.OK, Reason.FINE, f"{name} is no suspect", figures=figures)
        for name in names
    }
    path = folder / "paths.json"
    path.write_text(seal(compact(published_paths(verdicts, now, 3600.0, NO_ALARMS))), "utf-8")
    return path


def look(now: float) -> Report:
    """Return the symptoms of a server with many disks."""
    sign = ("failing", State.WARNING, Direction.RAISES, "sectors are pending")
    symptoms = tuple(Symptom("smart", f"oss1-disk{number}", *sign, now) for number in range(12))
    return Report("oss1", now, (Look("smart", TARGETS, symptoms, (), "", "disks"),))


def calls(folder: Path) -> Iterator[list[str]]:
    """Yield the arguments of each check."""
    now = time.time()
    expectations, snapshot = documents(folder, now)
    print(f"snapshot of {len(CHECKS) * TARGETS} components: {snapshot.stat().st_size / 1e6:.1f} MB")
    verdicts = folder / "verdicts"
    start = time.perf_counter()
    loaded = load_snapshot(str(snapshot))
    Verdicts(str(expectations), verdicts)(loaded)
    sizes = [path.stat().st_size for path in verdicts.iterdir()]
    print(
        f"{len(sizes)} verdicts of {min(sizes) / 1e3:.0f} to {max(sizes) / 1e3:.0f} kB, all judged "
        f"and written in {time.perf_counter() - start:.1f} s"
    )
    words = ["--expectations", str(expectations), "--verdicts", str(verdicts)]
    for check, (layer, _) in CHECKS.items():
        yield [check, "--component", f"{layer}0", *words]
    yield ["check_ost", "--group", "all", *words]
    (folder / "fs").mkdir()
    whole = snapshot_of(*ran([RATE_BPS] * 4, now - 60), now=now)
    yield ["check_fs", "--group", "scratch", *published(folder / "fs", expected(), whole)]
    yield ["check_node", "--certificates", str(folder), *words]
    yield ["check_path", "--service", "server oss0", "--document", str(suspects(folder, now))]
    publish_symptoms(look(now), folder)
    document = ["--document", str(folder / SYMPTOMS_FILE)]
    yield ["check_symptoms", "--kind", "disks", *document]


def main() -> int:
    """Time each check against an empty program, in turns, so that both meet the same machine."""
    slow = 0
    with tempfile.TemporaryDirectory() as name:
        for check, *words in calls(Path(name)):
            argv = [PYTHON, str(ROOT / "checks" / check), *words]
            done = subprocess.run(argv, capture_output=True, text=True, check=False)
            if done.returncode == 3:
                print(f"{check} does not work: {done.stdout}{done.stderr}", file=sys.stderr)
                return 1
            turns = [(cpu_s([PYTHON, "-c", "pass"]), cpu_s(argv)) for _ in range(ROUNDS)]
            empty, full = median(t[0] for t in turns), median(t[1] for t in turns)
            ratio = median(t[1] / t[0] for t in turns)
            slow += ratio > AIM
            print(
                f"{check:14} {full * 1e3:5.1f} ms of CPU, Python {empty * 1e3:5.1f} ms, "
                f"{ratio:.2f} times (aim: at most {AIM})"
            )
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
