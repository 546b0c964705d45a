"""Functions of the judge run by each test, so that a mutant meets only tests that run it."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Callable, Mapping, NamedTuple

from tests.bench.mutants import FILES, Mutant, name_of

KEPT = Path(".cache/mutate/functions")


class Functions(NamedTuple):
    """Functions run by each test file, as ``module:first line``."""

    of: Mapping[str, frozenset[str]]

    def meets(self, tests: str, mutant: Mutant) -> bool:
        """Return whether tests run the function of a mutant.

        A mutant outside of functions meets all tests that run a function of its module or of those
        that import it.
        """
        if mutant.function:
            return f"{mutant.module}:{mutant.function}" in self.of[tests]
        modules = {run.partition(":")[0] for run in self.of[tests]}
        return bool(modules & _knowing(mutant.module))


def _knowing(module: str) -> set[str]:
    """Return a module and those that import from it."""
    named = f"{name_of(module)} import"
    return {module} | {name for name, path in FILES.items() if named in path.read_text()}


def functions_of(files: list[str], passes: Callable[[str, Path], bool]) -> Functions:
    """Return the functions that tests run; those of unchanged files are cached."""
    KEPT.mkdir(parents=True, exist_ok=True)
    sources = "".join(path.read_text() for path in FILES.values())
    functions = {}
    for name in files:
        digest = hashlib.sha256((sources + Path(name).read_text()).encode()).hexdigest()
        place = KEPT / f"{Path(name).stem}-{digest[:16]}.json"
        if not place.exists() and not passes(name, place):
            sys.exit(f"mutate_judge: {name} fails without any mutant")
        functions[name] = frozenset(json.loads(place.read_text()))
    return Functions(functions)


class Watch:
    """Notes the functions that are entered."""

    def __init__(self) -> None:
        self._codes: set[CodeType] = set()

    def __call__(self, frame: FrameType, _event: str, _argument: Any) -> None:
        """Note a call, without tracing its lines."""
        self._codes.add(frame.f_code)

    def write(self, place: Path) -> None:
        """Write the entered functions of the judge atomically."""
        files = {str(path.resolve()) for path in FILES.values()}
        if not any(code.co_filename in files for code in self._codes):
            sys.exit(f"mutate_judge: {place.stem} runs nothing that judges")
        functions = {
            f"{Path(code.co_filename).stem}:{code.co_firstlineno}"
            for code in self._codes
            if code.co_filename in files and code.co_name != "<module>"
        }
        partial = place.with_suffix(".partial")
        partial.write_text(json.dumps(sorted(functions)))
        os.replace(partial, place)
