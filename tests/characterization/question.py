"""A question to the command line and the tree of its answer."""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

from tests.characterization.console import Consoles
from tests.characterization.product import Answer


class Question(NamedTuple):
    """A question that may need a console; ``slow`` if it takes half a second or more."""

    name: str
    tree: Callable[[Consoles], Any]
    slow: bool = False


def json_answer(answer: Answer) -> dict[str, Any]:
    """Return the exit code and the JSON of an answer."""
    return {"code": answer.code, "answer": answer.document() if answer.out.strip() else None}
