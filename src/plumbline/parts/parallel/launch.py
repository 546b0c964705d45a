"""Launchers of ranks: mpirun of Open MPI or MPICH, or srun, and the Python for the ranks.

The output of ``--version`` shows the kind of a launcher.

A launcher must end all ranks if one dies.  It needs no more access to a node than the probes' user
has by ssh or Slurm.

A launcher does not end the ranks if it was killed, or if they have their own sessions.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from collections import Counter
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import Callable, Iterator, NamedTuple, Sequence

import plumbline
from plumbline.model.command import CommandRunner, Completed
from plumbline.model.errors import DocumentError, ToolError
from plumbline.model.ranks import spread
from plumbline.model.validation import whole
from plumbline.observe.query import complaint

_HOST = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9_.-]*)(?:(?::|\s+slots=)(?P<slots>[1-9]\d*))?")


class Client(NamedTuple):
    """Host with ranks; ``slots`` is their number, 0 for an equal share."""

    name: str
    slots: int = 0


class Launch(NamedTuple):
    """Program and hosts that start the ranks.

    ``launcher`` is a program; ``clients`` is empty for this host, or for the ``host_count`` hosts
    of Slurm's allocation; ``python`` is empty for the first one with mpi4py; ``options`` are passed
    to the launcher.
    """

    launcher: str = "mpirun"
    clients: tuple[Client, ...] = ()
    python: str = ""
    options: tuple[str, ...] = ()
    host_count: int = 1

    @property
    def hosts(self) -> int:
        """Number of hosts with ranks."""
        return len(self.clients) or self.host_count

    def slots(self, ranks: int) -> tuple[Client, ...]:
        """Return the clients with numbers of ranks that add up to at least ``ranks``.

        Raises:
            DocumentError: the given slots add up to fewer.
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
        clients = (Client(client.name, share) for client, share in zip(self.clients, shares))
        return tuple(client for client in clients if client.slots)


def by_slurm(launcher: str) -> bool:
    """Return True for Slurm's srun, which finds the hosts of its allocation."""
    return Path(launcher).name == "srun"


def parse_clients(text: str, separator: str = ",") -> tuple[Client, ...]:
    """Parse ``host1,host2:4``, or the lines of a hostfile.

    Raises:
        DocumentError: an entry is no host, a host is listed twice, or only some have slots.
    """
    lines = [line.partition("#")[0].strip() for line in text.split(separator)]
    clients = []
    for line in filter(None, lines):
        match = _HOST.fullmatch(line)
        if not match:
            raise DocumentError(f"{line!r:.80} is no client; write host, or host:4 for four ranks")
        slots = whole(match["slots"] or "0", f"the ranks of {line!r:.80}", DocumentError)
        clients.append(Client(match["name"], slots))
    for name, count in Counter(client.name for client in clients).items():
        if count > 1:
            raise DocumentError(f"the client {name} is named twice; name it once, with its slots")
    without = [client.name for client in clients if not client.slots]
    if without and len(without) < len(clients):
        raise DocumentError(
            f"the client {without[0]} has no number of ranks and others have one; give one to all "
            "of them, or to none"
        )
    return tuple(clients)


_QUICK_S = 20.0
_SYSTEM_PYTHON = "/usr/bin/python3"

FIND_MPI4PY = """
import os, sys
from importlib.util import find_spec
folders = [os.path.join(path, name) for path in sys.path if path for name in sys.argv[1:]]
usual, folder = find_spec("mpi4py"), ""
if usual is None:
    folder = next((path for path in folders if os.path.isdir(os.path.join(path, "mpi4py"))), "")
print(folder)
sys.exit(usual is None and not folder)
"""
"""Program to print the folder of mpi4py if Python does not search it; exits with 1 if missing."""

_LIBRARY = """
import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
print(MPI.Get_library_version())
"""
_PMI = (("Open MPI", "pmix"), ("MPICH", "pmi2"))
"""Slurm's plugin for each MPI library, by words in the library's version."""

