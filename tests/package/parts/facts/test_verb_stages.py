"""``plumbline stages`` as a process, and on files of several hosts."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Iterator

import pytest

from plumbline.model.codec import write
from plumbline.model.units import HOUR_S
from plumbline.observe.command import SystemClock
from plumbline.parts.facts.counters import Count
from plumbline.parts.facts.counting import BoundedReads, Counters
from plumbline.parts.facts.verbs.stages import watch
from tests.package.cli.driver import COMMAND, Run
from tests.package.observe.lustre_server import put
from tests.package.parts.facts.request_counters import OST, Load, look, put_client, put_server
from tests.package.parts.facts.test_loads import answering, matrix
from tests.package.prometheus import PROGRAM, Sample, holding, openmetrics
from tests.package.waiting import eventually
from tests.processes import run_to_end

# a child that reads files touches no lock of another thread
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")

OSTS = [f"lustre-OST000{index}" for index in range(4)]


def host_times(root: Path, loads: dict[str, Load], *, server: bool) -> Any:
    """Return the document of a host on which each load is repeated while it watches."""
    put_files = put_server if server else put_client
    put_files(root, {ost: load._replace(requests=1) for ost, load in loads.items()})
    clock = SystemClock()
    counters = Counters(BoundedReads(), clock, str(root))
    return write(watch(counters, clock, lambda: put_files(root, loads)))


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Return the files of a client and four servers; the queue of the last one is long."""
    loads = {ost: Load(requests=1001) for ost in OSTS}
    loads[OSTS[3]] = Load(client=80, queue=70, handled=8, disk=1.9, waiting=12, requests=1001)
    hosts = {"client1": host_times(tmp_path / "client1", loads, server=False)}
    for ost, load in loads.items():
        hosts[ost] = host_times(tmp_path / ost, {ost: load}, server=True)
    for name, times in hosts.items():
        put(tmp_path / f"{name}.json", json.dumps({**times, "node": name}))
    return [str(tmp_path / f"{name}.json") for name in hosts]


def test_the_slow_target_and_its_stage_are_named(run: Run, files: list[str]) -> None:
    out = run("stages", *files, code=1).out
    lines = out.splitlines()
    columns = "target operation requests ms way queue server disk"
    assert lines[0].split() == columns.split()
    slow = next(line for line in lines if line.startswith(OSTS[3]))
    assert slow.split()[:6] == [OSTS[3], "read", "1000", "80", "2.0", "70"]
    assert (
        f"{OSTS[3]}: of 80 ms a read, 70 wait in the server's queue (3 peers: 1.0); "
        "12.0 requests wait there (peers: 0.0)"
    ) in lines


def test_programs_get_each_stage_in_seconds(run: Run, files: list[str]) -> None:
    document = run("stages", "--json", *files, code=1).document
    (slow,) = document["slow"]
    assert (slow["target"], slow["stage"]) == (OSTS[3], "queue")
    row = next(row for row in document["targets"] if row["target"] == OSTS[3])
    assert row["stages"]["queue"]["seconds"] == pytest.approx(0.07, rel=0.01)


def test_files_of_one_node_are_refused_twice(run: Run, files: list[str]) -> None:
    assert "2 of the files are of client1" in run("stages", files[0], files[0], code=64).err


def test_a_damaged_file_is_refused_with_its_name(run: Run, files: list[str]) -> None:
    put(Path(files[0]), '{"schema": 1, "node": "a", "seconds": -1}')
    refusal = run("stages", *files, code=65).err
    assert files[0] in refusal
    assert "plumbline stages --times" in refusal


def test_a_server_alone_says_what_it_cannot_know(run: Run, files: list[str]) -> None:
    out = run("stages", files[1], code=0).out
    assert f"not known, way: no client was asked ({OST})" in out


@pytest.mark.slow
def test_a_host_without_lustre_has_nothing_to_show() -> None:
    process = run_to_end(*COMMAND, "stages", "--over", "1s")
    assert process.returncode == 3
    assert "No request to a Lustre target was counted" in process.stdout


