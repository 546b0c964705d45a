"""Change one comparison or number of the judge at a time, and see whether a test fails.

    python -m tests.bench.mutate_judge --module recursion --module weighing
    python -m tests.bench.mutate_judge --survivors

A mutant lives in the memory of a process of its own: no file of src/ is changed, whatever happens.
It meets the tests that are named after its module first, then the others of the judge; those that
take a site for many nights are left out, but for the modules that nothing else tests.  Mutants come
from cosmic-ray: each order with and without its boundary and reversed, equal and unequal, each
number one more and one less.  With --double also each number with a point twice and half as large,
which is nearer to what somebody might type.

Results are kept in .cache; --survivors tries those alone that survived when they were last tried,
for no reason that is known.
Survivors with the reason why they may stand are in tests/bench/survivors.yml.  The exit status is 1
where a survivor has no reason, or where less than 95 % were killed of those that are no equals: of
an equal no answer of the judge is another.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import resource
import signal
import sys
from importlib import import_module
from pathlib import Path
from typing import Callable, Iterable, Iterator, NamedTuple, Optional, Sequence

import pytest
import yaml

from tests.bench.judged_functions import Functions, Watch, functions_of
from tests.bench.mutants import FOLDER, Mutant, loaded_as, mutants_of

WANTED = 0.95
TESTS = Path("tests/package/judge")
KEPT = Path(".cache/mutate/results.jsonl")
REASONS = Path(__file__).with_name("survivors.yml")

CPU_S = 120
"""An unchanged module needs a tenth of it; a mutant that goes on for ever is killed."""
WALL_S = 1800
MEMORY = 4 * 2**30

OWN = {
    "absence": ("boundaries", "reasons"),
    "component": ("rules", "service"),
    "floor": ("shared_floor",),
    "measured": ("provisional", "boundaries", "rules", "component"),
    "phrases": ("rules", "component", "weighing"),
    "references": ("peers", "shared_loss"),
    "replay": ("together", "job_rates"),
    "runs": ("recursion", "weighing"),
    "rules": ("profile", "boundaries", "explain", "provisional", "contention"),
    "service": ("evidence", "component"),
    "weighing": ("claims", "shared_loss"),
}
"""Tests that are about a module beside those named after it."""

SLOW = {
    "floor_of_sites": (),
    "damage": (),
}
"""Tests that take seconds, and the modules that they are for."""

ASKING = {
    "judging": ("site/test_judge.py", "site/test_by_name.py"),
    "weighing": ("locate/test_votes.py",),
}
"""Tests of rooms that ask a module."""

QUICKLY = ("-x", "-q", "-m", "not long", "--assert=plain", "-p", "no:unraisableexception")
"""No words on a failure, and no search for what was never closed: both take longer than a test."""

EARLY = ("model", "topology", "observe", "measure", "parallel", "store", "plan")
"""Rooms before the judge, which are loaded once."""


class Result(NamedTuple):
    """Whether a mutant was killed by a test."""

    mutant: Mutant
    killed: bool


def tests_of(module: str) -> list[list[str]]:
    """Return the tests of a module: first those that are likely to fail, then the others."""
    all_tests = [path.stem[len("test_") :] for path in sorted(TESTS.glob("test_*.py"))]
    first = [name for name in (module, *OWN.get(module, ())) if name in all_tests]
    others = [name for name in all_tests if name not in first and name not in SLOW]
    last = [name for name, modules in SLOW.items() if module in modules and name not in first]
    own = ([str(TESTS / f"test_{name}.py") for name in names] for names in (first, others, last))
    return [*own, [str(TESTS.parent / name) for name in ASKING.get(module, ())]]


def passes(tests: Sequence[str], mutant: Mutant) -> bool:
    """Return whether tests pass, in a process of its own in which the mutant is loaded."""
    return _in_a_process(lambda: _run(tests, mutant))


def passes_watched(tests: str, place: Path) -> bool:
    """Return whether tests pass without a mutant; write which functions they run."""

    def run() -> int:
        watch = Watch()
        sys.setprofile(watch)
        status = _run([tests], None)
        sys.setprofile(None)
        watch.write(place)
        return status

    return _in_a_process(run)


def _in_a_process(run: Callable[[], int]) -> bool:
    pid = os.fork()
    if not pid:
        os._exit(run())
    _, status = os.waitpid(pid, 0)
    return status == 0


def _run(tests: Sequence[str], mutant: Optional[Mutant]) -> int:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.alarm(WALL_S)
    output = os.open(os.devnull, os.O_WRONLY) if mutant else 2
    os.dup2(output, 1)
    os.dup2(output, 2)
    if mutant:
        sys.meta_path.insert(0, loaded_as(mutant))
    return int(pytest.main([*QUICKLY, *tests]))


def survives(mutant: Mutant, functions: Functions) -> bool:
    """Return whether all tests pass that meet a mutant."""
    every = (
        [one for one in tests if functions.meets(one, mutant)] for tests in tests_of(mutant.module)
    )
    return all(passes(tests, mutant) for tests in every if tests)


def tried(mutants: Iterable[Mutant], functions: Functions, processes: int) -> Iterator[Result]:
    """Try mutants, some at a time."""
    running: dict[int, Mutant] = {}
    for mutant in mutants:
        if len(running) >= processes:
            yield _ended(running)
        pid = os.fork()
        if not pid:
            os._exit(0 if survives(mutant, functions) else 1)
        running[pid] = mutant
    while running:
        yield _ended(running)


def _ended(running: dict[int, Mutant]) -> Result:
    pid, status = os.wait()
    return Result(running.pop(pid), killed=status != 0)


# --- what was found before, and what may survive


def kept() -> dict[str, bool]:
    """Return whether each mutant was killed when it was last tried."""
    if not KEPT.exists():
        return {}
    lines = [json.loads(line) for line in KEPT.read_text().splitlines()]
    return {line["mutant"]: line["killed"] for line in lines}


def keep(result: Result) -> None:
    """Add a result to what is known."""
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    with KEPT.open("a") as file:
        file.write(json.dumps({"mutant": str(result.mutant), "killed": result.killed}) + "\n")


class Reason(NamedTuple):
    """Why a mutant may survive; ``equivalent`` where no answer of the judge is another by it."""

    why: str
    equivalent: bool


def reasons() -> dict[str, Reason]:
    """Return why a mutant may survive, for each that may."""
    listed = yaml.safe_load(REASONS.read_text()) or []
    return {
        mutant: Reason(entry["why"], entry["equivalent"])
        for entry in listed
        for mutant in entry["mutants"]
    }


def shown(results: Sequence[Result]) -> int:
    """Print how many were killed, and who survived; return the exit status."""
    known = reasons()
    print(f"{'module':<16}{'mutants':>8}{'killed':>8}{'survived':>10}{'share':>9}")
    for module in dict.fromkeys(one.mutant.module for one in results):
        _line(module, [one for one in results if one.mutant.module == module])
    _line("all", results)
    alike = [name for name, reason in known.items() if reason.equivalent]
    telling = [one for one in results if one.killed or str(one.mutant) not in alike]
    _line("without equals", telling)
    survivors = [str(one.mutant) for one in results if not one.killed]
    for name in survivors:
        print(f"survived: {name}\n    {known[name].why if name in known else 'no reason is known'}")
    enough = sum(one.killed for one in telling) >= WANTED * len(telling)
    return 0 if enough and all(name in known for name in survivors) else 1


def _line(name: str, results: Sequence[Result]) -> None:
    killed = sum(one.killed for one in results)
    share = killed / len(results) if results else 1.0
    print(f"{name:<16}{len(results):>8}{killed:>8}{len(results) - killed:>10}{share:>9.1%}")


def main() -> int:
    """Try the mutants of the modules that are asked for."""
    parser = argparse.ArgumentParser(description="Try whether tests notice changes of the judge.")
    parser.add_argument("--module", action="append", help="module of the judge (default: all)")
    parser.add_argument("--processes", type=int, default=1, help="tried at once (default: 1)")
    parser.add_argument("--double", action="store_true", help="double and halve numbers too")
    parser.add_argument(
        "--survivors", action="store_true", help="only those that survived, for no known reason"
    )
    parser.add_argument("--kept", action="store_true", help="try nothing, show what is kept")
    asked = parser.parse_args()
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    modules = asked.module or sorted(path.stem for path in FOLDER.glob("[!_]*.py"))
    functions = None if asked.kept else _prepared(modules)
    mutants: list[Mutant] = []
    for module in modules:
        found = mutants_of(module, double=asked.double)
        mutants += found
        if functions:
            _try(found if not asked.survivors else _unexplained(found), functions, asked.processes)
    last = kept()
    return shown([Result(one, last[str(one)]) for one in mutants if str(one) in last])


def _prepared(modules: Sequence[str]) -> Functions:
    """Load what all need, and see that the tests pass; return which functions they run."""
    _load()
    files = sorted({name for one in modules for group in tests_of(one) for name in group})
    return functions_of(files, passes_watched)


def _unexplained(mutants: Sequence[Mutant]) -> list[Mutant]:
    """Return those that no test has killed and no reason is known of."""
    done = {name for name, killed in kept().items() if killed} | {*reasons()}
    return [one for one in mutants if str(one) not in done]


def _try(mutants: Sequence[Mutant], functions: Functions, processes: int) -> None:
    for result in tried(mutants, functions, processes):
        keep(result)
        print("killed  " if result.killed else "SURVIVED", result.mutant, flush=True)


def _load() -> None:
    """Load what mutants have in common, so that each starts at once."""
    for name in ("hypothesis", "pydantic", "unittest.mock"):
        import_module(name)
    for stage in EARLY:
        folder = FOLDER.parent / stage
        for path in folder.glob("[!_]*.py") if folder.is_dir() else ():
            # ranks alone have MPI
            if path.stem != "mpi":
                import_module(f"plumbline.{stage}.{path.stem}")
    if "plumbline.judge" in sys.modules:
        sys.exit("mutate_judge: the judge is loaded before its mutants")
    gc.freeze()


if __name__ == "__main__":
    sys.exit(main())
