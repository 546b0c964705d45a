"""One thing has one name: words that the field has a better one for stay out."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Iterator

import pytest

from tests.project.repository import ROOT, tracked

INSTEAD = {
    "companions?": "peers",
    "siblings?": "peers",
    "held up by": "limited by",
    "sent again|resent": "retransmitted",
    "beyond doubt|certainty": "odds",
    "absolves?": "inconclusive",
    "leans": "is slow",
    "overtaken": "superseded",
    "of before": "earlier",
    "anew": "again",
    "by (?:it|them)sel(?:f|ves)": "alone",
    "(?:explains? it|explains?) equally well": "ambiguous",
    "(?:is|are|was|were) told(?! apart)": "gets, is reported, is shown",
    "cohorts?": "metrics",
    "its Python is not whole": "installation incomplete",
    "what is slow": "slow components",
    "who measures": "which node measures",
}
"""By pattern, what stands in its place."""

PLACES = ("src", "roles", "playbooks", "plugins", "checks", "docs", "README.md", "CONTRIBUTING.md")


def texts() -> dict[str, str]:
    """Return what people read, by path."""
    found = (path for path in tracked() if path.relative_to(ROOT).parts[0] in PLACES)
    return {
        str(path.relative_to(ROOT)): path.read_bytes().decode("utf-8", errors="ignore")
        for path in found
    }


@pytest.mark.slow
@pytest.mark.parametrize(("pattern", "instead"), INSTEAD.items())
def test_a_word_that_has_a_better_one_is_not_there(pattern: str, instead: str) -> None:
    word = re.compile(rf"\b({pattern})\b", re.IGNORECASE)
    read = texts()
    assert len(read) > 200
    found = [f"{path}: {hit.group()}" for path, text in read.items() for hit in word.finditer(text)]
    assert found == [], f"write {instead}"


SAY_NOTHING = {"of", "one", "each", "place"}
# These have their names from before the rule.
LEFT = ("src/plumbline/simulate/", "src/plumbline/symptoms/gather.py")


def parameters(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the name of each function of a file, and of each parameter that it has."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            taken = node.args
            for each in (*taken.posonlyargs, *taken.args, *taken.kwonlyargs):
                yield getattr(node, "name", "lambda"), each.arg


@pytest.mark.slow
def test_a_parameter_is_named_after_what_it_is() -> None:
    paths = [(str(path.relative_to(ROOT)), path) for path in tracked("src/plumbline/*.py")]
    found = [
        f"{name}: {parameter} of {function}"
        for name, path in paths
        if not name.startswith(LEFT)
        for function, parameter in parameters(path)
        if parameter in SAY_NOTHING
    ]
    assert found == []
