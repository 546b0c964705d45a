"""Real ranks read from targets that take their time: what is said of profiles and of stragglers."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Mapping

import pytest

from plumbline.model.record import Operation, Outcome, Record
from plumbline.parallel.profile import distance
from plumbline.parallel.terms import Method
from tests.package.measure import slow_targets
from tests.package.measure.slow_targets import CALLS, COURSES, LASTS_S, LATE_S
from tests.package.measure.units import NONE
from tests.package.parallel.test_run import Site, measured, missing, of

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(missing() != "", reason=missing() or "all is there"),
]

METHOD = Method("slowed", 4096)


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> list[Record]:
    site = Site(tmp_path_factory.mktemp("site"), "".join(COURSES))
    spec = site.entry("a", METHOD).spec._replace(bytes=CALLS * METHOD.transfer)
    references = dict.fromkeys(("write/together", "read/together"), NONE)
    unit = site.unit(
        METHOD, spec=spec, references=references, python=str(Path(slow_targets.__file__))
    )
    return [record for record in measured(unit) if record.operation is Operation.READ]


def told(records: list[Record], name: str) -> Mapping[str, Any]:
    record = of(records, name, Operation.READ)
    assert record.outcome is Outcome.OK, record.reason
    return record.details or {}


def test_late_ranks_are_told_apart_by_where_their_delay_came_from(records: list[Record]) -> None:
    late = told(records, "whole")["stragglers"]
    assert {straggler["target"]: straggler["kind"] for straggler in late} == {
        "g": "late",
        "h": "slow",
        "i": "tail",
    }
    for straggler in late:
        assert straggler["late_s"] == pytest.approx(LATE_S, abs=0.4)
        assert "after the others: " in straggler["sentence"]


def test_reads_of_one_mean_are_told_apart_by_their_course(records: list[Record]) -> None:
    means = {name: of(records, name, Operation.READ).seconds for name in "abcdef"}
    assert means == pytest.approx(dict.fromkeys("abcdef", LASTS_S), rel=0.05)
    declines = {name: told(records, name)["shape"]["decline"] for name in "abcdef"}
    # of the first and the last whole second, where the course is at 1.72 and 0.34 of the mean
    assert declines.pop("e") == pytest.approx(0.80, abs=0.1)
    assert declines == pytest.approx(dict.fromkeys("abcdf", 0.0), abs=0.15)


def test_a_steady_decline_is_beyond_the_limit_from_the_profile_of_others_and_a_drop_is_not(
    records: list[Record],
) -> None:
    baseline = told(records, "a")["form"]
    found = {
        name: distance(of(records, name, Operation.READ).profile, baseline) for name in "bcdef"
    }
    assert found["e"].share == pytest.approx(0.2, abs=0.04)
    assert [name for name, one in found.items() if one.beyond(0.10)] == ["e"]
