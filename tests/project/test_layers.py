"""import-linter's contracts cover all modules."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Any, Iterator

import pytest
import tomllib

from plumbline.model.parts import PARTS
from tests.project.repository import ROOT

# Rooms and modules that may do I/O; all others are pure.
WORLDLY = {
    *("measure", "store", "site", "doors", "cli"),
    *("observe.command", "observe.folders", "observe.given", "observe.job_stats", "observe.rows"),
    "observe.starter",
    *(f"parts.facts.{name}" for name in ("contract", "counting", "darshan_logs", "gather")),
    *(f"parts.facts.{name}" for name in ("job_traffic", "loads", "pydarshan", "saved")),
    *(f"parts.facts.{name}" for name in ("site_changes", "usage")),
    *(f"parts.facts.verbs.{name}" for name in ("counters", "jobs", "latency", "stages")),
    *(f"parts.facts.{name}" for name in ("collected_times", "slow_stages", "verbs.symptoms")),
    *("parts.locate.contract", "parts.locate.evidence", "parts.locate.findings"),
    *("parts.locate.investigate", "parts.locate.path_alarms"),
    *("parts.locate.paths", "parts.locate.publish", "parts.locate.site", "parts.locate.verbs"),
    *(
        f"parts.parallel.{name}"
        for name in ("axes", "choices", "job", "launch", "mpi", "operation")
    ),
    *(f"parts.parallel.{name}" for name in ("rank", "run", "runs", "sweep", "sweeping", "tally")),
    *("parts.parallel.verbs", "parts.report.compare", "parts.report.read", "parts.report.verbs"),
    *("parts.simulate.tables", "parts.simulate.verbs"),
    *(f"parts.space.{name}" for name in ("contract", "history", "publish", "verbs")),
}
# Rooms and modules of the console only; all others run on a node's bare Python.
CONSOLE = {
    *("topology", "plan", "doors", "cli"),
    *("parts.locate", "parts.report", "parts.simulate"),
    *(
        "parts.facts.pydarshan",
        "parts.facts.verbs",
        "parts.parallel.choices",
        "parts.parallel.sweeping",
        "parts.parallel.verbs",
        "parts.space.verbs",
    ),
    *("site.documents", "site.inventory", "site.wiring"),
}


def contracts() -> dict[str, Any]:
    """Return import-linter's contracts by their id."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        contract_list = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    return {contract["id"]: contract for contract in contract_list}


def sources(contract: str) -> set[str]:
    """Return the source modules of a contract."""
    return {name.removeprefix("plumbline.") for name in contracts()[contract]["source_modules"]}


def files() -> Iterator[tuple[str, Path]]:
    """Yield all modules of the package with their files."""
    package = ROOT / "src" / "plumbline"
    for path in sorted(package.rglob("*.py")):
        name = ".".join(path.relative_to(package).with_suffix("").parts)
        if path.name != "__init__.py" or path.parent.parent.name in ("model", "measure"):
            yield name.removesuffix(".__init__"), path


def is_in(name: str, rooms: set[str]) -> bool:
    """Return whether a module is one of these rooms and modules, or in one."""
    return any(name == room or name.startswith(f"{room}.") for room in rooms)


def test_each_module_is_pure_or_listed_as_doing_io() -> None:
    pure = sources("pure")
    mixed = ("observe.", "parts.")
    assert [name for name, _ in files() if not is_in(name, pure | WORLDLY | {"observe"})] == []
    unlisted = {name for name, _ in files() if name.startswith(mixed)} - pure
    assert unlisted == {name for name in WORLDLY if name.startswith(mixed)}
    assert {name for name in WORLDLY if is_in(name, pure)} == set()


def test_each_module_runs_on_a_node_or_is_listed_for_the_console() -> None:
    nodes = sources("nodes")
    assert [name for name, _ in files() if not is_in(name, nodes | CONSOLE)] == []
    assert {name for name in CONSOLE if is_in(name, nodes)} == set()


def test_each_part_is_registered_independent_and_an_extra() -> None:
    folders = {path.parent.name for path in (ROOT / "src/plumbline/parts").glob("*/__init__.py")}
    independent = {
        name.removeprefix("plumbline.parts.") for name in contracts()["parts"]["modules"]
    }
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert folders == independent == PARTS.keys()
    assert PARTS.keys() <= project["optional-dependencies"].keys()
    page = (ROOT / "docs" / "parts.md").read_text(encoding="utf-8")
    assert [part for part in PARTS if f"\n## {part}\n" not in page] == []


def imported(path: Path) -> Iterator[str]:
    """Yield the packages that a module imports anywhere."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").partition(".")[0]


@pytest.mark.slow
def test_modules_of_a_node_import_little_beyond_the_standard_library() -> None:
    # mypy does not know that tests need a newer Python than the package
    standard = {*vars(sys)["stdlib_module_names"], "plumbline"}
    foreign = {
        (name, package)
        for name, path in files()
        if not is_in(name, CONSOLE)
        for package in set(imported(path)) - standard
    }
    # packages of the distribution
    arrays = (
        *("judge.cases", "judge.kinds", "judge.losses"),
        *("judge.recursion", "judge.references", "judge.runs"),
    )
    assert foreign == {*((name, "numpy") for name in arrays), ("parts.parallel.mpi", "mpi4py")}
