"""How each launcher is called to start the ranks.

Each has to end all ranks when one dies, and none of them needs more of a node than ssh, or
Slurm, gives the user of the probes.
"""

from __future__ import annotations

import os
from typing import Sequence

from plumbline.errors import DocumentError
from plumbline.ranks.layout import spread
from plumbline.run.launch import Client, Launch
from plumbline.run.launcher import Kind, Launcher, library_paths

MODULE = "plumbline.ranks"

_KILL_S = 2
"""Between asking a rank to end and ending it: it writes down what it has measured."""


_ROMIO = ("OMPI_MCA_io_ompio_priority=1",)
"""Open MPI would prefer its own OMPIO on all but Lustre, which takes no notice of such hints; this
is what it gives OMPIO there.  The whole of MPICH's MPI-IO is ROMIO."""

_OUT_OF_REACH = ("setsid", "--wait")
"""A rank in a session of its own sees its parent killed, writes down what it knows and ends."""


def command(
    launch: Launch, found: Launcher, ranks: int, job: str, *, romio: bool = False
) -> tuple[str, ...]:
    """Return the call that starts all ranks; raise DocumentError as ``slots`` does.

    ``romio``: files are opened with hints that this implementation of MPI-IO alone understands.
    """
    clients = launch.slots(ranks)
    words = {Kind.OPENMPI: _openmpi, Kind.MPICH: _mpich, Kind.SLURM: _slurm}[found.kind]
    return (
        found.program or launch.launcher,
        *words(ranks, clients),
        *(_kept_in(found, alone=not clients) if found.kind is Kind.OPENMPI else ()),
        *((f"--mpi={found.pmi}",) if found.pmi else ()),
        *launch.options,
        *(_OUT_OF_REACH if found.kills_at_once else ()),
        *("env", *_unset(found), *library_paths(found)),
        # a mpi4py that can do both learns which one it is for
        *((f"MPI4PY_MPIABI={found.kind.value}",) if found.kind is not Kind.SLURM else ()),
        *(_ROMIO if romio and found.kind is not Kind.MPICH else ()),
        *(found.python, "-m", MODULE, job),
    )


def _openmpi(ranks: int, clients: Sequence[Client]) -> tuple[str, ...]:
    hosts = ",".join(f"{client.name}:{client.slots}" for client in clients)
    return (
        *("-np", str(ranks)),
        *(("--host", hosts) if hosts else ()),
        # more ranks than cores are no mistake: they wait for storage
        *("--map-by", ":OVERSUBSCRIBE", "--bind-to", "none"),
        *(("--allow-run-as-root",) if os.geteuid() == 0 else ()),
        *("--mca", "odls_base_sigkill_timeout", str(_KILL_S)),
        # a container does not let one process read another's memory
        *("--mca", "btl_vader_single_copy_mechanism", "none"),
    )


def _kept_in(found: Launcher, *, alone: bool) -> tuple[str, ...]:
    """Return where Open MPI keeps its files on this host: elsewhere they would outlive a kill.

    Notes are in a folder of its own, and memory that ranks share would be in /dev/shm.  Where that
    lies is one for all hosts, and so it is moved only where this host is ``alone``.
    """
    if not found.folder:
        return ()
    notes = (
        ("--prtemca", "prte_local_tmpdir_base")
        if found.is_prrte
        else ("--mca", "orte_local_tmpdir_base")
    )
    memory = ("btl_vader_backing_directory", "btl_sm_backing_directory") if alone else ()
    options = (notes, *(("--mca", name) for name in memory))
    return tuple(word for option in options for word in (*option, found.folder))


def _unset(found: Launcher) -> tuple[str, ...]:
    """Return how ranks lose what ORTE hands on to them, to refuse then the folder it gives them."""
    orte = found.kind is Kind.OPENMPI and not found.is_prrte
    return ("-u", "OMPI_MCA_orte_local_tmpdir_base") if orte and found.folder else ()


def _mpich(ranks: int, clients: Sequence[Client]) -> tuple[str, ...]:
    hosts = ",".join(f"{client.name}:{client.slots}" for client in clients)
    # the ranks of other hosts learn of a death then, and not killed
    return ("-n", str(ranks), *(("-hosts", hosts) if hosts else ()), "-disable-auto-cleanup")


def _slurm(ranks: int, clients: Sequence[Client]) -> tuple[str, ...]:
    # --distribution=arbitrary would take any numbers, but crashes the controller of Slurm 22.05
    if clients and tuple(one.slots for one in clients) != spread(ranks, len(clients)):
        raise DocumentError(
            "srun deals ranks out evenly; name the clients without numbers of ranks, or use mpirun"
        )
    names = ",".join(client.name for client in clients)
    given = (f"--nodes={len(clients)}", f"--nodelist={names}", "--distribution=cyclic")
    return (
        f"--ntasks={ranks}",
        *(given if names else ()),
        *("--kill-on-bad-exit=1", "--overcommit"),
    )
