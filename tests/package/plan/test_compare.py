"""Old and new baselines stand side by side, with what changed around them."""

from __future__ import annotations

import json

import pytest

from plumbline.plan.baseline import Candidate, biggest_first, compare
from tests.package.plan.test_document import BASELINE, KEY


def test_a_change_is_told_in_ratio_and_conditions() -> None:
    new = BASELINE._replace(
        median_Bps=57.6e6, spec_hash="other", versions={"client": "2.18.0", "server": "2.17.0"}
    )
    (change,) = compare({KEY: BASELINE}, {KEY: Candidate(new, "slow")})
    assert change.ratio == pytest.approx(0.5)
    assert tuple(map(str, change.conditions)) == (
        "specification 1a2b3c4d5e6f -> other",
        "client 2.17.0 -> 2.18.0",
        "server unknown -> 2.17.0",
    )
    assert change.outlier == "slow"
    assert json.loads(json.dumps(change.to_json()))["ratio"] == pytest.approx(0.5)


def test_a_first_baseline_has_no_ratio() -> None:
    (change,) = compare({}, {KEY: Candidate(BASELINE)})
    assert (change.old, change.ratio, change.conditions) == (None, None, ())


def test_what_has_no_candidate_is_not_compared() -> None:
    assert compare({KEY: BASELINE}, {}) == ()


def test_a_fill_that_moved_is_told_before_it_matters() -> None:
    (change,) = compare({KEY: BASELINE}, {KEY: Candidate(BASELINE._replace(fill=0.40))})
    assert [str(one) for one in change.conditions] == ["fill 31 % -> 40 %"]


def test_a_reviewer_sees_first_what_needs_a_name_and_then_the_biggest_change() -> None:
    rates = {"same": 115.2e6, "down": 90e6, "up": 150e6, "slow": 115e6, "new": 200e6}
    keys = {name: KEY._replace(component=name) for name in rates}
    accepted = {key: BASELINE for name, key in keys.items() if name != "new"}
    candidates = {
        keys[name]: Candidate(BASELINE._replace(median_Bps=rate), "slow" if name == "slow" else "")
        for name, rate in rates.items()
    }
    ordered = biggest_first(compare(accepted, candidates))
    assert [one.key.component for one in ordered] == ["slow", "up", "down", "same", "new"]
