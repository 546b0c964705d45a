"""The questions whose answers must not change, by name: each gives a tree to compare."""

from __future__ import annotations

from typing import Any, Callable

from tests.characterization.console import Consoles
from tests.characterization.formats import icinga, nagios
from tests.characterization.node_questions import of_nodes
from tests.characterization.product import DATA, inventories, run
from tests.characterization.question import Question, ended
from tests.characterization.scene_questions import of_scenes

GOLDEN = DATA / "golden"
SITES = ("edison", "redstorm", "bgl", "jaguar", "example", "lab")
PARTNERS = 3
"""So many of each host are compared; the 1248 of bgl have 78,624."""
MOMENT = 1_768_435_200.0
"""2026-01-15 00:00 UTC."""


def of_inventories() -> list[Question]:
    """Return what an inventory alone answers."""
    questions = []
    for site in SITES:
        where, slow = ("-i", str(inventories() / site)), site == "bgl"
        plan = ("plan", *where, "--json")
        questions += [
            Question(f"{site}-plan", _few_partners(*plan) if slow else _document(*plan), slow),
            Question(f"{site}-ceiling", _document("ceiling", *where, "--json"), slow),
            Question(f"{site}-nagios", _objects("nagios", nagios, *where), slow),
            Question(f"{site}-icinga", _objects("icinga2", icinga, *where), slow),
        ]
    return questions


def _document(*argv: str) -> Callable[[Consoles], Any]:
    return lambda _: ended(run(*argv, at=MOMENT))


def _few_partners(*argv: str) -> Callable[[Consoles], Any]:
    def tree(consoles: Consoles) -> Any:
        planned = _document(*argv)(consoles)
        for node in planned["answer"]["nodes"].values():
            for entry in node["entries"]:
                entry["partners"] = entry["partners"][:PARTNERS]
        return planned

    return tree


def _objects(name: str, read: Callable[[str], Any], *where: str) -> Callable[[Consoles], Any]:
    def tree(_: Consoles) -> Any:
        answer = run("plan", *where, "--format", name, "--json", at=MOMENT)
        files = {file: read(text) for file, text in answer.document().items()}
        return {"code": answer.code, "answer": files}

    return tree


def questions() -> list[Question]:
    """Return all questions."""
    return [*of_inventories(), *of_scenes(), *of_nodes()]
