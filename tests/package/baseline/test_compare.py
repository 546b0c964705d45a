"""Old and new baselines stand side by side, with what changed around them."""

from __future__ import annotations

import json

import pytest

from plumbline.baseline.compare import compare
from plumbline.baseline.document import Candidate
from tests.package.baseline.test_document import BASELINE, KEY


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
