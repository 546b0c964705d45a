"""import-linter's contracts leave no module out."""

from __future__ import annotations

from typing import Any

import tomllib

from tests.project.repository import ROOT

# What may touch the world; all else is pure.
WORLDLY = {"ranks", "run", "store", "output", "cli"}
# What the console alone uses; all else must run on a node's bare Python.
CONSOLE = {"topology", "plan", "baseline", "expect", "simulate", "output", "cli"}


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


def test_every_module_has_a_layer() -> None:
    layers = {
        name.strip(" ()") for layer in contracts()["layers"]["layers"] for name in layer.split("|")
    }
    assert contracts()["layers"]["exhaustive"]
    assert modules() - layers == set()


def test_every_module_is_pure_or_said_to_touch_the_world() -> None:
    assert sources("pure") == modules() - WORLDLY


def test_every_module_runs_on_a_node_or_is_said_to_be_the_consoles() -> None:
    assert sources("nodes") == modules() - CONSOLE
