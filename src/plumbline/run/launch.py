"""How the ranks are started: by the mpirun of Open MPI or MPICH, or by srun.

What a launcher is, its own ``--version`` says.  Each is told to end all ranks when one dies, and
none of them needs more of a node than ssh, or Slurm, gives the user of the probes.
"""

from __future__ import annotations

import os
import re
import sys
from enum import Enum
from pathlib import Path
from typing import NamedTuple, Sequence

import plumbline
from plumbline.errors import DocumentError, ToolError
from plumbline.model.command import CommandRunner
from plumbline.ranks.layout import spread
from plumbline.targets.ask import complaint

MODULE = "plumbline.ranks"

_QUICK_S = 20.0
_KILL_S = 2
"""Between asking a rank to end and ending it: it writes down what it has measured."""

_HOST = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9_.-]*)(?:(?::|\s+slots=)(?P<slots>[1-9]\d*))?")
_HAS_MPI = "import importlib.util as u, sys; sys.exit(u.find_spec('mpi4py') is None)"
_SYSTEM_PYTHON = "/usr/bin/python3"


class Kind(str, Enum):
    """What a launcher is."""

    OPENMPI = "openmpi"
    MPICH = "mpich"
    SLURM = "slurm"


_MARKS = (
    ("open mpi", Kind.OPENMPI),
    ("openrte", Kind.OPENMPI),
    ("hydra", Kind.MPICH),
    ("intel(r) mpi", Kind.MPICH),
    ("slurm", Kind.SLURM),
)
"""What ``--version`` says of each, in small letters."""


class Client(NamedTuple):
    """A host that ranks run on; ``slots`` is how many of them, 0 for an equal share."""

    name: str
    slots: int = 0


class Launch(NamedTuple):
    """What starts the ranks.

    ``launcher`` is a program; ``clients`` are empty for this host alone, or for what Slurm has
    given; ``python`` is empty for the first one that has mpi4py; ``options`` go to the launcher.
    """

    launcher: str = "mpirun"
    clients: tuple[Client, ...] = ()
    python: str = ""
    options: tuple[str, ...] = ()

    def slots(self, ranks: int) -> tuple[Client, ...]:
        """Return the clients with their numbers of ranks, which add up to ``ranks``.

        Raises:
            DocumentError: what was given adds up to fewer.
        """
        if not self.clients:
            return ()
        if all(client.slots for client in self.clients):
            if sum(client.slots for client in self.clients) < ranks:
                raise DocumentError(
                    f"the clients have slots for fewer than {ranks} ranks; give them more, or none"
                )
            return self.clients
        shares = spread(ranks, len(self.clients))
        found = (Client(one.name, share) for one, share in zip(self.clients, shares))
        return tuple(client for client in found if client.slots)


class Launcher(NamedTuple):
    """A launcher that is there: what it is, its version, and the Python to start."""

    kind: Kind
    version: str
    python: str


def parse_clients(text: str, separator: str = ",") -> tuple[Client, ...]:
    """Return the clients of ``host1,host2:4``, or of the lines of a hostfile.

    Raises:
        DocumentError: an entry is no host, or one is there twice.
    """
    lines = [line.partition("#")[0].strip() for line in text.split(separator)]
    found = []
    for line in filter(None, lines):
        match = _HOST.fullmatch(line)
        if not match:
            raise DocumentError(f"{line!r} is no client; write host, or host:4 for four ranks")
        found.append(Client(match["name"], int(match["slots"] or 0)))
    names = [client.name for client in found]
    for name in names:
        if names.count(name) > 1:
            raise DocumentError(f"the client {name} is named twice; name it once, with its slots")
    return tuple(found)


def find_launcher(launch: Launch, run: CommandRunner) -> Launcher:
    """Return what is there to start ranks with; raise ToolError when something is missing."""
    completed = run([launch.launcher, "--version"], _QUICK_S)
    said = completed.stdout + completed.stderr
    if not completed.ok:
        raise ToolError(f"{complaint(completed)}; install an MPI, or name another --launcher")
    version = re.search(r"\d+(\.\d+)+", said)
    for mark, kind in _MARKS:
        if mark in said.lower() and version:
            return Launcher(kind, version[0], _python(launch, run))
    raise ToolError(
        f"{launch.launcher} is no launcher that plumbline knows: {said.strip()[:80]!r}; "
        "name the mpirun of Open MPI or MPICH, or srun"
    )


def _python(launch: Launch, run: CommandRunner) -> str:
    candidates = [launch.python] if launch.python else [sys.executable, _SYSTEM_PYTHON]
    for candidate in candidates:
        if run([candidate, "-c", _HAS_MPI], _QUICK_S).ok:
            return candidate
    raise ToolError(
        f"{' and '.join(dict.fromkeys(candidates))} cannot import mpi4py; install the package "
        "python3-mpi4py, or name a Python that has it with --python"
    )


def command(launch: Launch, found: Launcher, ranks: int, job: str) -> tuple[str, ...]:
    """Return the call that starts all ranks; raise DocumentError as ``slots`` does."""
    clients = launch.slots(ranks)
    words = {Kind.OPENMPI: _openmpi, Kind.MPICH: _mpich, Kind.SLURM: _slurm}[found.kind]
    return (
        launch.launcher,
        *words(ranks, clients),
        *(_kept_in(os.path.dirname(job)) if found.kind is Kind.OPENMPI and not clients else ()),
        *launch.options,
        *("env", f"PYTHONPATH={Path(plumbline.__file__).parents[1]}"),
        # a mpi4py that can do both learns which one it is for
        *((f"MPI4PY_MPIABI={found.kind.value}",) if found.kind is not Kind.SLURM else ()),
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


def _kept_in(folder: str) -> tuple[str, ...]:
    """Return where ranks of one host keep what they share: in /dev/shm it would outlive a kill."""
    names = ("btl_vader_backing_directory", "btl_sm_backing_directory")
    return tuple(word for name in names for word in ("--mca", name, folder))


def _mpich(ranks: int, clients: Sequence[Client]) -> tuple[str, ...]:
    hosts = ",".join(f"{client.name}:{client.slots}" for client in clients)
    # it would kill the others before they can write down anything; they notice by themselves
    return ("-n", str(ranks), *(("-hosts", hosts) if hosts else ()), "-disable-auto-cleanup")


def _slurm(ranks: int, clients: Sequence[Client]) -> tuple[str, ...]:
    names = ",".join(client.name for client in clients)
    return (
        f"--ntasks={ranks}",
        *((f"--nodes={len(clients)}", f"--nodelist={names}") if names else ()),
        *("--kill-on-bad-exit=1", "--overcommit"),
    )