_SEPARATE_FOLDER = "/usr/lib64/{}"
"""Folder of each MPI in the RedHat family, which ``module load`` adds to the paths.

Programs are in ``bin``, libraries in ``lib``; mpi4py is in a folder of the MPI's name among the
packages of Python (Fedora packaging guidelines, "Message Passing Interface").
"""


class Kind(str, Enum):
    """Family of a launcher."""

    OPENMPI = "openmpi"
    MPICH = "mpich"
    SLURM = "slurm"


_SEPARATE = (Kind.OPENMPI, Kind.MPICH)
"""Launchers that the RedHat family installs in separate folders."""

_MARKS = (
    ("open mpi", Kind.OPENMPI),
    ("openrte", Kind.OPENMPI),
    ("hydra", Kind.MPICH),
    ("intel(r) mpi", Kind.MPICH),
    ("slurm", Kind.SLURM),
)
"""Words in the output of ``--version``, in lower case, with the launcher."""


class Launcher(NamedTuple):
    """Installed launcher: family, version, and the Python to start.

    ``program`` is its path if it is installed in a separate folder; ``modules`` is the folder of
    mpi4py if Python does not search it; ``pmi`` is Slurm's plugin to connect the ranks, empty for
    the site's setting; ``folder`` is for the launcher's files on this host during the run, empty
    for the launcher's default.
    """

    kind: Kind
    version: str
    python: str
    program: str = ""
    modules: str = ""
    pmi: str = ""
    folder: str = ""

    @property
    def kills_at_once(self) -> bool:
        """True if it kills all ranks of a host as soon as one dies, with any options.

        MPICH's Hydra (4.0) and PRRTE do this.
        """
        return self.kind is Kind.MPICH or self.is_prrte

    @property
    def is_prrte(self) -> bool:
        """True for PRRTE, which replaces ORTE in Open MPI 5 and later."""
        since_5 = not self.version.startswith(("1.", "2.", "3.", "4."))
        return self.kind is Kind.OPENMPI and since_5

    @property
    def libraries(self) -> str:
        """Folder of its libraries if it is a separate one, else empty.

        MPICH from pip lies beside Python, where the linker does not look for ``libmpi.so.12``;
        mpi4py asks for it by that name alone.
        """
        if self.program:
            return str(Path(self.program).parents[1] / "lib")
        if self.kind is not Kind.MPICH or not os.path.isabs(self.python):
            return ""
        beside = Path(self.python).parents[1] / "lib"
        return str(beside) if (beside / "libmpi.so.12").exists() else ""


def assumed(launch: Launch) -> Launcher:
    """Return a launcher guessed from its name, to show the command without running it."""
    name = os.path.basename(launch.launcher)
    marks = (("srun", Kind.SLURM), ("mpich", Kind.MPICH), ("hydra", Kind.MPICH))
    kind = next((kind for mark, kind in marks if mark in name), Kind.OPENMPI)
    return Launcher(kind, "", launch.python or "python3")


def find_launcher(launch: Launch, run: CommandRunner) -> Launcher:
    """Return the installed launcher; raise ToolError if it or mpi4py is missing."""
    completed, program = _version_of(launch.launcher, run)
    answer = completed.stdout + completed.stderr
    if not completed.ok:
        raise ToolError(f"{complaint(completed)}; install an MPI, or name another --launcher")
    # Intel MPI 2019: "Version 2019 Update 12"
    version = re.search(r"(?<!\d)\d+(\.\d+)+|(?<=Version )\d{4}\b", answer)
    for mark, kind in _MARKS:
        if mark in answer.lower() and version:
            python, modules = _python(launch, kind, run)
            launcher = Launcher(kind, version[0], python, program, modules)
            return (
                launcher._replace(pmi=_pmi(launch, launcher, run))
                if kind is Kind.SLURM
                else launcher
            )
    raise ToolError(
        f"{launch.launcher} is no launcher that plumbline knows: {answer.strip()[:80]!r}; "
        "name the mpirun of Open MPI or MPICH, or srun"
    )


