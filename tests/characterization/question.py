"""A question of the command line and the tree of its answer."""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

from tests.characterization.console import Consoles
from tests.characterization.product import Answer


class Question(NamedTuple):
    """A question that may need a console; ``slow`` says that it takes half a second or more."""

    name: str
    tree: Callable[[Consoles], Any]
    slow: bool = False


def ended(answer: Answer) -> dict[str, Any]:
    """Return the tree of an answer that is JSON, with the exit code."""
    return {"code": answer.code, "answer": answer.document() if answer.out.strip() else None}
