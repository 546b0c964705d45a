"""Questions whose answers must not change; each gives a tree to compare."""

from __future__ import annotations

from typing import Any, Callable

from tests.characterization.console import Consoles
from tests.characterization.formats import icinga, nagios
from tests.characterization.node_questions import questions_of_nodes
from tests.characterization.product import DATA, Answer, inventories, run
from tests.characterization.question import Question, json_answer
from tests.characterization.scene_questions import questions_of_scenes

GOLDEN = DATA / "golden"
SITES = ("edison", "redstorm", "bgl", "jaguar", "example", "lab")
PARTNERS = 3
"""Number of partners compared for each host; the 1248 hosts of bgl have 78,624 pairs."""
MOMENT = 1_768_435_200.0
"""2026-01-15 00:00 UTC."""


def questions_of_inventories() -> list[Question]:
    """Return questions that need only an inventory."""
    questions = []
    for site in SITES:
        slow = site == "bgl"
        planned = _few_partners(site) if slow else _document("plan", site)
        questions += [
            Question(f"{site}-plan", planned, slow),
            Question(f"{site}-ceiling", _document("ceiling", site), slow),
        ]
        # those of a thousand hosts take half a minute and show no other kind of object
        if not slow:
            questions += [
                Question(f"{site}-nagios", _objects("nagios", nagios, site)),
                Question(f"{site}-icinga", _objects("icinga2", icinga, site)),
            ]
    return questions


def _ask(verb: str, site: str, *options: str) -> Answer:
    return run(verb, "-i", str(inventories() / site), *options, "--json", at=MOMENT)


def _document(verb: str, site: str) -> Callable[[Consoles], Any]:
    return lambda _: json_answer(_ask(verb, site))


def _few_partners(site: str) -> Callable[[Consoles], Any]:
    def tree(consoles: Consoles) -> Any:
        planned = _document("plan", site)(consoles)
        for node in planned["answer"]["nodes"].values():
            for entry in node["entries"]:
                entry["partners"] = entry["partners"][:PARTNERS]
        return planned

    return tree


def _objects(name: str, read: Callable[[str], Any], site: str) -> Callable[[Consoles], Any]:
    def tree(_: Consoles) -> Any:
        answer = _ask("plan", site, "--format", name)
        files = {file: read(text) for file, text in answer.document().items()}
        return {"code": answer.code, "answer": files}

    return tree


def questions() -> list[Question]:
    """Return all questions."""
    return [*questions_of_inventories(), *questions_of_scenes(), *questions_of_nodes()]
