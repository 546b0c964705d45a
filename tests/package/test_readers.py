"""Whatever a reader is given, it ends in a value or in an error of plumbline's own.

What has to hold for a million mutations and for inputs of 1 MB is run by tests.bench.mutations.
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
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbline.model.errors import PlumblineError
from tests.mutations.mutate import mutate, stretched
from tests.mutations.reader import Reader
from tests.mutations.registry import READERS, trouble
from tests.project.repository import ROOT

SOURCE = ROOT / "src" / "plumbline"
FOUND = ROOT / "tests" / "data" / "mutations"
"""A folder for each reader, with inputs that once broke it."""

NAMES = {"from_json", "unpack", "diskstats", "lustre_stats", "job_stats", "parse_fault"}
NAMES |= {"expand", "look"}
BEGINNINGS = ("parse", "read_", "load")
CALLS = {"read_json", "loads", "raw_decode", "read_yaml", "whole", "real", "DictReader"}
"""What makes a function a reader: its name, or a call that turns a text into a value."""

NO_READERS = {
    "site/gather.py _line": "asks a process; the parts of its answer are fed",
    "site/report.py read_site": "reads a history",
    "cli/options.py parse_date": "an option of the command line",
    "cli/options.py parse_span": "the same",
    "cli/options.py parse_moment": "the same",
    "measure/probes/interface.py": "a protocol",
    "parallel/rank.py": "hands the job of a file to Job.from_json",
    "observe/job_stats.py look": "looks at files whose lists are fed",
    "observe/counting.py look": "looks at files whose texts are fed",
    "store/collection.py read_clocks": "reads a history",
    "store/history.py": "reads a history: its rows go to Record.from_json, its evidence is fed",
    "store/collection.py read_notes": "reads a history",
    "store/publish.py _write": "a value of the program itself",
    "store/verdicts.py load_published": "what it reads goes to Published.from_json",
    "store/collection.py read_unanswered": "reads a history",
    "store/database.py": "reads a history: the notes of what runs go to Process.from_json",
    "observe/folders.py _main": "reads what plumbline itself has written for it",
    "parallel/run.py look": "looks at targets",
    "measure/targets/lustre.py _make_striped": "a value of the program itself",
    "topology/strict.py _percent": "makes a reader, which is fed",
}
"""By file, or by file and function, why there is no mutation."""

ENDLESS_S = 20.0
"""Of the processor, for inputs of 50 kB, which take milliseconds; what is quadratic takes more."""


def by_name() -> list[Any]:
    return [pytest.param(reader, id=name) for name, reader in READERS.items()]


@pytest.mark.slow
@pytest.mark.parametrize("reader", by_name())
def test_a_good_input_is_read(reader: Reader, tmp_path: Path) -> None:
    for sample in reader.samples:
        reader.feed(sample, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("reader", by_name())
def test_a_mutated_input_raises_nothing_but_errors_of_plumbline(
    reader: Reader, tmp_path: Path
) -> None:
    @settings(max_examples=20, derandomize=True, database=None)
    @given(st.integers(0, 1 << 32))
    def mutated(seed: int) -> None:
        chance = Random(f"{reader.name} {seed}")
        data = mutate(chance.choice(reader.samples), chance)
        found = trouble(reader, data, tmp_path)
        assert found is None, (data, found)

    mutated()


@pytest.mark.parametrize("path", sorted(FOUND.glob("*/*")), ids=lambda path: path.name)
def test_what_once_broke_a_reader_does_so_no_longer(path: Path, tmp_path: Path) -> None:
    names = {folder(name): reader for name, reader in READERS.items()}
    found = trouble(names[path.parent.name], path.read_bytes(), tmp_path)
    assert found is None


def folder(name: str) -> str:
    """Return the name of a reader as that of a folder."""
    return "".join(char if char.isalnum() else "-" for char in name)


@pytest.mark.slow
@pytest.mark.parametrize("reader", by_name())
def test_an_input_without_end_ends(reader: Reader, tmp_path: Path) -> None:
    begun = time.process_time()
    chosen = [
        data
        for what, data in stretched(reader.samples[0], 50_000)
        if what.startswith("sample, ") or what.endswith(("in one", "with blanks", "with digits"))
    ]
    for data in chosen[:: max(1, len(chosen) // 12)]:
        found = trouble(reader, data, tmp_path)
        assert found is None, (data[:200], found)
    # time of this process, which no other one can take
    assert time.process_time() - begun < ENDLESS_S


# --- no reader is forgotten


def functions() -> Iterator[tuple[str, int, str]]:
    """Yield file, line and name of each function of the package that reads something."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and reads(node):
                first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
                yield str(path.relative_to(SOURCE)), first, node.name


