"""Evidence lines of a verdict, and its performance data in whole bytes."""

from __future__ import annotations

from typing import Any

import pytest

from plumbline.judge.component import rule
from plumbline.judge.phrases import Ruling
from plumbline.judge.service import evidence, figure
from plumbline.model.limits import Limits, Range, Reference
from plumbline.model.record import Operation, Scenario
from plumbline.model.series import Sample
from tests.package.judgements import BASELINE, CEILING, DAY_S, NOW, expectation, series

BASE = BASELINE._replace(median=200e6, spread=0.06)


def ruling(reference: Reference = Reference(CEILING, BASE), **changes: Any) -> Ruling:
    limits = changes.pop("limits", Limits())
    entry = expectation(references={"read/single": reference}, limits=limits)
    return rule(entry, (Operation.READ, Scenario.SINGLE), series(**changes), NOW)


def lines(now: float = NOW, **changes: Any) -> list[str]:
    return list(evidence(ruling(**changes), now))


@pytest.mark.parametrize(("runs", "shown"), [(0, 0), (1, 1), (9, 9), (10, 10), (11, 10), (29, 10)])
def test_ten_earlier_runs_are_shown_the_newest_first(runs: int, shown: int) -> None:
    earlier = [Sample(NOW - 310 - ago * DAY_S, 190e6, None, None, 0, None) for ago in range(1, 30)]
    history = [line for line in lines(earlier=earlier[:runs]) if line.startswith("    ")]
    assert len(history) == shown
    assert history[:1] == ["    24 h ago 190.0 MB/s"][:shown]


@pytest.mark.parametrize(("after_s", "age"), [(0.0, "0 s"), (-5.0, "0 s"), (5.0, "5 s")])
def test_the_age_of_a_run_is_never_negative(after_s: float, age: str) -> None:
    assert f" {age} ago, repeats" in lines(NOW - 300 + after_s)[0]


def test_baseline_ceiling_peers_and_conditions_have_their_figures() -> None:
    shown = lines(
        rate=150e6,
        peers_rate=187.5e6,
        fill=0.6,
        coverage=0.87,
        retransmits=3,
        quantities={"p50": 0.2, "p99": 0.6},
    )
    assert [line.strip() for line in shown[1:4]] == [
        "baseline 200.0 MB/s, spread 6.0 %, 12 runs 2026-11-01 to 2026-11-20, accepted by ada: "
        "new disks",
        "ceiling 250.0 MB/s by disk oss2-disk1, reached to 60 %",
        "80 % of its 5 peers' median 187.5 MB/s in the same run",
    ]
    assert "filled to 60 %, coverage 0.87, latency p99 600.0 ms" in shown[4]
    assert "3 retransmits" in shown[4]


def test_an_earlier_run_shows_its_peers_and_its_coverage() -> None:
    earlier = Sample(NOW - 7200, None, 0.5, 180e6, 4, None)
    shown = lines(earlier=[earlier])
    assert "its 5 peers' median 201.0 MB/s in the same run" in shown[3]
    assert shown[-1] == ("    2 h ago no rate, 4 peers 180.0 MB/s, coverage 0.50")


def test_levels_are_shown_as_rates_in_whole_bytes() -> None:
    baseline = BASE._replace(median=202_100_001.0)
    shown = figure(ruling(Reference(CEILING, baseline), rate=150e6))
    assert shown.label == "read_Bps"
    assert (shown.value, shown.warning, shown.critical) == (150e6, "161680001:", "101050000:")
    assert shown.maximum == 250e6


def test_a_level_with_two_limits_shows_both() -> None:
    shown = figure(ruling(limits=Limits(warning=Range(80, 110))))
    assert (shown.warning, shown.critical) == ("160000000:220000000", "100000000:")


def test_without_reference_and_ceiling_a_figure_has_no_levels_and_no_maximum() -> None:
    shown = figure(ruling(Reference(None, None), peers_rate=None))
    assert (shown.warning, shown.critical, shown.maximum) == ("", "", None)
