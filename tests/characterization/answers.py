"""The questions whose answers must not change, by name: each gives a tree to compare."""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

from tests.characterization.formats import icinga, nagios
from tests.characterization.product import DATA, INVENTORIES, Answer, run

GOLDEN = DATA / "golden"
SITES = ("edison", "redstorm", "bgl", "example", "lab")
MOMENT = 1_768_435_200.0
"""2026-01-15 00:00 UTC."""


class Question(NamedTuple):
    """A question of the command line; ``slow`` says that it takes half a second or more."""

    name: str
    tree: Callable[[], Any]
    slow: bool = False


def static() -> list[Question]:
    """Return what an inventory alone answers."""
    questions = []
    for site in SITES:
        where, slow = ("-i", str(INVENTORIES / site)), site == "bgl"
        questions += [
            Question(f"{site}-plan", _document("plan", *where, "--json"), slow),
            Question(f"{site}-ceiling", _document("ceiling", *where, "--json"), slow),
            Question(f"{site}-nagios", _objects("nagios", nagios, *where), slow),
            Question(f"{site}-icinga", _objects("icinga2", icinga, *where), slow),
        ]
    return questions


def ended(answer: Answer) -> dict[str, Any]:
    """Return the tree of an answer that is JSON, with the exit code."""
    return {"code": answer.code, "answer": answer.document() if answer.out.strip() else None}


def _document(*argv: str) -> Callable[[], Any]:
    return lambda: ended(run(*argv, at=MOMENT))


def _objects(name: str, read: Callable[[str], Any], *where: str) -> Callable[[], Any]:
    def tree() -> Any:
        answer = run("plan", *where, "--format", name, "--json", at=MOMENT)
        files = {file: read(text) for file, text in answer.document().items()}
        return {"code": answer.code, "answer": files}

    return tree


def questions() -> list[Question]:
    """Return all questions."""
    return static()
