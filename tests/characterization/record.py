"""``python -m tests.characterization.record [NAME ...]`` records the current answers.

A name may be the start of several names.  The answers come from the plumbline of this checkout; a
second call writes the same bytes.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.characterization.answers import GOLDEN, questions
from tests.characterization.console import Consoles
from tests.characterization.trees import write


def main() -> int:
    """Record the answers to all questions or to the named ones."""
    names = tuple(sys.argv[1:])
    GOLDEN.mkdir(parents=True, exist_ok=True)
    recorded = questions()
    with TemporaryDirectory(prefix="plumbline-answers-") as folder:
        consoles = Consoles(Path(folder))
        for question in recorded:
            if not names or question.name.startswith(names):
                write(GOLDEN, question.name, question.tree(consoles))
                print(question.name, flush=True)
    if not names:
        names_in_use = {question.name for question in recorded}
        for path in GOLDEN.iterdir():
            if path.name.partition(".")[0] not in names_in_use:
                path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
