"""Launchers: clients, installed kinds, and calls."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Mapping

import pytest

import plumbline
from plumbline.model.command import Completed
from plumbline.model.errors import DocumentError, ToolError
from plumbline.parts.parallel.launch import (
    FIND_MPI4PY,
    Kind,
    Launch,
    Launcher,
    assumed,
    command,
    end_ranks,
    find_launcher,
    library_paths,
    parse_clients,
)
from tests.package.fakes import Answer, FakeRunner
from tests.package.recorded import reply, table

FILE = table("launch.yml")
HERE = str(Path(plumbline.__file__).parents[1])


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    for name in ("PYTHONPATH", "LD_LIBRARY_PATH", "SLURM_MPI_TYPE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("case", FILE["clients"], ids=str)
def test_client_lists_are_read_like_launchers_do(case: dict[str, Any]) -> None:
    separator = case.get("separator", ",")
    if "refused" in case:
        with pytest.raises(DocumentError, match=case["refused"]):
            parse_clients(case["text"], separator)
    else:
        assert list(map(list, parse_clients(case["text"], separator))) == case["clients"]


def launch_of(case: Mapping[str, Any]) -> Launch:
    raw = {"clients": "", "options": (), **case.get("launch", {})}
    clients, options = parse_clients(raw["clients"]), tuple(raw["options"])
    return Launch(**{**raw, "clients": clients, "options": options})


def launcher_of(case: Mapping[str, Any]) -> Launcher:
    kind, *words = case["launcher"]
    python = (sys.executable if word == "PYTHON" else word for word in words)
    return Launcher(Kind(kind), *python)._replace(folder=case.get("folder", ""))


@pytest.mark.parametrize("case", FILE["calls"], ids=lambda case: case["case"])
def test_each_launcher_has_its_own_command_line(
    case: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in case.get("environment", {}).items():
        monkeypatch.setenv(name, value)
    terms = launch_of(case), launcher_of(case), case.get("ranks", 2), "/w/job.json"
    if "refused" in case:
        with pytest.raises(DocumentError, match=case["refused"]):
            command(*terms)
        return
    call = " ".join(command(*terms, romio=case.get("romio", False)))
    assert call == case.get("call", call).replace("HERE", HERE)
    assert call.startswith(case.get("begins", ""))
    assert [words for words in case.get("has", ()) if words not in call] == []
    assert [words for words in case.get("lacks", ()) if words in call] == []


def absent(argv: tuple[str, ...]) -> Completed:
    raise ToolError(f"{argv[0]} is not installed on this host; install the package openmpi-bin")


@pytest.mark.parametrize("case", FILE["installed"], ids=lambda case: case["case"])
def test_a_launcher_is_recognised_by_its_version_output(
    case: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in case.get("environment", {}).items():
        monkeypatch.setenv(name, value)
    answers: dict[str, Answer] = {
        start.replace("PYTHON", sys.executable): absent if raw == "absent" else reply(raw)
        for start, raw in case["answers"].items()
    }
    launch, runner = launch_of(case), FakeRunner(answers)
    if "refused" in case:
        with pytest.raises(ToolError, match=re.escape(case["refused"])):
            find_launcher(launch, runner)
        return
    launcher = find_launcher(launch, runner)
    assert launcher == launcher_of(case)
    for start, end in case.get("asked", {}).items():
        assert runner.called(start)[0].endswith(end)
    given = [word for word in command(launch, launcher, 2, "/w/job.json") if "--mpi" in word]
    assert case.get("mpi", given) == given


def test_a_dry_run_guesses_the_launcher_from_its_name() -> None:
    shown = {program: assumed(Launch(program)) for program in FILE["assumed"]}
    assert shown == {
        program: Launcher(Kind(kind), "", "python3") for program, kind in FILE["assumed"].items()
    }


def test_ranks_are_distributed_equally_by_default() -> None:
    launch = Launch(clients=parse_clients("c1,c2,c3"))
    assert launch.slots(7) == (("c1", 3), ("c2", 2), ("c3", 2))
    assert launch.slots(2) == (("c1", 1), ("c2", 1))
    with pytest.raises(DocumentError, match="slots for fewer than 5 ranks"):
        Launch(clients=parse_clients("c1:2,c2:2")).slots(5)


def test_mpi4py_is_found_in_the_folder_of_its_mpi(tmp_path: Path) -> None:
    """Run the real script for a Python that may be another one."""
    package = tmp_path / "site-packages/openmpi/mpi4py"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    bare = (sys.executable, "-S", "-c", FIND_MPI4PY)
    environment = {"PYTHONPATH": str(tmp_path / "site-packages")}

    def find(*names: str) -> tuple[int, str]:
        done = subprocess.run(
            [*bare, *names], env=environment, cwd=tmp_path, capture_output=True, check=False
        )
        return done.returncode, done.stdout.decode().strip()

    assert find("mpich", "openmpi") == (0, str(package.parent))
    assert find("mpich") == (1, "")
    environment["PYTHONPATH"] = str(package.parent)
    assert find("mpich") == (0, "")


SLEEPS = "import time; print(flush=True); time.sleep(60)"


def test_mpich_of_pip_is_found_beside_its_python(tmp_path: Path) -> None:
    launcher = Launcher(Kind.MPICH, "5.0.2", str(tmp_path / "bin/python"))
    assert launcher.libraries == ""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/libmpi.so.12").touch()
    assert launcher.libraries == str(tmp_path / "lib")
    assert [word.partition("=")[0] for word in library_paths(launcher)] == [
        *("PYTHONPATH", "LD_LIBRARY_PATH")
    ]
    assert launcher._replace(kind=Kind.OPENMPI).libraries == ""
    assert launcher._replace(python="python3").libraries == ""


def test_a_rank_that_starts_while_others_are_ended_is_ended_too() -> None:
    """A launcher that is killed may just have started it."""
    words = [
        sys.executable,
        "-c",
        SLEEPS,
        "-m",
        "plumbline.parts.parallel.rank",
        "/w/late/job.json",
    ]
    ranks: list[subprocess.Popen[bytes]] = []

    def begin(_: float = 0.0) -> None:
        if len(ranks) < 2:
            ranks.append(subprocess.Popen(words, stdout=subprocess.PIPE))
            stdout = ranks[-1].stdout
            assert stdout is not None
            assert stdout.readline()

    begin()
    try:
        end_ranks("/w/late/job.json", begin)
        assert [rank.wait(10) for rank in ranks] == [-signal.SIGKILL] * 2
    finally:
        for rank in ranks:
            rank.kill()
            rank.communicate()


def test_a_stopped_rank_is_ended_and_ranks_of_other_jobs_are_not() -> None:
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", SLEEPS, "-m", "plumbline.parts.parallel.rank", job],
            stdout=subprocess.PIPE,
        )
        for job in ("/w/one/job.json", "/w/other/job.json")
    ]
    own, other = ranks
    try:
        for rank in ranks:
            # a program that is just starting has no command line yet
            assert rank.stdout is not None
            assert rank.stdout.readline()
        os.kill(own.pid, signal.SIGSTOP)
        end_ranks("/w/one/job.json", time.sleep)
        assert own.wait(10) == -signal.SIGKILL
        assert other.poll() is None
    finally:
        for rank in ranks:
            rank.kill()
            rank.communicate()


@pytest.mark.skipif(find_spec("mpi4py") is not None, reason="this Python has mpi4py")
def test_a_rank_without_mpi4py_names_the_package_to_install() -> None:
    words = [sys.executable, "-m", "plumbline.parts.parallel.rank", "job.json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == ToolError.exit_code
    assert done.stderr == (
        f"plumbline: {sys.executable} has no mpi4py; install python3-mpi4py, or name another "
        "Python with --python\n"
    )
