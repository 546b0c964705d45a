from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from plumbline.model.command import Completed
from plumbline.model.errors import ToolError
from plumbline.parallel.launch import (
    FIND_MPI4PY,
    Kind,
    Launch,
    Launcher,
    assumed,
    command,
    find_launcher,
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
    ],
)
def test_a_launcher_is_known_by_what_it_says_of_itself(said: str, kind: Kind, version: str) -> None:
    runner = FakeRunner({"mpirun --version": said, sys.executable: HAS_MPI})
    launcher = find_launcher(Launch(), runner)
    assert launcher == Launcher(kind, version, sys.executable, program="", modules="")


PLUGINS = (
    "MPI plugin types are...\n\tpmix\n\tnone\n\tpmi2\nspecific pmix plugin versions available: v4"
)


@pytest.mark.parametrize(
    ("library", "plugins", "options", "pmi"),
    [
        ("Open MPI v4.1.4, package: Debian", PLUGINS, (), "pmix"),
        ("MPICH Version: 4.0.2", PLUGINS, (), "pmi2"),
        ("Open MPI v4.1.4, package: Debian", "MPI plugin types are...\n\tnone", (), ""),
        ("CRAY MPI of its own", PLUGINS, (), ""),
        ("Open MPI v4.1.4, package: Debian", PLUGINS, ("--mpi=openmpi",), ""),
    ],
)
def test_slurm_is_told_what_the_ranks_of_that_mpi_need(
    library: str,
    plugins: str,
    options: tuple[str, ...],
    pmi: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("SLURM_MPI_TYPE", raising=False)
    runner = FakeRunner(
        {"srun --version": SLURM, sys.executable: HAS_MPI, "env": library, "srun --mpi": plugins}
    )
    launch = Launch("srun", options=options)
    launcher = find_launcher(launch, runner)
    assert launcher == Launcher(Kind.SLURM, "22.05.8", sys.executable, pmi=pmi)
    given = [word for word in command(launch, launcher, 2, "/w/job.json") if "--mpi" in word]
    assert given == ([f"--mpi={pmi}"] if pmi else list(options))


def test_a_plugin_that_a_person_has_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_MPI_TYPE", "pmi2")
    runner = FakeRunner({"srun --version": SLURM, sys.executable: HAS_MPI})
    assert find_launcher(Launch("srun"), runner).pmi == ""


def test_the_systems_python_is_taken_where_this_one_has_no_mpi() -> None:
    runner = FakeRunner(
        {"mpirun --version": OPENMPI, sys.executable: HAS_NOT, "/usr/bin/python3": HAS_MPI}
    )
    assert find_launcher(Launch(), runner).python == "/usr/bin/python3"


def absent(argv: tuple[str, ...]) -> Completed:
    raise ToolError(f"{argv[0]} is not installed on this host; install the package openmpi-bin")


@pytest.mark.parametrize(("kind", "said"), [(Kind.OPENMPI, OPENMPI), (Kind.MPICH, HYDRA)])
def test_an_mpi_of_the_redhat_family_needs_no_module_load(kind: Kind, said: str) -> None:
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
    launcher = find_launcher(launch, runner)
    assert (launcher.program, launcher.modules) == (f"{home}/bin/mpirun", modules)
    # of its own kind alone: that of another MPI would not work
    assert runner.called("/usr/bin/python3")[0].endswith(f" {kind.value}")


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
    ("program", "kind"),
    [
        ("mpirun", Kind.OPENMPI),
        ("mpirun.mpich", Kind.MPICH),
        ("/usr/bin/srun", Kind.SLURM),
    ],
)
def test_a_call_that_is_only_shown_goes_by_the_name(program: str, kind: Kind) -> None:
    assert assumed(Launch(program)) == Launcher(kind, "", "python3")
