from __future__ import annotations

import os
from pathlib import Path

import pytest

import plumbline
from plumbline.model.errors import DocumentError
from plumbline.parallel.launch import Kind, Launch, Launcher, command, parse_clients


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
