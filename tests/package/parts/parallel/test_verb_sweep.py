"""``plumbline sweep`` as a process."""

from __future__ import annotations

import json
import math
import shlex
import signal
from pathlib import Path
from typing import Any

import pytest

from plumbline.site.comparison import memory_bytes
from plumbline.store.database import Selection
from plumbline.store.history import History
from tests.package.cli.driver import Run, finish, start
from tests.package.parts.parallel.test_run import PYTHON, missing, processes
from tests.package.parts.parallel.test_verb_probe_fs import directories, expect_directories
from tests.package.recorded import table
from tests.package.waiting import eventually

MIB = 1 << 20

with_mpi = pytest.mark.skipif(missing() != "", reason=missing() or "all is there")


def ledger(home: Path) -> dict[str, Any]:
    """Return the state file of the only sweep."""
    (path,) = (home / "state" / "plumbline").glob("sweep-*.json")
    document: dict[str, Any] = json.loads(path.read_text())
    return document


@pytest.mark.long
@with_mpi
def test_a_killed_sweep_continues_at_its_next_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    """Only the interrupted point is measured again."""
    words = [*directories(tmp_path), "--bytes", "4MiB", "--writers", "1,2", "--json"]
    first = start(tmp_path, "sweep", *words, "--quiet")
    # the first point is saved, the ranks of the second are running
    eventually(lambda: list(tmp_path.glob("state/plumbline/sweep-*.json")))
    eventually(lambda: ledger(tmp_path)["done"])
    eventually(lambda: processes(f"-m plumbline.parts.parallel.rank {tmp_path}"))
    first.send_signal(signal.SIGKILL)
    first.communicate()
    assert len(ledger(tmp_path)["done"]) == 1
    ended = finish(tmp_path, "sweep", *words)
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.startswith("point 2 of 2: 2 writers, 1 MiB\n")
    document = json.loads(ended.stdout)
    assert [point["point"]["writers"] for point in document["done"]] == [1, 2]
    assert [point["ranks"] for point in document["done"]] == [2, 4]
    # bytes of the killed point count too
    assert document["written"] == 3 * 4 * 2**20
    assert {(remark["axis"], remark["operation"]) for remark in document["remarks"]} == {
        *(("writers", "write"), ("writers", "read")),
    }
    with History(tmp_path / "state/plumbline/history.sqlite") as history:
        records = list(history.records(Selection(layer="sweep")))
    hashes = {(record.run_id, record.spec_hash) for record in records}
    assert {(point["run_id"], point["spec_hash"]) for point in document["done"]} == hashes
    assert len({spec_hash for _, spec_hash in hashes}) == 2
    files = [path for name in ("a", "b") for path in (tmp_path / name).iterdir()]
    assert files == []
    # the sweep is complete
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    second = run("sweep", *words)
    assert (second.err, json.loads(second.out)["done"]) == ("", document["done"])


SWEEPS = table("sweep.yml")


@pytest.mark.parametrize("case", SWEEPS["planned"], ids=str)
def test_an_axis_is_planned(tmp_path: Path, case: dict[str, Any]) -> None:
    words = [*directories(tmp_path), *shlex.split(case["words"]), "--dry-run", "--json"]
    points = json.loads(finish(tmp_path, "sweep", *words).stdout)["points"]
    assert [point | values for point, values in zip(points, case["points"])] == points
    assert [[point["targets"], point["ranks"]] for point in points] == case["crowds"]
    assert sum(point["bytes"] for point in points) == case["written_MiB"] << 20


@pytest.mark.long
@with_mpi
@pytest.mark.parametrize("case", SWEEPS["swept"], ids=str)
def test_an_axis_is_swept(tmp_path: Path, case: dict[str, Any]) -> None:
    words = shlex.split(case["words"])
    ended = finish(tmp_path, "sweep", *directories(tmp_path), *words, "--quiet", "--json")
    assert ended.returncode == 0, ended.stderr
    document = json.loads(ended.stdout)
    swept = [point["point"] for point in document["points"]]
    assert [point | values for point, values in zip(swept, case["points"])] == swept
    assert [[point["targets"], point["ranks"]] for point in document["points"]] == case["crowds"]
    assert all(set(point["rates"]) == {"write", "read"} for point in document["points"])
    assert document["written"] == case["written_MiB"] << 20
    files = [path for name in ("a", "b") for path in (tmp_path / name).iterdir()]
    assert files == []


@pytest.mark.long
@with_mpi
def test_repeats_give_a_range_and_advice(tmp_path: Path) -> None:
    words = [*directories(tmp_path), "--quiet", "--bytes", "4MiB", "--writers", "1,2"]
    finish(tmp_path, "sweep", *words)
    # repeats continue the same sweep
    ended = finish(tmp_path, "sweep", *words, "--repeats", "2", "--json")
    document = json.loads(ended.stdout)
    assert [point["point"].get("repeat", 1) for point in document["done"]] == [1, 1, 2, 2]
    for summary in document["points"]:
        rates = [
            run["rates"]["write"]
            for run in document["done"]
            if run["point"]["writers"] == summary["point"]["writers"]
        ]
        write = summary["rates"]["write"]
        assert (summary["runs"], write["low"], write["high"]) == (2, min(rates), max(rates))
    table = finish(tmp_path, "sweep", *words, "--repeats", "2").stdout.splitlines()
    assert [" %" in row.partition("reason")[0] for row in table[1:3]] == [True, True]
    advice = finish(tmp_path, "sweep", *directories(tmp_path), "--advice").stdout.splitlines()
    assert 2 <= len(advice) <= 5
    assert advice[0].startswith("all, best of 2 points, ")
    assert advice[-1].startswith("Not covered: other values of transfer, ")


