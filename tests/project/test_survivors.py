"""The listed mutants of the judge that no test kills are of existing lines."""

from __future__ import annotations

from collections import Counter

import pytest
import yaml

from tests.project.repository import ROOT

FOLDERS = [ROOT / "src" / "plumbline" / name for name in ("judge", "parts/facts")]
LISTED = yaml.safe_load((ROOT / "tests/bench/survivors.yml").read_text(encoding="utf-8"))
MUTANTS = [mutant for entry in LISTED for mutant in entry["mutants"]]


def test_each_mutant_is_listed_once_with_a_reason() -> None:
    assert all(entry["why"] and entry["mutants"] for entry in LISTED)
    assert all(type(entry["equivalent"]) is bool for entry in LISTED)
    assert [mutant for mutant, count in Counter(MUTANTS).items() if count > 1] == []


@pytest.mark.parametrize("mutant", MUTANTS)
def test_the_changed_line_exists(mutant: str) -> None:
    module, _, change = mutant.partition(": ")
    before, arrow, after = change.partition(" => ")
    assert arrow
    assert after != before
    path = next(path for folder in FOLDERS if (path := folder / f"{module}.py").exists())
    lines = path.read_text(encoding="utf-8").splitlines()
    assert before in [" ".join(line.split()) for line in lines]


@pytest.mark.parametrize("killed", [False, True])
def test_a_listed_mutant_that_a_test_kills_by_now_is_named(
    *, killed: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("cosmic_ray", reason="make mutate installs it")
    from tests.bench.mutants import Mutant
    from tests.bench.mutate_judge import Result, shown

    module, _, change = MUTANTS[0].partition(": ")
    before, _, after = change.partition(" => ")
    mutant = Mutant(module, 0, 1, before, after, "")
    assert shown([Result(mutant, killed)], 0.0) == killed
    named = f"killed, so take it out of survivors.yml: {MUTANTS[0]}"
    assert (named in capsys.readouterr().out) is killed
