"""``plumbline probe fs`` on the node that launches does what the console has planned."""

from __future__ import annotations

import json
from pathlib import Path
from socket import gethostname
from typing import Any, Sequence

import pytest

from plumbline.model.errors import DocumentError, UsageError
from plumbline.model.record import Scenario
from plumbline.plan.expectations import compile_plan
from plumbline.plan.policy import load
from plumbline.store.database import Selection
from plumbline.store.history import History
from plumbline.store.snapshot import load_snapshot
from plumbline.topology.graph import build
from tests.package.cli.driver import Run, call, finish
from tests.package.parallel.test_run import PYTHON, missing
from tests.package.sites import site

TARGETS = [f"scratch-OST{index}" for index in range(4)]


def deployed(home: Path, also: Sequence[str] = (), **fs: Any) -> list[str]:
    """Write what the console tells client1, of targets that are folders; return the options.

    The targets of other file systems are said and not there.
    """
    home.mkdir(exist_ok=True)
    document = site()
    system = document["file_systems"][0]
    system["kind"] = "directory"
    del system["mount"], system["targets"][0]["subvolume"]
    system["targets"][0]["directory"] = f"{home}/{{name}}"
    for name in TARGETS:
        (home / name).mkdir()
    for name in also:
        target = {**system["targets"][0], "name": f"{name}-OST[0-3]"}
        document["file_systems"].append({**system, "name": name, "targets": [target]})
    rules = {"clients": ["client1"], "probe": {"bytes": "2 MiB", "direct": False}, **fs}
    plan = compile_plan(build(document), load({"layers": {"fs": rules}}), {})
    (home / "expectations.json").write_text(json.dumps(plan.node("client1").to_json()))
    words = {"expectations": "expectations.json", "state": ".", "locks": "locks"}
    return [word for name, path in words.items() for word in (f"--{name}", str(home / path))]


def dry(home: Path, run: Run, *words: str, **fs: Any) -> str:
    return run("probe", "fs", *deployed(home, **fs), "--dry-run", *words).out


def test_the_policy_says_how_many_ranks_run_where(tmp_path: Path, run: Run) -> None:
    told = dry(
        tmp_path,
        run,
        ranks_per_target=2,
        clients=["client1", "oss1"],
        work="/mnt/scratch",
        launcher="/opt/mpi/bin/mpirun",
    )
    # this host by its own name, which no resolver and no ssh is asked for
    assert told.startswith(f"/opt/mpi/bin/mpirun -np 8 --host {gethostname()}:4,oss1:4 ")


def test_slurm_is_told_the_names_of_the_policy(tmp_path: Path, run: Run) -> None:
    clients = ["client1", "oss1"]
    told = dry(tmp_path, run, clients=clients, work="/mnt/scratch", launcher="srun")
    assert told.startswith("srun --ntasks=4 --nodes=2 --nodelist=client1,oss1 ")
    told = dry(tmp_path / "alone", run, launcher="srun")
    assert told.startswith("srun --ntasks=4 --nodes=1 --nodelist=client1 ")


def test_one_client_alone_needs_no_way_to_itself(tmp_path: Path, run: Run) -> None:
    assert "--host" not in dry(tmp_path, run)


def test_options_that_are_no_terms_are_heeded(tmp_path: Path, run: Run) -> None:
    words = ("--python", "/opt/python3", "--launcher-option=--tag-output")
    told = dry(tmp_path, run, *words, "--file-system", "scratch")
    assert "--tag-output" in told
    assert "/opt/python3 -m plumbline.parallel.rank" in told


def test_one_file_keeps_the_calls_of_one_file_system(tmp_path: Path, run: Run) -> None:
    words = [*deployed(tmp_path, ["work"]), "--dry-run", "--profile", str(tmp_path / "calls")]
    with pytest.raises(UsageError, match="choose one of scratch, work with --file-system"):
        call("probe", "fs", *words)
    assert run("probe", "fs", *words, "--file-system", "work").out.count("mpirun") == 1


def test_terms_by_hand_make_another_run(tmp_path: Path, run: Run) -> None:
    assert "-np 12 " in dry(tmp_path, run, "--ranks", "3", "--bytes", "1MiB")


def test_the_whole_command_line_comes_to_the_planned_run(tmp_path: Path) -> None:
    words = deployed(tmp_path, launcher="/opt/mpi/bin/mpirun")
    ended = finish(tmp_path, "probe", "fs", *words, "--limit", "1h", "--dry-run")
    assert ended.stdout.startswith("/opt/mpi/bin/mpirun -np 4 ")


def test_targets_that_another_client_probes_one_by_one_can_be_driven_by_hand_too(
    tmp_path: Path, run: Run
) -> None:
    words = deployed(tmp_path)
    path = tmp_path / "expectations.json"
    document = json.loads(path.read_text())
    document["entries"] = [one for one in document["entries"] if one["layer"] == "fs"]
    path.write_text(json.dumps(document))
    assert (
        "-np 8 " in run("probe", "fs", *words, "--dry-run", "--bytes", "1MiB", "--ranks", "2").out
    )


def test_a_file_system_that_is_not_driven_here_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="this node drives the file systems scratch; choose"):
        call("probe", "fs", *deployed(tmp_path), "--file-system", "work")


def test_a_document_that_does_not_say_how_is_refused(tmp_path: Path) -> None:
    words = deployed(tmp_path)
    path = tmp_path / "expectations.json"
    path.write_text(path.read_text().replace('"ranks_per_target"', '"ranks"'))
    with pytest.raises(DocumentError, match="fs scratch does not say how it is driven"):
        call("probe", "fs", *words)


@pytest.mark.long
@pytest.mark.skipif(missing() != "", reason=missing() or "all is there")
def test_the_run_is_recorded_and_judged_as_one(tmp_path: Path) -> None:
    words = [*deployed(tmp_path, limits={"invalid_above": 1000}), "--python", PYTHON, "--quiet"]
    ended = finish(tmp_path, "probe", "fs", *words)
    assert ended.stderr == ""
    # what is said of stragglers, if there are any, comes behind
    _, *rows, verdict = ended.stdout.splitlines()[: len(TARGETS) + 3]
    assert [row.split()[0] for row in rows] == [*TARGETS, "scratch"]
    assert "file system scratch - " in verdict
    assert "as a whole write together measured" in verdict
    with History(tmp_path / "history.sqlite") as history:
        records = list(history.records(Selection(layer="fs")))
    assert len(records) == 3 * 5
    assert {record.scenario for record in records} == {Scenario.TOGETHER}
    snapshot = load_snapshot(str(tmp_path / "snapshot.json"))
    assert list(snapshot.series) == [f"fs/{name}" for name in (*TARGETS, "scratch")]
    assert [list((tmp_path / name).iterdir()) for name in TARGETS] == [[]] * 4
