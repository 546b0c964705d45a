from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from plumbline.errors import DocumentError, ToolError
from plumbline.model.command import Completed
from plumbline.run.launch import (
    FIND_MPI4PY,
    Client,
    Kind,
    Launch,
    Launcher,
    command,
    find_launcher,
    parse_clients,
)
from tests.package.fakes import FakeRunner, answer

OPENMPI = "mpirun (Open MPI) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/\n"
HYDRA = "HYDRA build details:\n    Version:                                 4.0.2\n"
SLURM = "slurm 22.05.8\n"
HAS_MPI = answer()
HAS_NOT = answer(exit_code=1)


@pytest.mark.parametrize(
    ("said", "kind", "version"),
    [
        (OPENMPI, Kind.OPENMPI, "4.1.4"),
        ("mpirun (Open MPI) 5.0.7\n", Kind.OPENMPI, "5.0.7"),
        (HYDRA, Kind.MPICH, "4.0.2"),
        ("Intel(R) MPI Library for Linux* OS, Version 2021.11 Build", Kind.MPICH, "2021.11"),
        (SLURM, Kind.SLURM, "22.05.8"),
    ],
)
def test_a_launcher_is_known_by_what_it_says_of_itself(said: str, kind: Kind, version: str) -> None:
    runner = FakeRunner({"mpirun --version": said, sys.executable: HAS_MPI})
    found = find_launcher(Launch(), runner)
    assert found == Launcher(kind, version, sys.executable, program="", modules="")


def test_the_systems_python_is_taken_where_this_one_has_no_mpi() -> None:
    runner = FakeRunner(
        {"mpirun --version": OPENMPI, sys.executable: HAS_NOT, "/usr/bin/python3": HAS_MPI}
    )
    assert find_launcher(Launch(), runner).python == "/usr/bin/python3"


def absent(argv: tuple[str, ...]) -> Completed:
    raise ToolError(f"{argv[0]} is not installed on this host; install the package openmpi-bin")


@pytest.mark.parametrize(("kind", "said"), [(Kind.OPENMPI, OPENMPI), (Kind.MPICH, HYDRA)])
def test_an_mpi_of_the_redhat_family_needs_no_module_load(
    kind: Kind, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, modules = f"/usr/lib64/{kind.value}", f"/usr/lib64/python3.9/site-packages/{kind.value}"
    runner = FakeRunner(
        {
            "mpirun --version": absent,
            "/usr/lib64/openmpi/bin/mpirun": absent,
            f"{home}/bin/mpirun --version": said,
            "/usr/bin/python3": f"{modules}\n",
        }
    )
    launch = Launch(python="/usr/bin/python3")
    found = find_launcher(launch, runner)
    assert (found.program, found.modules) == (f"{home}/bin/mpirun", modules)
    # of its own kind alone: that of another MPI would not work
    assert runner.called("/usr/bin/python3")[0].endswith(f" {kind.value}")
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    monkeypatch.setenv("PYTHONPATH", "/opt/own")
    call = command(launch, found, 2, "/w/job.json")
    assert call[0] == f"{home}/bin/mpirun"
    assert f"LD_LIBRARY_PATH={home}/lib" in call
    assert any(f":{modules}:/opt/own" in word for word in call if word.startswith("PYTHONPATH="))


def test_an_mpi_that_is_nowhere_is_said_by_its_own_name() -> None:
    runner = FakeRunner({"mpirun": absent, "/usr/lib64": absent})
    with pytest.raises(ToolError, match=r"^mpirun is not installed on this host"):
        find_launcher(Launch(), runner)
    named = FakeRunner({"/opt/mpi/bin/mpirun": absent})
    with pytest.raises(ToolError, match=r"^/opt/mpi/bin/mpirun is not installed"):
        find_launcher(Launch("/opt/mpi/bin/mpirun"), named)


def test_mpi4py_is_found_in_the_folder_of_its_mpi(tmp_path: Path) -> None:
    """The script for a Python that may be another one, run for real."""
    package = tmp_path / "site-packages/openmpi/mpi4py"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    bare = (sys.executable, "-S", "-c", FIND_MPI4PY)
    environment = {"PYTHONPATH": str(tmp_path / "site-packages")}

    def said(*names: str) -> tuple[int, str]:
        done = subprocess.run(
            [*bare, *names], env=environment, cwd=tmp_path, capture_output=True, check=False
        )
        return done.returncode, done.stdout.decode().strip()

    assert said("mpich", "openmpi") == (0, str(package.parent))
    assert said("mpich") == (1, "")
    environment["PYTHONPATH"] = str(package.parent)
    assert said("mpich") == (0, "")


@pytest.mark.parametrize(
    ("answers", "sentence"),
    [
        ({"mpirun": "make me a sandwich"}, "no launcher that plumbline knows: 'make me"),
        ({"mpirun": answer(exit_code=1)}, "install an MPI, or name another --launcher"),
        ({"mpirun": OPENMPI, "python": HAS_NOT}, "python cannot import mpi4py; install"),
    ],
)
def test_what_is_missing_is_a_sentence(answers: dict[str, str], sentence: str) -> None:
    with pytest.raises(ToolError, match=sentence):
        find_launcher(Launch(python="python"), FakeRunner(answers))


@pytest.mark.parametrize(
    ("text", "separator", "clients"),
    [
        ("", ",", ()),
        ("c1,c2", ",", (Client("c1"), Client("c2"))),
        ("c1:4,c2:2", ",", (Client("c1", 4), Client("c2", 2))),
        ("# ours\nc1 slots=4\n\nc2 # the other\n", "\n", (Client("c1", 4), Client("c2"))),
        ("10.0.0.1:3", ",", (Client("10.0.0.1", 3),)),
    ],
)
def test_clients_are_read_as_launchers_read_them(
    text: str, separator: str, clients: tuple[Client, ...]
) -> None:
    assert parse_clients(text, separator) == clients


@pytest.mark.parametrize("text", ["c1;c2", "-np", "c1:0", "c1,c1:2", "c1:x"])
def test_what_is_no_client_is_refused(text: str) -> None:
    with pytest.raises(DocumentError, match=r"is no client|is named twice"):
        parse_clients(text)


def test_ranks_are_shared_out_equally_where_nobody_says_how() -> None:
    launch = Launch(clients=parse_clients("c1,c2,c3"))
    assert launch.slots(7) == (("c1", 3), ("c2", 2), ("c3", 2))
    assert launch.slots(2) == (("c1", 1), ("c2", 1))
    with pytest.raises(DocumentError, match="slots for fewer than 5 ranks"):
        Launch(clients=parse_clients("c1:2,c2:2")).slots(5)


def test_each_launcher_is_called_in_its_own_way() -> None:
    launch = Launch(clients=parse_clients("c1,c2"), options=("--verbose",))
    calls = {
        kind: " ".join(command(launch, Launcher(kind, "1.0", "/usr/bin/python3"), 3, "/w/job.json"))
        for kind in Kind
    }
    assert "mpirun -np 3 --host c1:2,c2:1 --map-by :OVERSUBSCRIBE" in calls[Kind.OPENMPI]
    assert "mpirun -n 3 -hosts c1:2,c2:1 -disable-auto-cleanup --verbose env" in calls[Kind.MPICH]
    assert "--ntasks=3 --nodes=2 --nodelist=c1,c2 --kill-on-bad-exit=1" in calls[Kind.SLURM]
    for kind, call in calls.items():
        assert call.endswith("/usr/bin/python3 -m plumbline.ranks /w/job.json")
        assert (f"MPI4PY_MPIABI={kind.value}" in call) == (kind is not Kind.SLURM)
