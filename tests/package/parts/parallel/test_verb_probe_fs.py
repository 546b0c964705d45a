"""``plumbline probe fs``: all targets in parallel, as directories or as planned."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from socket import gethostname
from typing import Any, Mapping, Sequence

import pytest

from plumbline.model.errors import DocumentError, UsageError
from plumbline.model.expectation import Expectations
from plumbline.model.profile import unpack
from plumbline.model.ranks import TESTS
from plumbline.model.record import Scenario
from plumbline.plan.expectations import compile_plan
from plumbline.plan.policy import load
from plumbline.store.database import Selection
from plumbline.store.history import History
from plumbline.store.snapshot import load_snapshot
from plumbline.topology.graph import build
from tests.package.cli.driver import Run, call, finish, start
from tests.package.measure.units import expectation
from tests.package.parts.parallel.test_run import PYTHON, missing, processes
from tests.package.recorded import table
from tests.package.records import record
from tests.package.sites import site
from tests.package.waiting import eventually

# --- ``plumbline probe fs`` as a process.


pytestmark = pytest.mark.long

ENDLESS = ["--bytes", "10MB", "--transfer", "1B", "--fixed-time", "--seconds", "60s"]
with_mpi = pytest.mark.skipif(missing() != "", reason=missing() or "all is there")


def directories(home: Path) -> list[str]:
    for name in ("a", "b"):
        (home / name).mkdir(exist_ok=True)
    return ["--directory", "a=a", "--directory", "b=b", "--python", PYTHON]


@with_mpi
def test_directories_are_measured_together_and_no_files_remain(tmp_path: Path) -> None:
    """The version of the launcher is asked once."""
    launcher = tmp_path / "launcher"
    launcher.write_text(f'#!/bin/sh\necho "$*" >> {tmp_path}/launched\nexec mpirun "$@"\n')
    launcher.chmod(0o755)
    words = [*directories(tmp_path), "--bytes", "4MiB", "--profile", "calls"]
    ended = finish(tmp_path, "probe", "fs", *words, "--launcher", str(launcher))
    version, ranks = (tmp_path / "launched").read_text().splitlines()
    assert (version, "plumbline.parts.parallel.rank" in ranks) == ("--version", True)
    header, *rows = ended.stdout.splitlines()[:4]
    assert header.split()[:3] == ["target", "write", "of"]
    assert [row.split()[0] for row in rows] == ["a", "b", "all"]
    assert {block.operation for block in unpack((tmp_path / "calls").read_bytes()).blocks} == {
        *("write", "read", "reread"),
    }
    for folder in ("a", "b", "tmp"):
        assert list((tmp_path / folder).iterdir()) == []


@with_mpi
def test_the_next_probe_removes_the_files_of_a_killed_one(tmp_path: Path) -> None:
    words = directories(tmp_path)
    ranks = f"-m plumbline.parts.parallel.rank {tmp_path}"
    first = start(tmp_path, "probe", "fs", *words, "--quiet", *ENDLESS)
    eventually(lambda: list(tmp_path.glob("a/.plumbline/*/probe.dat")) and processes(ranks))
    first.send_signal(signal.SIGKILL)
    first.communicate()
    ended = finish(tmp_path, "probe", "fs", *words, "--bytes", "4MiB", "--json", "--quiet")
    records = json.loads(ended.stdout)["records"]
    assert {record["outcome"] for record in records} == {"ok"}, ended.stdout
    eventually(lambda: not processes(ranks))
    for folder in ("a", "b", "tmp"):
        assert list((tmp_path / folder).iterdir()) == []


@with_mpi
def test_an_interrupted_probe_ends_its_ranks_and_removes_its_files(tmp_path: Path) -> None:
    ranks = f"-m plumbline.parts.parallel.rank {tmp_path}"
    process = start(tmp_path, "probe", "fs", *directories(tmp_path), "--quiet", *ENDLESS)
    eventually(lambda: processes(ranks))
    process.terminate()
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert err.endswith("plumbline: interrupted; nothing is kept\n")
    eventually(lambda: not processes(ranks))
    # mpirun keeps its own files in the temporary folder
    assert list(tmp_path.glob("tmp/plumbline*")) == []
    for folder in ("a", "b"):
        assert list((tmp_path / folder).iterdir()) == []


def expect_directories(home: Path) -> None:
    """Write expectations of one file system with two directories as targets."""
    directories(home)
    entries = tuple(
        expectation(name, target={"kind": "directory", "directory": str(home / name)}).to_json()
        for name in ("a", "b")
    )
    document = Expectations("client1", "lab", entries).to_json()
    (home / "expectations.json").write_text(json.dumps(document))


@with_mpi
def test_expected_targets_of_a_file_system_are_measured_and_recorded(tmp_path: Path) -> None:
    expect_directories(tmp_path)
    words = ["--expectations", "expectations.json", "--state", ".", "--locks", "locks"]
    with History(tmp_path / "history.sqlite") as history:
        history.save(record(component="a"))
    finish(tmp_path, "probe", "fs", *words, "--bytes", "2MiB", "--python", PYTHON, "--quiet")
    with History(tmp_path / "history.sqlite") as history:
        records = list(history.records(Selection(layer="fs")))
    assert {record.component for record in records} == {"a", "b", "scratch"}
    assert {record.scenario.value for record in records} == {"together"}
    assert "ost/a" in load_snapshot(str(tmp_path / "snapshot.json")).series
    (spec,) = {json.dumps(record.spec) for record in records}
    assert json.loads(spec)["pattern"] == "ost, fixed data, 2 ranks on 2 targets, 1 clients"


def test_a_dry_run_prints_the_command_and_changes_nothing(tmp_path: Path) -> None:
    ended = finish(
        tmp_path, "probe", "fs", *directories(tmp_path), "--dry-run", "--clients", "localhost:2"
    )
    assert ended.stdout.startswith("mpirun -np 2 --host localhost:2 ")
    assert list((tmp_path / "a").iterdir()) == []


def test_runs_with_different_terms_are_not_compared(tmp_path: Path) -> None:
    """Each change of the terms gives another hash of the specification."""
    from plumbline.parts.parallel.job import Fixed
    from plumbline.parts.parallel.launch import Launch, parse_clients
    from plumbline.parts.parallel.runs import REREAD, Terms

    terms = Terms(TESTS["ost"], 4, 1 << 30, 60.0, Fixed.DATA, False, Launch())
    variants = [
        terms,
        terms._replace(test=TESTS["posix-fpp-1m2"]),
        terms._replace(test=terms.test._replace(transfer=4096)),
        terms._replace(ranks=8),
        terms._replace(rank_bytes=1 << 29),
        terms._replace(fixed=Fixed.TIME),
        terms._replace(fixed=Fixed.TIME, seconds=30.0),
        terms._replace(direct=True),
        terms._replace(launch=Launch(clients=parse_clients("c1,c2"))),
        terms._replace(operations=REREAD),
        terms._replace(stripes=2),
    ]
    hashes = [variant.spec(4).hash() for variant in variants]
    hashes.append(terms._replace(ranks=5).spec(5).hash())
    assert len(set(hashes)) == len(hashes)
    # with fixed data the seconds are only a time limit
    assert terms._replace(seconds=30.0).spec(4).hash() == hashes[0]


# --- ``plumbline probe fs`` on the launching node follows the plan of the console.


TARGETS = [f"scratch-OST{index}" for index in range(4)]


def deployed(home: Path, other_file_systems: Sequence[str] = (), **fs: Any) -> list[str]:
    """Write the expectations of client1 with folders as targets; return the options.

    Targets of the other file systems do not exist.
    """
    home.mkdir(exist_ok=True)
    document = site()
    system = document["file_systems"][0]
    system["kind"] = "directory"
    del system["mount"], system["targets"][0]["subvolume"]
    system["targets"][0]["directory"] = f"{home}/{{name}}"
    for name in TARGETS:
        (home / name).mkdir()
    for name in other_file_systems:
        target = {**system["targets"][0], "name": f"{name}-OST[0-3]"}
        document["file_systems"].append({**system, "name": name, "targets": [target]})
    rules = {"clients": ["client1"], "probe": {"bytes": "2 MiB", "direct": False}, **fs}
    plan = compile_plan(build(document), load({"layers": {"fs": rules}}), {})
    (home / "expectations.json").write_text(json.dumps(plan.node("client1").to_json()))
    words = {"expectations": "expectations.json", "state": ".", "locks": "locks"}
    return [word for name, path in words.items() for word in (f"--{name}", str(home / path))]


@pytest.mark.parametrize("case", table("launched.yml")["cases"], ids=lambda case: case["case"])
def test_a_run_is_launched_by_this_command(
    tmp_path: Path, run: Run, case: Mapping[str, Any]
) -> None:
    words = [*deployed(tmp_path, **case.get("policy", {})), *case.get("words", "").split()]
    command = run("probe", "fs", *words, "--dry-run").out
    assert [part for part in case["has"] if part.format(host=gethostname()) not in command] == []
    assert case.get("lacks", "\0") not in command


def test_a_call_profile_file_holds_one_file_system(tmp_path: Path, run: Run) -> None:
    words = [*deployed(tmp_path, ["work"]), "--dry-run", "--profile", str(tmp_path / "calls")]
    with pytest.raises(UsageError, match="choose one of scratch, work with --file-system"):
        call("probe", "fs", *words)
    assert run("probe", "fs", *words, "--file-system", "work").out.count("mpirun") == 1


def test_targets_of_another_client_can_be_driven_by_hand(tmp_path: Path, run: Run) -> None:
    words = deployed(tmp_path)
    path = tmp_path / "expectations.json"
    document = json.loads(path.read_text())
    document["entries"] = [entry for entry in document["entries"] if entry["layer"] == "fs"]
    path.write_text(json.dumps(document))
    assert (
        "-np 8 " in run("probe", "fs", *words, "--dry-run", "--bytes", "1MiB", "--ranks", "2").out
    )


def test_a_file_system_of_another_client_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="this node drives the file systems scratch; choose"):
        call("probe", "fs", *deployed(tmp_path), "--file-system", "work")


def test_a_document_without_parallel_terms_is_refused(tmp_path: Path) -> None:
    words = deployed(tmp_path)
    path = tmp_path / "expectations.json"
    path.write_text(path.read_text().replace('"ranks_per_target"', '"ranks"'))
    with pytest.raises(DocumentError, match="fs scratch does not say how it is driven"):
        call("probe", "fs", *words)


@pytest.mark.long
@pytest.mark.skipif(missing() != "", reason=missing() or "all is there")
def test_a_parallel_run_is_recorded_and_judged_as_a_whole(tmp_path: Path) -> None:
    words = [*deployed(tmp_path, limits={"invalid_above": 1000}), "--python", PYTHON, "--quiet"]
    ended = finish(tmp_path, "probe", "fs", *words)
    assert ended.stderr == ""
    # remarks on stragglers may follow
    _, *rows, verdict = ended.stdout.splitlines()[: len(TARGETS) + 3]
    assert [row.split()[0] for row in rows] == [*TARGETS, "scratch"]
    assert "file system scratch - " in verdict
    # the slower of the two comes first
    assert re.search("as a whole (write|read) together measured", verdict)
    with History(tmp_path / "history.sqlite") as history:
        records = list(history.records(Selection(layer="fs")))
    assert len(records) == 3 * 5
    assert {record.scenario for record in records} == {Scenario.TOGETHER}
    snapshot = load_snapshot(str(tmp_path / "snapshot.json"))
    assert list(snapshot.series) == [f"fs/{name}" for name in (*TARGETS, "scratch")]
    assert [list((tmp_path / name).iterdir()) for name in TARGETS] == [[]] * 4


@pytest.mark.long
@pytest.mark.skipif(missing() != "", reason=missing() or "all is there")
def test_parallel_tests_alternate_and_an_extra_test_keeps_target_records(tmp_path: Path) -> None:
    tests = ["ost", "posix-fpp-1m2"]
    words = deployed(tmp_path, tests=tests, limits={"invalid_above": 1000})
    words += ["--python", PYTHON, "--quiet", "--json"]

    def measured(*more: str) -> list[str]:
        document = json.loads(finish(tmp_path, "probe", "fs", *words, *more).stdout)
        assert {record["outcome"] for record in document["records"]} == {"ok"}
        assert [verdict["component"] for verdict in document["verdicts"]][-1] == "scratch"
        return list(dict.fromkeys(record["component"] for record in document["records"]))

    assert measured("--next") == [*TARGETS, "scratch"]
    assert measured("--next") == ["scratch:posix-fpp-1m2"]
    assert measured("--next") == [*TARGETS, "scratch"]
    assert measured("--file-system", "scratch:posix-fpp-1m2") == ["scratch:posix-fpp-1m2"]
    assert [list((tmp_path / name).iterdir()) for name in TARGETS] == [[]] * 4


def test_a_damaged_snapshot_does_not_stop_the_probe(tmp_path: Path, run: Run) -> None:
    words = deployed(tmp_path, ranks_per_target=3)
    (tmp_path / "snapshot.json").write_text("{")
    dry_run = run("probe", "fs", *words, "--next", "--dry-run")
    assert "-np 12 " in dry_run.out
    assert dry_run.err.endswith("each file system has its first test\n")


def test_each_file_system_gets_its_own_next_test(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="leave out --file-system"):
        call("probe", "fs", *deployed(tmp_path), "--next", "--file-system", "scratch")
