"""The build for a node runs there by itself and is smaller than that of the console."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from plumbline.cli import NODE_MODULES, NODE_PARTS
from plumbline.cli.machines import MACHINES
from plumbline.cli.people import PEOPLE
from plumbline.model.errors import UsageError
from plumbline.model.parts import PARTS
from tests.processes import bare_python
from tests.project.repository import ROOT

NODE_VERBS = [
    name
    for name, verb in {**PEOPLE, **MACHINES}.items()
    if (verb.module in NODE_MODULES or verb.part in NODE_PARTS) and " " not in name
]
PACK = ROOT / "roles" / "agent" / "files" / "pack.py"


LOAD = """
import importlib, sys
sys.path.insert(0, {build!r})
for name in {names!r}:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        # packages of the distribution; a node that drives no file system needs no mpi4py
        if error.name not in ("mpi4py", "numpy"):
            raise
"""


def pack(cache: Path) -> list[str]:
    """Pack this checkout into a cache; return the paths of the archives."""
    call = [sys.executable, str(PACK), str(ROOT), str(cache)]
    return subprocess.check_output(call, text=True).split()


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the archives of a node and of the console, in a folder of their own."""
    return pack(tmp_path_factory.mktemp("archives"))


@pytest.fixture(scope="module")
def builds(archives: list[str], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the unpacked builds of a node and of the console."""
    folder = tmp_path_factory.mktemp("builds")
    folders = []
    for name, path in zip(("node", "console"), archives):
        (folder / name).mkdir()
        subprocess.run(["tar", "-xf", path, "-C", str(folder / name)], check=True)
        folders.append(folder / name)
    node, console = folders
    return node, console


def plumbline(build: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command of a build as on a node, with the standard library only."""
    code = f"import sys; sys.path.insert(0, {str(build)!r}); from plumbline.cli import main; "
    return bare_python("-c", f"{code}sys.exit(main())", *arguments)


def files(build: Path) -> set[str]:
    return {str(path.relative_to(build)) for path in build.rglob("*.py")}


@pytest.mark.slow
def test_a_node_gets_fewer_modules_than_the_console(builds: tuple[Path, Path]) -> None:
    node, console = map(files, builds)
    all_files = {
        f"plumbline/{path.relative_to(ROOT / 'src' / 'plumbline')}"
        for path in (ROOT / "src" / "plumbline").rglob("*.py")
    }
    assert console == all_files
    assert node < console
    parts = {name.split("/")[2] for name in node if name.startswith("plumbline/parts/")}
    assert parts == {"__init__.py", *NODE_PARTS}
    assert len(list((builds[0] / "checks").iterdir())) == len(list(ROOT.glob("checks/check_*")))


def test_a_node_has_the_programs_that_its_verbs_and_roles_start(builds: tuple[Path, Path]) -> None:
    """Nothing imports them, so that nothing else notices a missing one before it is started."""
    started = {
        f"plumbline/{path.relative_to(ROOT / 'src' / 'plumbline')}"
        for room in ("measure", "observe", "parts/parallel")
        for path in (ROOT / "src" / "plumbline" / room).rglob("*.py")
        if '__name__ == "__main__"' in path.read_text("utf-8")
    }
    assert "plumbline/measure/calls.py" in started
    assert started <= files(builds[0])


@pytest.mark.parametrize("verb", NODE_VERBS)
def test_a_node_has_its_verbs(builds: tuple[Path, Path], verb: str) -> None:
    done = plumbline(builds[0], verb, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: ")


def test_a_node_can_draft_a_topology(builds: tuple[Path, Path]) -> None:
    done = plumbline(builds[0], "topology", "draft", "--mount", "/")
    assert done.returncode == UsageError.exit_code
    assert "whose targets plumbline cannot list" in done.stderr


def test_a_verb_of_the_console_names_the_hosts_that_have_it(builds: tuple[Path, Path]) -> None:
    for verb in {name.partition(" ")[0] for name in (*PEOPLE, *MACHINES)} - {*NODE_VERBS}:
        done = plumbline(builds[0], verb, "--plan", "x")
        if part := {**PEOPLE, **MACHINES}[verb].part:
            assert done.returncode == 69
            assert done.stderr == (
                f"plumbline: plumbline {verb} needs the part {part} ({PARTS[part]}), which this "
                "host does not have; call it on the monitoring host or on the control host, or "
                f"install it: in a clone of plumbline, pip install '.[{part}]'\n"
            )
        else:
            assert done.returncode == 64
            assert done.stderr == (
                f"plumbline: this host has what nodes need, without plumbline {verb}; call it on "
                "the monitoring host or on the control host\n"
            )
    assert plumbline(builds[0], "--help").returncode == 0


def test_a_node_refuses_to_read_an_inventory(builds: tuple[Path, Path]) -> None:
    done = plumbline(builds[0], "topology", "check", "-i", str(ROOT / "inventories" / "lab"))
    assert done.returncode == 69
    assert done.stderr == (
        "plumbline: this host has what nodes need, which reads no inventory; do so on the "
        "monitoring host or on the control host\n"
    )


def test_each_module_of_a_node_can_be_imported_there(builds: tuple[Path, Path]) -> None:
    """All modules in the build are imported by name, even those imported within functions."""
    names = [
        name.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        for name in sorted(files(builds[0]))
        if not name.endswith("__main__.py")
    ]
    code = LOAD.format(build=str(builds[0]), names=names)
    assert bare_python("-c", code).stderr == ""


@pytest.mark.slow
def test_equal_sources_make_equal_archives(archives: list[str]) -> None:
    folder = Path(archives[0]).parent
    assert pack(folder) == archives
    kept = [str(path) for path in folder.iterdir() if not path.is_symlink()]
    assert sorted(kept) == sorted(archives)