def catches(pid: int, number: signal.Signals) -> bool:
    """Return whether a process has a handler for a signal."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return bool(int(status.partition("SigCgt:")[2].split()[0], 16) >> (number - 1) & 1)


@pytest.mark.slow
def test_a_signal_ends_watching_early() -> None:
    begun = time.monotonic()
    with subprocess.Popen(
        [*COMMAND, "stages", "--over", "1h", "--times"], stdout=subprocess.PIPE, text=True
    ) as process:
        eventually(lambda: catches(process.pid, signal.SIGTERM))
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert 0 < json.loads(out)["seconds"] < time.monotonic() - begun


@pytest.mark.long
def test_a_prometheus_knows_the_stages_of_the_last_hours(run: Run, tmp_path: Path) -> None:
    if PROGRAM is None:
        pytest.skip("prometheus is not installed")
    slow = {OSTS[3]: Load(client=80, queue=70, handled=8, disk=1.9, waiting=12)}
    with holding(tmp_path, openmetrics(list(_samples(tmp_path, slow, time.time())))) as prometheus:
        out = run("stages", "--prometheus", prometheus.address, "--over", "1h", code=1).out
    assert (
        f"{OSTS[3]}: of 80 ms a read, 70 wait in the server's queue (3 peers: 1.0); "
        "12.0 requests wait there (peers: 0.0)"
    ) in out.splitlines()


@pytest.mark.long
def test_a_prometheus_knows_the_stages_of_a_past_hour(run: Run, tmp_path: Path) -> None:
    if PROGRAM is None:
        pytest.skip("prometheus is not installed")
    # slow until an hour ago
    end = time.time() - HOUR_S
    slow = {OSTS[3]: Load(client=80, queue=70, handled=8, disk=1.9, waiting=12)}
    samples = openmetrics(list(_samples(tmp_path, slow, end)))
    local = [datetime.fromtimestamp(at, timezone.utc).astimezone() for at in (end - HOUR_S, end)]
    times = [at.strftime("%Y-%m-%dT%H:%M") for at in local]
    with holding(tmp_path, samples) as prometheus:
        asked = ("stages", "--prometheus", prometheus.address)
        out = run(*asked, "--during", " to ".join(times), code=1).out
        run(*asked, "--over", "30m", code=69)
    assert "70 wait in the server's queue (3 peers: 1.0)" in out


def test_times_of_day_need_a_prometheus(run: Run) -> None:
    assert "--prometheus" in run("stages", "--during", "02:00 to 02:20", code=64).err


def _samples(root: Path, slow: dict[str, Load], end: float) -> Iterator[Sample]:
    """Yield what a client and four servers count in the two hours before ``end``."""
    loads = {**{ost: Load() for ost in OSTS}, **slow}
    for scrape in range(25):
        put_client(root / "client1", _grown(loads, scrape))
        for ost, load in _grown(loads, scrape).items():
            put_server(root / ost, {ost: load})
        for host in ("client1", *OSTS):
            for count in look(root / host).counts:
                if dict(count.labels).keys() & {"source"}:
                    yield _sample(host, count, end - 300 * (24 - scrape))


def _grown(loads: dict[str, Load], scrape: int) -> dict[str, Load]:
    return {ost: load._replace(requests=100 * (scrape + 1)) for ost, load in loads.items()}


def _sample(host: str, count: Count, at: float) -> Sample:
    """Return a count as the node exporter shows it."""
    labels = ",".join(f'{name}="{value}"' for name, value in count.labels)
    metric = count.metric.name
    if count.metric.kind == "histogram":
        metric += "_bucket" if "le" in dict(count.labels) else "_count"
    return Sample(metric, f'instance="{host}",{labels}', count.value, at)


def test_files_and_prometheus_exclude_each_other(run: Run, files: list[str]) -> None:
    run("stages", "--prometheus", "http://localhost:1", *files, code=64)


def test_a_prometheus_without_counters_is_named(run: Run) -> None:
    with answering(matrix()) as server:
        assert (
            "has no counters of Lustre"
            in run("stages", "--prometheus", server.url, "--over", "1h", code=69).err
        )