def reads(function: ast.FunctionDef) -> bool:
    if function.name in NAMES or function.name.startswith(BEGINNINGS):
        return True
    calls = (node.func for node in ast.walk(function) if isinstance(node, ast.Call))
    names = (getattr(call, "attr", getattr(call, "id", "")) for call in calls)
    return not CALLS.isdisjoint(names)


def test_each_reader_of_the_package_is_fed_with_mutations(tmp_path: Path) -> None:
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


def test_nobody_is_excused_who_is_not_there() -> None:
    known = {name for file, _, function in functions() for name in (file, f"{file} {function}")}
    assert sorted(NO_READERS.keys() - known) == []


# --- each kind of value has one place where it is read

TOOLS = ("measure/probes", "measure/targets", "observe")
SYMPTOMS = (
    "enclosure",
    "ethernet",
    "kernel",
    "lnet",
    "lustre",
    "md",
    "node",
    "pcie",
    "ports",
    "smart",
    "zfs",
)
"""Modules of observe whose texts tools and kernels print."""
SURE = {"number", "whole", "real"}
"""What has looked at a text before it became a number."""
NUMBERS = {
    "measure/probes/interface.py float(value)",
    "measure/probes/fio.py int(moved)",
    "measure/probes/fio.py int(spec.direct)",
    "measure/probes/netperf.py int(count)",
}
"""What is a number before."""


def calls(path: Path) -> Iterator[ast.Call]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def named(call: ast.Call) -> tuple[str, str]:
    """Return module and function of ``module.function(...)``."""
    function = call.func
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        return function.value.id, function.attr
    return "", ""


@pytest.mark.slow
def test_json_becomes_values_in_one_place_and_yaml_by_no_loader_but_the_strict_one() -> None:
    found = {
        f"{path.relative_to(SOURCE)} {'.'.join(named(call))}"
        for path in SOURCE.rglob("*.py")
        for call in calls(path)
        if named(call)
        in {("json", "loads"), ("json", "load"), ("yaml", "load"), ("yaml", "safe_load")}
    }
    # folders.py is run as a file of its own, and reads what plumbline itself has written
    own = {"observe/folders.py json.loads"}
    assert found - own == {"model/validation.py json.loads"}


def test_what_a_tool_prints_becomes_a_number_in_one_place() -> None:
    found = [
        f"{path.relative_to(SOURCE)} {ast.unparse(call)}"
        for folder_ in TOOLS
        for path in (SOURCE / folder_).rglob("*.py")
        if folder_ != "observe" or path.stem in SYMPTOMS
        for call in calls(path)
        if isinstance(call.func, ast.Name) and call.func.id in ("int", "float")
        if not is_sure(call.args[0])
    ]
    assert set(found) == NUMBERS


def is_sure(argument: ast.expr) -> bool:
    """Return whether something is a number already: a constant, a calculation, a checked text."""
    if isinstance(argument, ast.Call):
        name = getattr(argument.func, "attr", getattr(argument.func, "id", ""))
        return name in SURE
    return isinstance(argument, (ast.Constant, ast.BinOp))


def test_an_error_of_plumbline_is_no_trouble(tmp_path: Path) -> None:
    def refuses(data: bytes, _: Path) -> None:
        raise PlumblineError(data.decode())

    def breaks(data: bytes, _: Path) -> None:
        raise KeyError(data)

    assert trouble(Reader("a", (b"x",), refuses), b"x", tmp_path) is None
    assert isinstance(trouble(Reader("a", (b"x",), breaks), b"x", tmp_path), KeyError)
