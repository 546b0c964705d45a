"""How the ranks are started: by the mpirun of Open MPI or MPICH, or by srun.

What a launcher is, its own ``--version`` says.  Each is told to end all ranks when one dies, and
none of them needs more of a node than ssh, or Slurm, gives the user of the probes.
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import Iterator, NamedTuple, Sequence

import plumbline
from plumbline.errors import DocumentError, ToolError
from plumbline.model.command import CommandRunner, Completed
from plumbline.ranks.layout import spread
from plumbline.targets.ask import complaint

MODULE = "plumbline.ranks"

_QUICK_S = 20.0
_KILL_S = 2
"""Between asking a rank to end and ending it: it writes down what it has measured."""

_HOST = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9_.-]*)(?:(?::|\s+slots=)(?P<slots>[1-9]\d*))?")
_SYSTEM_PYTHON = "/usr/bin/python3"

FIND_MPI4PY = """
import os, sys
from importlib.util import find_spec
folders = [os.path.join(path, name) for path in sys.path if path for name in sys.argv[1:]]
usual, found = find_spec("mpi4py"), ""
if usual is None:
    found = next((one for one in folders if os.path.isdir(os.path.join(one, "mpi4py"))), "")
print(found)
sys.exit(usual is None and not found)
"""
"""Prints where mpi4py lies when Python does not look there by itself; 1 when it is nowhere."""

_OWN_FOLDER = "/usr/lib64/{}"
"""Where the RedHat family keeps each MPI, which ``module load`` adds to the paths.

Programs are in ``bin``, libraries in ``lib``, and its mpi4py lies in a folder of its name among
Python's packages (Fedora packaging guidelines, "Message Passing Interface").
"""


class Kind(str, Enum):
    """What a launcher is."""

    OPENMPI = "openmpi"
    MPICH = "mpich"
    SLURM = "slurm"


_APART = (Kind.OPENMPI, Kind.MPICH)
"""Those that the RedHat family keeps in folders of their own."""

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
    """A launcher that is there: what it is, its version, and the Python to start.

    ``program`` is its path where it lies apart from all others, else empty; ``modules`` is the
    folder of mpi4py where Python does not look by itself.
    """

    kind: Kind
    version: str
    python: str
    program: str = ""
    modules: str = ""

    @property
    def libraries(self) -> str:
        """The folder of its libraries where it lies apart, else empty."""
        return str(Path(self.program).parents[1] / "lib") if self.program else ""


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
    completed, program = _asked(launch.launcher, run)
    said = completed.stdout + completed.stderr
    if not completed.ok:
        raise ToolError(f"{complaint(completed)}; install an MPI, or name another --launcher")
    version = re.search(r"\d+(\.\d+)+", said)
    for mark, kind in _MARKS:
        if mark in said.lower() and version:
            python, modules = _python(launch, kind, run)
            return Launcher(kind, version[0], python, program, modules)
    raise ToolError(
        f"{launch.launcher} is no launcher that plumbline knows: {said.strip()[:80]!r}; "
        "name the mpirun of Open MPI or MPICH, or srun"
    )


def _asked(launcher: str, run: CommandRunner) -> tuple[Completed, str]:
    """Return what a launcher says of itself, and its path where it lies apart from all others.

    Raises:
        ToolError: it is nowhere.
    """
    try:
        return run([launcher, "--version"], _QUICK_S), ""
    except ToolError:
        if os.path.dirname(launcher):
            raise
        for kind in _APART:
            program = os.path.join(_OWN_FOLDER.format(kind.value), "bin", launcher)
            with suppress(ToolError):
                return run([program, "--version"], _QUICK_S), program
        raise


def _python(launch: Launch, kind: Kind, run: CommandRunner) -> tuple[str, str]:
    """Return the Python that has mpi4py, and the folder of mpi4py if that must be named."""
    candidates = [launch.python] if launch.python else [sys.executable, _SYSTEM_PYTHON]
    names = [one.value for one in _APART if kind in (one, Kind.SLURM)]
    for candidate in candidates:
        found = run([candidate, "-c", FIND_MPI4PY, *names], _QUICK_S)
        if found.ok:
            return candidate, found.stdout.strip()
    raise ToolError(
        f"{' and '.join(dict.fromkeys(candidates))} cannot import mpi4py; install the package "
        "python3-mpi4py (RedHat family: python3-mpi4py-openmpi), or name a Python that has it "
        "with --python"
    )


def command(launch: Launch, found: Launcher, ranks: int, job: str) -> tuple[str, ...]:
    """Return the call that starts all ranks; raise DocumentError as ``slots`` does."""
    clients = launch.slots(ranks)
    words = {Kind.OPENMPI: _openmpi, Kind.MPICH: _mpich, Kind.SLURM: _slurm}[found.kind]
    return (
        found.program or launch.launcher,
        *words(ranks, clients),
        *(_kept_in(os.path.dirname(job)) if found.kind is Kind.OPENMPI and not clients else ()),
        *launch.options,
        *("env", *_paths(found)),
        # a mpi4py that can do both learns which one it is for
        *((f"MPI4PY_MPIABI={found.kind.value}",) if found.kind is not Kind.SLURM else ()),
        *(found.python, "-m", MODULE, job),
    )


def _paths(found: Launcher) -> Iterator[str]:
    """Yield where ranks find Python's modules, and MPI's libraries where they lie apart.

    Not every launcher hands on to other hosts what ``module load`` has set on this one.
    """
    here = str(Path(plumbline.__file__).parents[1])
    yield _joined("PYTHONPATH", here, found.modules)
    if found.libraries:
        yield _joined("LD_LIBRARY_PATH", found.libraries)


def _joined(name: str, *folders: str) -> str:
    """Return a variable that has folders before what it has here already."""
    return f"{name}={os.pathsep.join(filter(None, (*folders, os.environ.get(name, ''))))}"


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
