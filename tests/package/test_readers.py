"""Readers give a value or an error of plumbline for any input.

A million mutations and inputs of 1 MB are in tests.bench.mutations.
"""

from __future__ import annotations

import ast
import sys
import time
from pathlib import Path
from random import Random
from types import CodeType, FrameType
from typing import Any, Iterator

import pytest

from plumbline.model.errors import PlumblineError
from tests.mutations.mutate import mutate, stretched
from tests.mutations.reader import Reader
from tests.mutations.registry import READERS, trouble
from tests.project.repository import ROOT

SOURCE = ROOT / "src" / "plumbline"
BROKE_ONCE = ROOT / "tests" / "data" / "mutations"
"""A folder for each reader with inputs that once broke it."""

NAMES = {"from_json", "unpack", "diskstats", "lustre_stats", "job_stats", "parse_fault"}
NAMES |= {"expand", "look"}
BEGINNINGS = ("parse", "read_", "load")
CALLS = {"read_json", "loads", "raw_decode", "read_yaml", "whole", "real", "DictReader"}
"""A function is a reader by its name, or by a call that turns a text into a value."""

NO_READERS = {
    "cli/__init__.py parse_args": "options of the command line",
    "measure/own_folders.py _make_pinned": "makes a folder; lustre.py is fed the same answer",
    "measure/metadata_folders.py _lies_on": "the same",
    "measure/calls.py main": "reads what plumbline itself has written for it",
    "parts/facts/loads.py _of_histogram": "asks Prometheus, whose answers are fed",
    "site/conversation.py _parse_line": "asks a process; the parts of its answer are fed",
    "parts/report/read.py read_site": "reads a history",
    "cli/options.py parse_date": "an option of the command line",
    "cli/options.py parse_span": "the same",
    "cli/options.py parse_moment": "the same",
    "measure/probes/interface.py": "a protocol",
    "model/parts.py load": "loads a module",
    "parts/parallel/rank.py": "hands the job of a file to the codec",
    "observe/job_stats.py look": "looks at files whose lists are fed",
    "parts/facts/counting.py look": "looks at files whose texts are fed",
    "store/collection.py read_clocks": "reads a history",
    "store/history.py": "reads a history: its rows go to Record.from_json, its evidence is fed",
    "store/collection.py read_notes": "reads a history",
    "store/publish.py _write": "a value of the program itself",
    "store/database.py": "reads a history: the notes of what runs go to Process.from_json",
    "observe/folders.py _serve": "reads what plumbline itself has written for it",
    "parts/parallel/run.py look": "looks at targets",
    "measure/targets/lustre.py _make_striped": "a value of the program itself",
    "topology/strict.py _percent": "makes a reader, which is fed",
}
"""Reason why there is no mutation, by file or by file and function."""

ENDLESS_S = 20.0
"""CPU time for inputs of 50 kB, which take milliseconds; quadratic readers take more."""


def by_name() -> list[Any]:
    return [pytest.param(reader, id=name) for name, reader in READERS.items()]


@pytest.mark.slow
@pytest.mark.parametrize("reader", by_name())
def test_a_mutated_input_raises_only_errors_of_plumbline(reader: Reader, tmp_path: Path) -> None:
    for seed in range(20):
        chance = Random(f"{reader.name} {seed}")
        data = mutate(chance.choice(reader.samples), chance)
        error = trouble(reader, data, tmp_path)
        assert error is None, (data, error)


@pytest.mark.parametrize("path", sorted(BROKE_ONCE.glob("*/*")), ids=lambda path: path.name)
def test_inputs_that_once_broke_a_reader_are_handled(path: Path, tmp_path: Path) -> None:
    names = {folder(name): reader for name, reader in READERS.items()}
    error = trouble(names[path.parent.name], path.read_bytes(), tmp_path)
    assert error is None


def folder(name: str) -> str:
    """Return the name of a reader as that of a folder."""
    return "".join(char if char.isalnum() else "-" for char in name)


@pytest.mark.slow
@pytest.mark.parametrize("reader", by_name())
def test_an_endless_input_is_read_in_limited_time(reader: Reader, tmp_path: Path) -> None:
    start = time.process_time()
    chosen = [
        data
        for kind, data in stretched(reader.samples[0], 50_000)
        if kind.startswith("sample, ") or kind.endswith(("in one", "with blanks", "with digits"))
    ]
    for data in chosen[:: max(1, len(chosen) // 12)]:
        error = trouble(reader, data, tmp_path)
        assert error is None, (data[:200], error)
    # CPU time of this process only
    assert time.process_time() - start < ENDLESS_S


# --- every reader has mutations


def functions() -> Iterator[tuple[str, int, str]]:
    """Yield file, line and name of each function of the package that reads something."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and reads(node):
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                yield str(path.relative_to(SOURCE)), first, node.name


def reads(function: ast.FunctionDef) -> bool:
    if function.name in NAMES or function.name.startswith(BEGINNINGS):
        return True
    calls = (node.func for node in ast.walk(function) if isinstance(node, ast.Call))
    names = (getattr(call, "attr", getattr(call, "id", "")) for call in calls)
    return not CALLS.isdisjoint(names)


def test_each_reader_of_the_package_has_mutations(tmp_path: Path) -> None:
    called: set[CodeType] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            called.add(frame.f_code)

    sys.setprofile(note)
    try:
        for number, reader in enumerate(READERS.values()):
            for sample in reader.samples:
                own = tmp_path / str(number)
                own.mkdir(exist_ok=True)
                reader.feed(sample, own)
    finally:
        sys.setprofile(None)
    run = {(code.co_filename, code.co_firstlineno) for code in called}
    missed = [
        f"{file} {name}"
        for file, line, name in functions()
        if (str(SOURCE / file), line) not in run
        and not {file, f"{file} {name}"} & NO_READERS.keys()
    ]
    assert missed == []


def test_an_error_of_plumbline_is_accepted(tmp_path: Path) -> None:
    def refuses(data: bytes, _: Path) -> None:
        raise PlumblineError(data.decode())

    def breaks(data: bytes, _: Path) -> None:
        raise KeyError(data)

    assert trouble(Reader("a", (b"x",), refuses), b"x", tmp_path) is None
    assert isinstance(trouble(Reader("a", (b"x",), breaks), b"x", tmp_path), KeyError)