@pytest.mark.long
@with_mpi
def test_a_rank_that_did_not_start_wrote_no_bytes(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(
        f'#!/bin/sh\ncase "$*" in *parallel.rank*) exit 9;; esac\nexec {PYTHON} "$@"\n'
    )
    python.chmod(0o755)
    words = ["--bytes", "4MiB", "--writers", "1", "--python", str(python), "--json"]
    ended = finish(tmp_path, "sweep", *directories(tmp_path), *words, "--quiet")
    document = json.loads(ended.stdout)
    assert ended.returncode == 3
    assert "left no result" in document["done"][0]["reason"]
    assert (document["written"], document["done"][0]["written"]) == (0, 0)


@pytest.mark.long
@with_mpi
def test_a_sweep_of_targets_does_not_reach_the_checks(tmp_path: Path) -> None:
    expect_directories(tmp_path)
    words = ["--expectations", "expectations.json", "--state", ".", "--locks", "locks"]
    ended = finish(
        tmp_path,
        "sweep",
        *words,
        *("--oversubscribe", "2", "--writers", "1", "--bytes", "2MiB", "--python", PYTHON),
    )
    assert ended.returncode == 0, ended.stderr
    header, row, *rest = ended.stdout.splitlines()
    assert header.split()[:4] == ["writers", "transfer", "targets", "ranks"]
    # one target with the ranks of both
    assert row.split()[:5] == ["1", "1", "MiB", "1", "2"]
    assert rest[-1].startswith("1 of 1 points, 2.1 MB written")
    assert not (tmp_path / "snapshot.json").exists()
    with History(tmp_path / "history.sqlite") as history:
        records = list(history.records(Selection()))
        assert history.running() == ()
    assert {record.component for record in records} == {"a", "scratch"}
    assert {record.layer for record in records} == {"sweep"}


def test_a_dry_run_prints_points_bytes_and_seconds_and_changes_nothing(tmp_path: Path) -> None:
    words = [*directories(tmp_path), "--bytes", "1GiB", "--transfer", "64KiB,1MiB", "--dry-run"]
    ended = finish(tmp_path, "sweep", *words, "--writers", "1,2,4", "--limit", "9min", "--alone")
    header, *rows, last = ended.stdout.splitlines()
    assert " ".join(header.split()) == "writers transfer targets ranks writes takes budget"
    assert [row.split()[:3] for row in rows[:2]] == [["1", "64", "KiB"], ["1", "1", "MiB"]]
    assert [row.endswith("not reached") for row in rows] == [False] * 4 + [True] * 2
    assert last == "4 of 6 points, 4295.0 MB written and as much read, at most 8 min"
    assert not (tmp_path / "state").exists()
    assert list((tmp_path / "a").iterdir()) == []


@with_mpi
def test_a_sweep_that_measured_nothing_does_not_end_well(tmp_path: Path) -> None:
    ended = finish(tmp_path, "sweep", *directories(tmp_path), "--limit", "3s")
    assert ended.returncode == 3
    assert "0 of 4 points" in ended.stdout


def test_weak_scaling_gives_each_rank_the_same_bytes(tmp_path: Path) -> None:
    """``--bytes`` belong to the point with the most ranks."""
    words = ["--scaling", "weak", "--bytes", "32MiB", "--dry-run", "--json"]
    ended = finish(tmp_path, "sweep", *directories(tmp_path), *words)
    points = json.loads(ended.stdout)["points"]
    assert {point["bytes"] / point["ranks"] for point in points} == {MIB}
    assert sorted(point["writers"] for point in points) == [1, 2, 4, 8, 16]
    strong = finish(tmp_path, "sweep", *directories(tmp_path), *words, "--scaling", "strong")
    assert {point["bytes"] for point in json.loads(strong.stdout)["points"]} == {32 * MIB}


@with_mpi
def test_a_budget_too_small_for_one_point_starts_nothing(tmp_path: Path) -> None:
    ended = finish(tmp_path, "sweep", *directories(tmp_path), "--bytes", "2GiB", "--budget", "1GiB")
    assert "a point writes 2147.5 MB; raise --budget, or lower --bytes" in ended.stdout
    assert "0 of 4 points, 0 B written" in ended.stdout
    assert list((tmp_path / "a").iterdir()) == []


@with_mpi
@pytest.mark.parametrize(
    ("words", "size", "memories"),
    [
        (["--bytes", "32MiB"], "32 MiB", 2),
        (["--bytes-per-rank", "1MiB"], "2 MiB", 2),
        # the point with one writer has a sixteenth of the bytes
        (["--bytes", "32MiB", "--scaling", "weak"], "2 MiB", 32),
    ],
)
def test_a_sweep_that_fits_into_the_page_cache_gets_a_warning(
    tmp_path: Path, words: list[str], size: str, memories: int
) -> None:
    ended = finish(tmp_path, "sweep", *directories(tmp_path), *words, "--budget", "1MiB")
    enough = math.ceil(memories * memory_bytes() / 2**30)
    assert ended.stderr == (
        f"plumbline: {size} fit into the page cache: where direct I/O is not honoured, rates are "
        f"those of memory; --bytes {enough}GiB measures the storage\n"
    )
