"""One thing has one name: words that the field has a better one for stay out."""

from __future__ import annotations

import re

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


@pytest.mark.parametrize(("pattern", "instead"), INSTEAD.items())
def test_a_word_that_has_a_better_one_is_not_there(pattern: str, instead: str) -> None:
    word = re.compile(rf"\b({pattern})\b", re.IGNORECASE)
    read = texts()
    assert len(read) > 200
    found = [f"{path}: {hit.group()}" for path, text in read.items() for hit in word.finditer(text)]
    assert found == [], f"write {instead}"
