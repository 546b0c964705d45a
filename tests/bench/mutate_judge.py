"""Change a comparison or number of the judge at a time, and see whether a test fails.

    python -m tests.bench.mutate_judge --module recursion --module weighing
    python -m tests.bench.mutate_judge --survivors
    python -m tests.bench.mutate_judge --explained --module weighing

A mutant exists only in the memory of a process of its own: no file of src/ is ever changed.  First
the tests named after its module run, then the others of the judge; slow tests with a site for many
nights run only for modules without other tests.  Mutants come from cosmic-ray: comparisons with and
without equality and reversed, equal and unequal, numbers one more and one less; with --double also
numbers with a point doubled and halved, a more likely typo.

Results are kept in .cache; --survivors tries only those that survived last time without a known
reason, --explained those with one, which a test may kill by now.  Accepted survivors and their
reasons are in tests/bench/survivors.yml.  The exit status is 1 if a survivor has no reason, if a
test kills one that is listed, or if less than 95 % of the mutants were killed, not counting
equivalent ones, which change no answer of the judge.
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
from tests.bench.mutants import FILES, PACKAGE, Mutant, loaded_as, mutants_of

WANTED = 0.95
TESTS = Path("tests/package/judge")
KEPT = Path(".cache/mutate/results.jsonl")
REASONS = Path(__file__).with_name("survivors.yml")

CPU_S = 120
"""An unchanged module needs a tenth of it; an endless mutant is killed."""
WALL_S = 1800
MEMORY = 4 * 2**30

OWN = {
    "absence": ("boundaries", "reasons"),
    "cases": ("weighing", "claims", "shared_loss"),
    "component": ("rules", "service"),
    "floor": ("shared_floor",),
    "kinds": ("peers", "references"),
    "losses": ("weighing", "claims", "shared_loss"),
    "measured": ("provisional", "boundaries", "rules", "component"),
    "phrases": ("rules", "component", "weighing"),
    "references": ("peers", "shared_loss"),
    "replay": ("together",),
    "runs": ("recursion", "weighing"),
    "rules": ("profile", "boundaries", "explain", "provisional", "contention"),
    "service": ("evidence", "component"),
    "weighing": ("claims", "shared_loss"),
}
"""Tests about a module in addition to those named after it."""

SLOW = {
    "floor_of_sites": (),
    "damage": (),
}
"""Slow tests, and their modules."""

ASKING = {
    "job_rates": ("parts/facts/test_job_rates.py",),
    "judging": ("site/test_judge.py", "site/test_by_name.py"),
    "latency": ("parts/facts/test_latency.py",),
    "losses": ("parts/locate/test_votes.py",),
    "weighing": ("parts/locate/test_votes.py",),
}
"""Tests of rooms that call a module."""

QUICKLY = ("-x", "-q", "-m", "not long", "--assert=plain", "-p", "no:unraisableexception")
"""No failure report and no search for unclosed files, which take longer than a test."""

EARLY = ("model", "topology", "observe", "measure", "store", "plan")
"""Rooms before the judge, loaded once."""


class Result(NamedTuple):
    """Whether a mutant was killed by a test."""

    mutant: Mutant
    killed: bool


def tests_of(module: str) -> list[list[str]]:
    """Return the tests of a module, those likely to fail first."""
    all_tests = [path.stem[len("test_") :] for path in sorted(TESTS.glob("test_*.py"))]
    first = [name for name in (module, *OWN.get(module, ())) if name in all_tests]
    others = [name for name in all_tests if name not in first and name not in SLOW]
    last = [name for name, modules in SLOW.items() if module in modules and name not in first]
    own = ([str(TESTS / f"test_{name}.py") for name in names] for names in (first, others, last))
    return [*own, [str(TESTS.parent / name) for name in ASKING.get(module, ())]]


def passes(tests: Sequence[str], mutant: Mutant) -> bool:
    """Return whether tests pass in a process with the mutant loaded."""
    return _in_a_process(lambda: _run(tests, mutant))


def passes_watched(tests: str, place: Path) -> bool:
    """Return whether tests pass without a mutant; write the functions that they run."""

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
    """Return whether all tests that run the mutant pass."""
    groups = (
        [test for test in tests if functions.meets(test, mutant)]
        for tests in tests_of(mutant.module)
    )
    return all(passes(tests, mutant) for tests in groups if tests)


def tried(mutants: Iterable[Mutant], functions: Functions, processes: int) -> Iterator[Result]:
    """Try mutants, some at once."""
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


# --- earlier results, and accepted survivors


def kept() -> dict[str, bool]:
    """Return whether each mutant was killed last time."""
    if not KEPT.exists():
        return {}
    lines = [json.loads(line) for line in KEPT.read_text().splitlines()]
    return {line["mutant"]: line["killed"] for line in lines}


def keep(result: Result) -> None:
    """Add a result to the earlier ones."""
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    with KEPT.open("a") as file:
        file.write(json.dumps({"mutant": str(result.mutant), "killed": result.killed}) + "\n")


class Reason(NamedTuple):
    """Why a mutant may survive; ``equivalent`` if it changes no answer of the judge."""

    why: str
    equivalent: bool


def reasons() -> dict[str, Reason]:
    """Return the reasons of accepted survivors."""
    listed = yaml.safe_load(REASONS.read_text()) or []
    return {
        mutant: Reason(entry["why"], entry["equivalent"])
        for entry in listed
        for mutant in entry["mutants"]
    }


def shown(results: Sequence[Result], wanted: float = WANTED) -> int:
    """Print the numbers and the survivors; return the exit status."""
    accepted = reasons()
    print(f"{'module':<16}{'mutants':>8}{'killed':>8}{'survived':>10}{'share':>9}")
    for module in dict.fromkeys(result.mutant.module for result in results):
        _line(module, [result for result in results if result.mutant.module == module])
    _line("all", results)
    equivalent = [name for name, reason in accepted.items() if reason.equivalent]
    counted = [row for row in results if row.killed or str(row.mutant) not in equivalent]
    _line("without equals", counted)
    survivors = [str(result.mutant) for result in results if not result.killed]
    for name in survivors:
        why = accepted[name].why if name in accepted else "no reason is known"
        print(f"survived: {name}\n    {why}")
    killed = [str(row.mutant) for row in results if row.killed and str(row.mutant) in accepted]
    for name in killed:
        print(f"killed, so take it out of {REASONS.name}: {name}")
    enough = sum(result.killed for result in counted) >= wanted * len(counted)
    return 0 if enough and not killed and all(name in accepted for name in survivors) else 1


def _line(name: str, results: Sequence[Result]) -> None:
    killed = sum(result.killed for result in results)
    share = killed / len(results) if results else 1.0
    print(f"{name:<16}{len(results):>8}{killed:>8}{len(results) - killed:>10}{share:>9.1%}")


def main() -> int:
    """Try the mutants of the requested modules."""
    parser = argparse.ArgumentParser(description="Try whether tests notice changes of the judge.")
    parser.add_argument("--module", action="append", help="module of the judge (default: all)")
    parser.add_argument("--processes", type=int, default=1, help="tried at once (default: 1)")
    parser.add_argument("--double", action="store_true", help="double and halve numbers too")
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument(
        "--survivors", action="store_true", help="only those that survived, for no known reason"
    )
    chosen.add_argument(
        "--explained", action="store_true", help="only those whose survival has a known reason"
    )
    parser.add_argument("--kept", action="store_true", help="try nothing, show what is kept")
    arguments = parser.parse_args()
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    modules = arguments.module or sorted(FILES)
    functions = None if arguments.kept else _prepared(modules)
    mutants: list[Mutant] = []
    for module in modules:
        of_module = mutants_of(module, double=arguments.double)
        if arguments.explained:
            of_module = [mutant for mutant in of_module if str(mutant) in reasons()]
        mutants += of_module
        if functions:
            tried_now = _unexplained(of_module) if arguments.survivors else of_module
            _try(tried_now, functions, arguments.processes)
    last = kept()
    results = [Result(mutant, last[str(mutant)]) for mutant in mutants if str(mutant) in last]
    return shown(results, 0.0 if arguments.explained else WANTED)


def _prepared(modules: Sequence[str]) -> Functions:
    """Load shared modules and check that the tests pass; return the functions that they run."""
    _load()
    files = sorted({name for module in modules for group in tests_of(module) for name in group})
    return functions_of(files, passes_watched)


def _unexplained(mutants: Sequence[Mutant]) -> list[Mutant]:
    """Return the mutants that no test has killed and that have no reason."""
    done = {name for name, killed in kept().items() if killed} | {*reasons()}
    return [mutant for mutant in mutants if str(mutant) not in done]


def _try(mutants: Sequence[Mutant], functions: Functions, processes: int) -> None:
    for result in tried(mutants, functions, processes):
        keep(result)
        print("killed  " if result.killed else "SURVIVED", result.mutant, flush=True)


def _load() -> None:
    """Load the modules that mutants share, so that each starts at once."""
    for name in ("hypothesis", "pydantic", "unittest.mock"):
        import_module(name)
    for stage in EARLY:
        for path in (PACKAGE / stage).glob("[!_]*.py"):
            import_module(f"plumbline.{stage}.{path.stem}")
    if "plumbline.judge" in sys.modules:
        sys.exit("mutate_judge: the judge is loaded before its mutants")
    gc.freeze()


if __name__ == "__main__":
    sys.exit(main())
