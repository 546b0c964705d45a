"""``python -m tests.characterization.record [NAME ...]`` records the answers of today anew.

Names may be the beginnings of names.  The answers are those of the plumbline of this checkout; a
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
    """Record the answers to all questions, or to those named."""
    names = tuple(sys.argv[1:])
    GOLDEN.mkdir(parents=True, exist_ok=True)
    every = questions()
    with TemporaryDirectory(prefix="plumbline-answers-") as folder:
        consoles = Consoles(Path(folder))
        for question in every:
            if not names or question.name.startswith(names):
                write(GOLDEN, question.name, question.tree(consoles))
                print(question.name, flush=True)
    if not names:
        wanted = {question.name for question in every}
        for path in GOLDEN.iterdir():
            if path.name.partition(".")[0] not in wanted:
                path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