def _version_of(launcher: str, run: CommandRunner) -> tuple[Completed, str]:
    """Run ``--version`` of a launcher; return the result, and its path if in a separate folder.

    Raises:
        ToolError: the launcher is not installed.
    """
    try:
        return run([launcher, "--version"], _QUICK_S), ""
    except ToolError:
        if os.path.dirname(launcher):
            raise
        for kind in _SEPARATE:
            program = os.path.join(_SEPARATE_FOLDER.format(kind.value), "bin", launcher)
            with suppress(ToolError):
                return run([program, "--version"], _QUICK_S), program
        raise


def _python(launch: Launch, kind: Kind, run: CommandRunner) -> tuple[str, str]:
    """Return a Python with mpi4py, and the folder of mpi4py if Python does not search it."""
    candidates = [launch.python] if launch.python else [sys.executable, _SYSTEM_PYTHON]
    names = [place.value for place in _SEPARATE if kind in (place, Kind.SLURM)]
    for candidate in candidates:
        completed = run([candidate, "-c", FIND_MPI4PY, *names], _QUICK_S)
        if completed.ok:
            return candidate, completed.stdout.strip()
    raise ToolError(
        f"{' and '.join(dict.fromkeys(candidates))} cannot import mpi4py; install the package "
        "python3-mpi4py (RedHat family: python3-mpi4py-openmpi), or name a Python that has it "
        "with --python"
    )


def _pmi(launch: Launch, launcher: Launcher, run: CommandRunner) -> str:
    """Return Slurm's plugin for the MPI of mpi4py, empty if Slurm has none.

    Without it each rank finds only itself.  A plugin chosen by the user takes precedence.
    """
    if "SLURM_MPI_TYPE" in os.environ or any(word.startswith("--mpi") for word in launch.options):
        return ""
    library = run(["env", *library_paths(launcher), launcher.python, "-c", _LIBRARY], _QUICK_S)
    listed = run([launch.launcher, "--mpi=list"], _QUICK_S)
    offered = (listed.stdout + listed.stderr).split()
    plugin = next((pmi for mark, pmi in _PMI if mark in library.stdout), "")
    return plugin if plugin in offered else ""


def library_paths(launcher: Launcher) -> Iterator[str]:
    """Yield environment variables with the search paths of Python modules and MPI libraries.

    Some launchers do not pass the paths from ``module load`` to other hosts.
    """
    package_parent = str(Path(plumbline.__file__).parents[1])
    yield _joined("PYTHONPATH", package_parent, launcher.modules)
    if launcher.libraries:
        yield _joined("LD_LIBRARY_PATH", launcher.libraries)


def _joined(name: str, *folders: str) -> str:
    """Return an environment variable with folders before its current value."""
    return f"{name}={os.pathsep.join(filter(None, (*folders, os.environ.get(name, ''))))}"


MODULE = "plumbline.parts.parallel.rank"

_KILL_S = 2
"""Time between SIGTERM and SIGKILL for a rank, to write its results."""


_ROMIO = ("OMPI_MCA_io_ompio_priority=1",)
"""Setting to prefer ROMIO in Open MPI, as it does on Lustre: elsewhere it prefers OMPIO, which
ignores ROMIO's hints.  MPICH's MPI-IO is always ROMIO."""

_OWN_SESSION = ("setsid", "--wait")
"""Wrapper for its own session, in which a rank survives a kill, writes its results and ends."""


def command(
    launch: Launch, launcher: Launcher, ranks: int, job: str, *, romio: bool = False
) -> tuple[str, ...]:
    """Return the command line that starts all ranks; raise DocumentError as ``slots`` does.

    ``romio`` is True if files are opened with hints that only ROMIO understands.
    """
    clients = launch.slots(ranks)
    words = {Kind.OPENMPI: _openmpi, Kind.MPICH: _mpich, Kind.SLURM: _slurm}[launcher.kind]
    return (
        launcher.program or launch.launcher,
        *words(ranks, clients),
        *(_session_folder(launcher, alone=not clients) if launcher.kind is Kind.OPENMPI else ()),
        *((f"--mpi={launcher.pmi}",) if launcher.pmi else ()),
        *launch.options,
        *(_OWN_SESSION if launcher.kills_at_once else ()),
        *("env", *_unset(launcher), *library_paths(launcher)),
        # tell a mpi4py for several MPIs which one to use
        *((f"MPI4PY_MPIABI={launcher.kind.value}",) if launcher.kind is not Kind.SLURM else ()),
        *(_ROMIO if romio and launcher.kind is not Kind.MPICH else ()),
        *(launcher.python, "-m", MODULE, job),
    )


