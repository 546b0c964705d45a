"""import-linter's contracts leave no module out."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import Any, Iterator

import pytest
import tomllib

from plumbline.cli import MACHINE_VERBS, VERBS
from tests.project.repository import ROOT

# What may touch the world; all else is pure.
WORLDLY = {"folders", "ranks", "run", "store", "collect", "documents", "site", "output", "cli"}
# What the console alone uses; all else must run on a node's bare Python.
CONSOLE = {
    *("topology", "plan", "baseline", "expect", "documents"),
    *("simulate", "output", "report", "cli"),
}


def contracts() -> dict[str, Any]:
    """Return import-linter's contracts by their id."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        read = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    return {contract["id"]: contract for contract in read}


def modules() -> set[str]:
    """Return the names of the package's modules."""
    package = ROOT / "src" / "plumbline"
    return {path.stem for path in package.glob("*.py") if path.stem != "__init__"} | {
        path.parent.name for path in package.glob("*/__init__.py")
    }


def sources(contract: str) -> set[str]:
    """Return the modules that a contract holds to something."""
    return {name.removeprefix("plumbline.") for name in contracts()[contract]["source_modules"]}


def layers() -> list[str]:
    """Return the modules from the first stage to the last; those of one layer as they stand."""
    rows = reversed(contracts()["layers"]["layers"])
    return [name.strip(" ()") for row in rows for name in row.split("|")]


def test_every_module_has_a_layer() -> None:
    assert contracts()["layers"]["exhaustive"]
    assert modules() - set(layers()) == set()


def test_the_guide_and_the_architecture_name_the_same_stages() -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"^errors, units, .*?(?=^```)", guide, re.MULTILINE | re.DOTALL)
    assert set(re.findall(r"\w+", line)) == set(layers())
    architecture = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = architecture.partition("## Stages and modules")[2].partition("## Documents")[0]
    cells = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", " ".join(cells))) == set(layers())


def test_every_module_is_pure_or_said_to_touch_the_world() -> None:
    assert sources("pure") == modules() - WORLDLY


def test_every_module_runs_on_a_node_or_is_said_to_be_the_consoles() -> None:
    assert sources("nodes") == modules() - CONSOLE


# What several verbs share: options and what they mean, how far a run is.
SHARED = {
    *("dates", "directories", "source"),
    *("parallel_members", "parallel_options", "parallel_terms"),
    *("progress", "prometheus", "signalled"),
}


def test_verbs_share_options_and_printing_alone() -> None:
    every = (*VERBS, *MACHINE_VERBS)
    assert set(contracts()["verbs"]["modules"]) == {f"plumbline.cli.{verb}" for verb in every}
    users: dict[str, set[str]] = {}
    for verb in every:
        for module in of_cli(verb):
            users.setdefault(module, set()).add(verb)
    assert {module for module, verbs in users.items() if len(verbs) > 1} == SHARED


def of_cli(module: str) -> set[str]:
    """Return the modules of the command line that a module of it needs."""
    text = (ROOT / "src" / "plumbline" / "cli" / f"{module}.py").read_text(encoding="utf-8")
    found = set(re.findall(r"from plumbline\.cli\.(\w+) import", text))
    found |= set(re.findall(r"from plumbline\.cli import (\w+)", text))
    return found.union(*map(of_cli, found))


def imported(path: Path) -> Iterator[str]:
    """Yield the packages that a module imports, wherever it does so."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").partition(".")[0]


@pytest.mark.slow
def test_what_runs_on_a_node_imports_pythons_own_modules_alone() -> None:
    package = ROOT / "src" / "plumbline"
    paths = [package / f"{name}.py" for name in modules() - CONSOLE]
    paths += [path for name in modules() - CONSOLE for path in (package / name).glob("*.py")]
    # the tests need a newer Python than the package, which mypy does not know
    known = {*vars(sys)["stdlib_module_names"], "plumbline"}
    foreign = {
        (str(path.relative_to(package)), name)
        for path in filter(Path.exists, paths)
        for name in set(imported(path)) - known
    }
    assert foreign == {("ranks/world.py", "mpi4py")}
