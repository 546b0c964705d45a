"""Profiles and stragglers of real ranks that read from slowed targets."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Mapping

import pytest

from plumbline.model.profile import distance
from plumbline.model.ranks import Method
from plumbline.model.record import Operation, Outcome, Record
from tests.package.measure import slow_targets
from tests.package.measure.slow_targets import CALLS, COURSES, LASTS_S, LATE_S
from tests.package.measure.units import NONE
from tests.package.parts.parallel.test_run import Site, measured, missing, of

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(missing() != "", reason=missing() or "nothing is missing"),
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


def details(records: list[Record], name: str) -> Mapping[str, Any]:
    record = of(records, name, Operation.READ)
    assert record.outcome is Outcome.OK, record.reason
    return record.details or {}


def test_kinds_of_late_ranks_follow_from_the_cause_of_their_delay(records: list[Record]) -> None:
    stragglers = details(records, "whole")["stragglers"]
    assert {straggler["target"]: straggler["kind"] for straggler in stragglers} == {
        "g": "late",
        "h": "slow",
        "i": "tail",
    }
    for straggler in stragglers:
        assert straggler["late_s"] == pytest.approx(LATE_S, abs=0.4)
        assert "after the others: " in straggler["sentence"]


def test_reads_with_the_same_mean_differ_in_their_profile(records: list[Record]) -> None:
    means = {name: of(records, name, Operation.READ).seconds for name in "abcdef"}
    assert means == pytest.approx(dict.fromkeys("abcdef", LASTS_S), rel=0.05)
    declines = {name: details(records, name)["shape"]["decline"] for name in "abcdef"}
    # the first and last whole seconds have 1.72 and 0.34 times the mean rate
    assert declines.pop("e") == pytest.approx(0.80, abs=0.1)
    assert declines == pytest.approx(dict.fromkeys("abcdf", 0.0), abs=0.15)


def test_a_steady_decline_exceeds_the_profile_limit_and_an_initial_drop_does_not(
    records: list[Record],
) -> None:
    baseline = details(records, "a")["form"]
    distances = {
        name: distance(of(records, name, Operation.READ).profile, baseline) for name in "bcdef"
    }
    assert distances["e"].share == pytest.approx(0.2, abs=0.04)
    assert [name for name, apart in distances.items() if apart.beyond(0.10)] == ["e"]
