"""The noise of a site's own records is that with which they were made."""

from __future__ import annotations

import pytest

from plumbline.model.errors import DocumentError
from plumbline.model.record import Outcome
from plumbline.parts.simulate.fleet import YEAR, Fleet, Noise, build
from plumbline.parts.simulate.own_noise import in_words, own_noise
from plumbline.plan.policy import load
from tests.package.parts.simulate.fleets import records
from tests.package.sites import inventory_document, paper

ROUGH = Noise(component=0.04, host=0.03, day=0.03, run=0.1, repeat=0.03, goes_on=0.48, alike=0.25)


@pytest.fixture(scope="module")
def edison() -> Fleet:
    policy = inventory_document("edison", "policy")
    # only repeats of a run show how far these differ
    policy["layers"]["ost"]["probe"]["repeats"] = 3
    return build(paper("edison"), load(policy))


@pytest.mark.parametrize("noise", [YEAR, ROUGH], ids=["year", "rough"])
def test_the_noise_of_records_is_found_again(edison: Fleet, noise: Noise) -> None:
    fitted = own_noise(edison, records(edison, noise, 60))
    for name in ("component", "host", "day", "run", "repeat"):
        # contention adds to the runs of the year; no run is faster than the hardware
        assert getattr(fitted, name) == pytest.approx(getattr(noise, name), rel=0.25)
    assert fitted.tail_share == pytest.approx(noise.tail_share, abs=0.015)
    assert fitted.spell_begins == pytest.approx(noise.spell_begins, abs=0.07)
    if noise is YEAR:
        assert fitted.spell_goes_on == pytest.approx(noise.spell_goes_on, abs=0.2)
        assert fitted.spell_run == pytest.approx(noise.spell_run, rel=0.3)
        assert in_words(fitted).startswith("runs differ by 5.8 %, nights by 4.7 %")


@pytest.mark.parametrize("days", [0, 19])
def test_too_few_runs_are_refused(edison: Fleet, days: int) -> None:
    with pytest.raises(DocumentError, match="no group of 5 members with 20 runs"):
        own_noise(edison, records(edison, ROUGH, days))


def test_further_runs_and_failed_ones_are_left_out(edison: Fleet) -> None:
    kept = records(edison, ROUGH, 25)
    usual = own_noise(edison, kept)
    further = [record._replace(run_id="again", rate=1e6, repeats=()) for record in kept[:3]]
    failed = [
        record._replace(outcome=Outcome.FAILED, rate=None, repeats=(), reason="no")
        for record in kept[:50]
    ]
    assert own_noise(edison, [*kept, *further, *failed]) == usual
