"""Launchers: clients, installed kinds, and calls."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import plumbline
from plumbline.model.command import Completed
from plumbline.model.errors import DocumentError, ToolError
from plumbline.parallel.launch import (
    FIND_MPI4PY,
    Client,
    Kind,
    Launch,
    Launcher,
    assumed,
    command,
    end_ranks,
    find_launcher,
    parse_clients,
)
from tests.package.fakes import FakeRunner, answer


@pytest.mark.parametrize(
    ("text", "separator", "clients"),
    [
        ("", ",", ()),
        ("c1,c2", ",", (Client("c1"), Client("c2"))),
        ("c1:4,c2:2", ",", (Client("c1", 4), Client("c2", 2))),
        ("# ours\nc1 slots=4\n\nc2:1 # the other\n", "\n", (Client("c1", 4), Client("c2", 1))),
        ("10.0.0.1:3", ",", (Client("10.0.0.1", 3),)),
    ],
)
def test_clients_are_read_as_launchers_read_them(
    text: str, separator: str, clients: tuple[Client, ...]
) -> None:
    assert parse_clients(text, separator) == clients


@pytest.mark.parametrize("text", ["c1;c2", "-np", "c1:0", "c1,c1:2", "c1:x", "c1:6,c2"])
def test_what_is_no_client_is_refused(text: str) -> None:
    with pytest.raises(DocumentError, match=r"is no client|is named twice|c2 has no number of"):
        parse_clients(text)


def test_ranks_are_shared_out_equally_where_nobody_says_how() -> None:
    launch = Launch(clients=parse_clients("c1,c2,c3"))
    assert launch.slots(7) == (("c1", 3), ("c2", 2), ("c3", 2))
    assert launch.slots(2) == (("c1", 1), ("c2", 1))
    with pytest.raises(DocumentError, match="slots for fewer than 5 ranks"):
        Launch(clients=parse_clients("c1:2,c2:2")).slots(5)


def test_each_launcher_is_called_in_its_own_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    launch = Launch("LAUNCHER", clients=parse_clients("c1,c2"), options=("--verbose",))
    here = Path(plumbline.__file__).parents[1]
    rank = "/usr/bin/python3 -m plumbline.parallel.rank /w/job.json"
    calls = {
        kind: " ".join(command(launch, Launcher(kind, "4.1", "/usr/bin/python3"), 3, "/w/job.json"))
        for kind in Kind
    }
    assert calls == {
        Kind.OPENMPI: "LAUNCHER -np 3 --host c1:2,c2:1 --map-by :OVERSUBSCRIBE --bind-to none "
        "--mca odls_base_sigkill_timeout 2 --mca btl_vader_single_copy_mechanism none --verbose "
        f"env PYTHONPATH={here} MPI4PY_MPIABI=openmpi {rank}",
        Kind.MPICH: "LAUNCHER -n 3 -hosts c1:2,c2:1 -disable-auto-cleanup --verbose "
        f"setsid --wait env PYTHONPATH={here} MPI4PY_MPIABI=mpich {rank}",
        Kind.SLURM: "LAUNCHER --ntasks=3 --nodes=2 --nodelist=c1,c2 --distribution=cyclic "
        "--kill-on-bad-exit=1 --overcommit --verbose "
        f"env PYTHONPATH={here} {rank}",
    }


@pytest.mark.parametrize(
    ("kind", "version", "apart"),
    [
        (Kind.OPENMPI, "4.1.4", False),
        (Kind.OPENMPI, "5.0.7", True),
        (Kind.MPICH, "4.0.2", True),
        (Kind.SLURM, "22.05.8", False),
    ],
)
def test_ranks_are_out_of_reach_of_a_launcher_that_kills_all_with_one(
    kind: Kind, version: str, apart: bool
) -> None:
    call = command(Launch(), Launcher(kind, version, "python3"), 2, "/w/job.json")
    assert ("setsid --wait env" in " ".join(call)) == apart


@pytest.mark.parametrize(
    ("version", "option"),
    [("4.1.4", "--mca orte_local_tmpdir_base"), ("5.0.7", "--prtemca prte_local_tmpdir_base")],
)
def test_what_open_mpi_keeps_goes_with_the_folder_of_the_run(version: str, option: str) -> None:
    launcher = Launcher(Kind.OPENMPI, version, "python3", folder="/tmp/run")
    words = " ".join(command(Launch(), launcher, 2, "/scratch/work/run/job.json"))
    assert "--mca btl_vader_backing_directory /tmp/run " in words
    assert f"{option} /tmp/run " in words
    several = " ".join(command(Launch(clients=parse_clients("c1,c2")), launcher, 2, "/w/job.json"))
    assert f"{option} /tmp/run " in several
    # ranks would refuse the folder of ORTE with it
    assert ("env -u OMPI_MCA_orte_local_tmpdir_base PYTHON" in several) is (version < "5")
    # the others have no such folder
    assert "backing_directory" not in several
    shown = " ".join(command(Launch(), launcher._replace(folder=""), 2, "/w/job.json"))
    assert "director" not in shown
    assert "tmpdir" not in shown


@pytest.mark.parametrize("kind", list(Kind))
def test_hints_of_romio_are_heard(kind: Kind) -> None:
    launcher = Launcher(kind, "1.0", "python3")
    hinted = command(Launch(), launcher, 2, "/w/job.json", romio=True)
    plain = command(Launch(), launcher, 2, "/w/job.json")
    assert set(hinted) - set(plain) <= {"OMPI_MCA_io_ompio_priority=1"}
    # MPICH has nothing else
    assert (hinted == plain) == (kind is Kind.MPICH)


def test_slurm_alone_is_left_to_choose_the_host() -> None:
    call = command(Launch("srun"), Launcher(Kind.SLURM, "22.05", "python3"), 2, "/w/job.json")
    assert call[:4] == ("srun", "--ntasks=2", "--kill-on-bad-exit=1", "--overcommit")


def test_slurm_deals_out_ranks_evenly_or_not_at_all() -> None:
    launch = Launch("srun", clients=parse_clients("c1:3,c2:1"))
    with pytest.raises(DocumentError, match="srun deals ranks out evenly; name the clients"):
        command(launch, Launcher(Kind.SLURM, "22.05", "python3"), 4, "/w/job.json")


def test_what_lies_apart_is_named_to_the_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    monkeypatch.setenv("PYTHONPATH", "/opt/own")
    home, modules = "/usr/lib64/mpich", "/usr/lib64/python3.9/site-packages/mpich"
    launcher = Launcher(Kind.MPICH, "4.0", "python3", f"{home}/bin/mpirun", modules)
    call = command(Launch(), launcher, 2, "/w/job.json")
    assert call[0] == f"{home}/bin/mpirun"
    assert f"LD_LIBRARY_PATH={home}/lib" in call
    assert any(f":{modules}:/opt/own" in word for word in call if word.startswith("PYTHONPATH="))


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


SLEEPS = "import time; print(flush=True); time.sleep(60)"


def test_a_stopped_rank_of_the_job_is_ended_and_that_of_another_is_not() -> None:
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", SLEEPS, "-m", "plumbline.parallel.rank", job],
            stdout=subprocess.PIPE,
        )
        for job in ("/w/one/job.json", "/w/other/job.json")
    ]
    own, other = ranks
    try:
        for rank in ranks:
            # while a program is being started it has no command line yet
            assert rank.stdout is not None
            assert rank.stdout.readline()
        os.kill(own.pid, signal.SIGSTOP)
        end_ranks("/w/one/job.json")
        assert own.wait(10) == -signal.SIGKILL
        assert other.poll() is None
    finally:
        for rank in ranks:
            rank.kill()
            rank.communicate()


@pytest.mark.skipif(find_spec("mpi4py") is not None, reason="this Python has mpi4py")
def test_a_rank_whose_python_has_no_mpi4py_says_what_to_install() -> None:
    words = [sys.executable, "-m", "plumbline.parallel.rank", "job.json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == ToolError.exit_code
    assert done.stderr == (
        f"plumbline: {sys.executable} has no mpi4py; install python3-mpi4py, or name another "
        "Python with --python\n"
    )
