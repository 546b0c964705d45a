"""Mutants of the judge, each with one change of the source by cosmic-ray's operators."""

from __future__ import annotations

import ast
import difflib
from functools import cache
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Iterator, NamedTuple, Optional, Sequence

from cosmic_ray.ast import ast_nodes, get_ast, is_number
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator
from cosmic_ray.plugins import get_operator
from parso.python.tree import Number

PACKAGE = Path("src/plumbline")
FOLDER = PACKAGE / "judge"
FACTS = PACKAGE / "parts" / "facts"
FILES = {
    path.stem: path
    for path in (*sorted(FOLDER.glob("[!_]*.py")), FACTS / "job_rates.py", FACTS / "latency.py")
}
"""Modules that judge, most of them in the room of the judge."""

_COMPARED = (
    ("Lt", "LtE"),
    ("Lt", "GtE"),
    ("LtE", "Lt"),
    ("LtE", "Gt"),
    ("Gt", "GtE"),
    ("Gt", "LtE"),
    ("GtE", "Gt"),
    ("GtE", "Lt"),
    ("Eq", "NotEq"),
    ("NotEq", "Eq"),
    ("Is", "IsNot"),
    ("IsNot", "Is"),
)


class Mutant(NamedTuple):
    """A change: a line of a module before and after it, and the whole changed source.

    ``function`` is the first line of the innermost function around it, with decorators, or 0;
    ``number`` distinguishes equal changes of a module.
    """

    module: str
    function: int
    number: int
    before: str
    after: str
    source: str

    def __str__(self) -> str:
        """Return a name that lasts as long as the line; equal lines of a module are numbered."""
        nth = f" #{self.number}" if self.number > 1 else ""
        return f"{self.module}: {self.before} => {self.after}{nth}"


class DoubleReplacer(Operator):  # type: ignore[misc] # cosmic-ray ships no types
    """Doubles and halves numbers with a point or an exponent."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[Any, Any]]:
        """Yield the place of each such number twice."""
        if is_number(node) and _has_point(node.value):
            yield from [(node.start_pos, node.end_pos)] * 2

    def mutate(self, node: Any, index: int) -> Any:
        """Return the changed number."""
        return Number(f" {float(node.value) * (2.0, 0.5)[index]!r}", node.start_pos)

    @classmethod
    def examples(cls) -> tuple[()]:
        """Return none; cosmic-ray uses examples to test its own operators."""
        return ()


def _has_point(text: str) -> bool:
    return "." in text or "e" in text


def mutants_of(module: str, *, double: bool) -> list[Mutant]:
    """Return all mutants of a module of the judge, in the order of its lines."""
    source = FILES[module].read_text()
    changes = [
        _changed(source, changed)
        for operator in _operators(double)
        for changed in _each(source, operator)
    ]
    changes.sort(key=lambda change: change[0])
    counts: dict[tuple[str, str], int] = {}
    mutants = []
    begun = _functions(source)
    same = ast.dump(ast.parse(source))
    for line, before, after, changed in changes:
        if ast.dump(ast.parse(changed)) == same:
            # 1e100 and 1e100 + 1 are the same number
            continue
        counts[before, after] = counts.get((before, after), 0) + 1
        function, number = begun.get(line + 1, 0), counts[before, after]
        mutants.append(Mutant(module, function, number, before, after, changed))
    return mutants


def _functions(source: str) -> dict[int, int]:
    """Return the first line of the function around each line."""
    first_lines = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            # defaults are evaluated in the module, not in the function
            for line in range(node.body[0].lineno, (node.end_lineno or 0) + 1):
                first_lines[line] = first
    return first_lines


@cache
def _operators(double: bool) -> Sequence[Any]:
    names = [f"core/ReplaceComparisonOperator_{one}_{other}" for one, other in _COMPARED]
    operators = [get_operator(name)() for name in [*names, "core/NumberReplacer"]]
    return [*operators, DoubleReplacer()] if double else operators


def _each(source: str, operator: Any) -> Iterator[str]:
    nodes = ast_nodes(get_ast(source))
    for occurrence in range(sum(len(list(operator.mutation_positions(node))) for node in nodes)):
        changed: str = mutate_code(source, operator, occurrence)
        yield changed


def _changed(source: str, changed: str) -> tuple[int, str, str, str]:
    """Return the number of the changed line, the line before and after, and the source."""
    old, new = source.splitlines(), changed.splitlines()
    lines = difflib.SequenceMatcher(None, old, new, False).get_opcodes()
    _, start, _, to, _ = next(line for line in lines if line[0] != "equal")
    return start, _plain(old[start]), _plain(new[to]), changed


def _plain(line: str) -> str:
    return " ".join(line.split())


class _Only(Loader):
    """Loads a module from compiled code."""

    def __init__(self, code: CodeType, path: str) -> None:
        self._code, self._path = code, path

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = self._path
        exec(self._code, module.__dict__)


class _Finder(MetaPathFinder):
    def __init__(self, name: str, loader: Loader) -> None:
        self._name, self._loader = name, loader

    def find_spec(
        self, fullname: str, path: object, target: Optional[ModuleType] = None
    ) -> Optional[ModuleSpec]:
        return spec_from_loader(fullname, self._loader) if fullname == self._name else None


def loaded_as(mutant: Mutant) -> MetaPathFinder:
    """Return a finder that loads a mutant when its module is imported."""
    path = str(FILES[mutant.module].resolve())
    code = compile(mutant.source, path, "exec", dont_inherit=True)
    return _Finder(name_of(mutant.module), _Only(code, path))


def name_of(module: str) -> str:
    """Return the full name of a module that judges."""
    return ".".join(FILES[module].relative_to(PACKAGE.parent).with_suffix("").parts)
