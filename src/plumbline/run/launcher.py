"""What is there to start ranks: mpirun of Open MPI or MPICH, or srun, and the Python beside it.

What a launcher is, its own ``--version`` says.
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import Iterator, NamedTuple

import plumbline
from plumbline.errors import ToolError
from plumbline.model.command import CommandRunner, Completed
from plumbline.run.launch import Launch
from plumbline.targets.query import complaint

_QUICK_S = 20.0
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
"""Prints where mpi4py lies when Python does not look there; 1 when it is nowhere."""

_LIBRARY = """
import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
print(MPI.Get_library_version())
"""
_PMI = (("Open MPI", "pmix"), ("MPICH", "pmi2"))
"""By what an MPI library says of itself: the plugin of Slurm that its ranks understand."""

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


class Launcher(NamedTuple):
    """A launcher that is there: what it is, its version, and the Python to start.

    ``program`` is its path where it lies apart from all others, else empty; ``modules`` is the
    folder of mpi4py where Python does not look; ``pmi`` is how Slurm brings ranks
    together, empty for what the site has set; ``folder`` is one of this host that is removed after
    the run, for what the launcher keeps meanwhile, empty for the place of its own choice.
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
        """Whether it kills all ranks of a host as soon as one has died, whatever its options.

        Hydra of MPICH 4.0 and PRRTE do so.
        """
        return self.kind is Kind.MPICH or self.is_prrte

    @property
    def is_prrte(self) -> bool:
        """Whether it is PRRTE, which Open MPI has since 5, in the place of ORTE."""
        since_5 = not self.version.startswith(("1.", "2.", "3.", "4."))
        return self.kind is Kind.OPENMPI and since_5

    @property
    def libraries(self) -> str:
        """The folder of its libraries where it lies apart, else empty."""
        return str(Path(self.program).parents[1] / "lib") if self.program else ""


def assumed(launch: Launch) -> Launcher:
    """Return what a launcher is by its name, for a call that is shown and not made."""
    name = os.path.basename(launch.launcher)
    marks = (("srun", Kind.SLURM), ("mpich", Kind.MPICH), ("hydra", Kind.MPICH))
    kind = next((kind for mark, kind in marks if mark in name), Kind.OPENMPI)
    return Launcher(kind, "", launch.python or "python3")


def find_launcher(launch: Launch, run: CommandRunner) -> Launcher:
    """Return what is there to start ranks with; raise ToolError when something is missing."""
    completed, program = _asked(launch.launcher, run)
    said = completed.stdout + completed.stderr
    if not completed.ok:
        raise ToolError(f"{complaint(completed)}; install an MPI, or name another --launcher")
    version = re.search(r"(?<!\d)\d+(\.\d+)+", said)
    for mark, kind in _MARKS:
        if mark in said.lower() and version:
            python, modules = _python(launch, kind, run)
            found = Launcher(kind, version[0], python, program, modules)
            return found._replace(pmi=_pmi(launch, found, run)) if kind is Kind.SLURM else found
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


def _pmi(launch: Launch, found: Launcher, run: CommandRunner) -> str:
    """Return what ranks of the MPI that mpi4py was built for need of Slurm, if Slurm has it.

    Without it each rank finds itself alone.  What somebody has set counts instead.
    """
    if "SLURM_MPI_TYPE" in os.environ or any(one.startswith("--mpi") for one in launch.options):
        return ""
    library = run(["env", *library_paths(found), found.python, "-c", _LIBRARY], _QUICK_S)
    listed = run([launch.launcher, "--mpi=list"], _QUICK_S)
    known = (listed.stdout + listed.stderr).split()
    wanted = next((pmi for mark, pmi in _PMI if mark in library.stdout), "")
    return wanted if wanted in known else ""


def library_paths(found: Launcher) -> Iterator[str]:
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