def _openmpi(ranks: int, clients: Sequence[Client]) -> tuple[str, ...]:
    hosts = ",".join(f"{client.name}:{client.slots}" for client in clients)
    return (
        *("-np", str(ranks)),
        *(("--host", hosts) if hosts else ()),
        # allow more ranks than cores: they wait for storage
        *("--map-by", ":OVERSUBSCRIBE", "--bind-to", "none"),
        *(("--allow-run-as-root",) if os.geteuid() == 0 else ()),
        *("--mca", "odls_base_sigkill_timeout", str(_KILL_S)),
        # in a container a process may not read another's memory
        *("--mca", "btl_vader_single_copy_mechanism", "none"),
    )


def _session_folder(launcher: Launcher, *, alone: bool) -> tuple[str, ...]:
    """Return Open MPI's options for its files on this host, so none remain after a kill.

    Session files have their own option; shared memory would be in /dev/shm.  The option for its
    folder applies to all hosts, so it is set only if this host is ``alone``.
    """
    if not launcher.folder:
        return ()
    notes = (
        ("--prtemca", "prte_local_tmpdir_base")
        if launcher.is_prrte
        else ("--mca", "orte_local_tmpdir_base")
    )
    memory = ("btl_vader_backing_directory", "btl_sm_backing_directory") if alone else ()
    options = (notes, *(("--mca", name) for name in memory))
    return tuple(word for option in options for word in (*option, launcher.folder))


def _unset(launcher: Launcher) -> tuple[str, ...]:
    """Return the options of ``env`` that hide ORTE's session folder from the ranks."""
    orte = launcher.kind is Kind.OPENMPI and not launcher.is_prrte
    return ("-u", "OMPI_MCA_orte_local_tmpdir_base") if orte and launcher.folder else ()


def _mpich(ranks: int, clients: Sequence[Client]) -> tuple[str, ...]:
    hosts = ",".join(f"{client.name}:{client.slots}" for client in clients)
    # with this option ranks on other hosts are told of a death instead of being killed
    return ("-n", str(ranks), *(("-hosts", hosts) if hosts else ()), "-disable-auto-cleanup")


def _slurm(ranks: int, clients: Sequence[Client]) -> tuple[str, ...]:
    # --distribution=arbitrary would allow any numbers, but crashes the controller of Slurm 22.05
    if clients and tuple(client.slots for client in clients) != spread(ranks, len(clients)):
        raise DocumentError(
            "srun deals ranks out evenly; name the clients without numbers of ranks, or use mpirun"
        )
    names = ",".join(client.name for client in clients)
    nodes = (f"--nodes={len(clients)}", f"--nodelist={names}", "--distribution=cyclic")
    return (
        f"--ntasks={ranks}",
        *(nodes if names else ()),
        *("--kill-on-bad-exit=1", "--overcommit"),
    )


_TRIES = 25
_RETRY_S = 0.2


def end_ranks(job: str, sleep: Callable[[float], None]) -> None:
    """Kill the remaining processes of a job, and wait a few seconds until none is left.

    A launcher may have been killed while it started them, and a dying rank still ends its call.
    """
    words = b"\0".join(word.encode() for word in ("-m", MODULE, job, ""))
    for _ in range(_TRIES):
        if not sum(_end_rank(process, words) for process in Path("/proc").glob("[0-9]*")):
            return
        sleep(_RETRY_S)


def _end_rank(process: Path, words: bytes) -> bool:
    """Kill a process if it is a rank; return True if it is one, or may yet become one."""
    with suppress(OSError):
        line = (process / "cmdline").read_bytes()
        if line.endswith(b"\0" + words):
            os.kill(int(process.name), signal.SIGKILL)
            return True
        # a program that is just starting has no command line yet; a dead process has no program
        return not line and bool(os.readlink(process / "exe"))
    return False
