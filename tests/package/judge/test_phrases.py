"""Words for figures, the same in every finding."""

from __future__ import annotations

from math import log
from typing import Optional

import pytest

from plumbline.judge.measured import measured
from plumbline.judge.phrases import (
    multiple,
    number,
    odds,
    odds_of_run,
    over_runs,
    peers,
    slow_nights,
    so_far,
    weighed,
)
from plumbline.judge.service import of_service, severity
from plumbline.model.evidence import Evidence
from plumbline.model.limits import Limits, Reference
from plumbline.model.verdict import State
from tests.package.judgements import evidence, series


@pytest.mark.parametrize(
    ("logarithm", "words"),
    [
        (0.0, "1"),
        (log(20), "20"),
        (log(12_345), "12,345"),
        (13.79, "974,812"),
        (13.8, "984,609"),
        (13.81, "over 1,000,000"),
        (700.0, "over 1,000,000"),
    ],
)
def test_odds_are_shown_up_to_a_million(logarithm: float, words: str) -> None:
    assert odds(logarithm) == words


@pytest.mark.parametrize(
    ("percent", "words"),
    [
        (50.0, "2.0 times"),
        (10.2, "9.8 times"),
        (10.0, "10 times"),
        (9.5, "11 times"),
        (1.0, "100 times"),
    ],
)
def test_a_slow_time_is_a_multiple(percent: float, words: str) -> None:
    assert multiple(percent) == words


@pytest.mark.parametrize(("count", "words"), [(0, "0 runs"), (1, "1 run"), (2, "2 runs")])
def test_numbers_have_singular_and_plural(count: int, words: str) -> None:
    assert number(count, "run") == words


@pytest.mark.parametrize(("ratio", "share"), [(0.404, "40 % of its baseline "), (None, "")])
def test_a_loss_is_shown_in_percent(ratio: Optional[float], share: str) -> None:
    loss = evidence(ratio=ratio, moments=1, odds=log(30))
    assert over_runs(loss).startswith(f"{share}over 1 run since 2024-10-02 00:00 UTC, odds 30 to")


@pytest.mark.parametrize(
    ("weak", "words"),
    [
        (None, "too few runs to tell it from chance"),
        (evidence(alarm=False, shared=True), "its group has lost as much and has the alarm"),
        (evidence(alarm=False, odds=2.9, moments=1), "one run is no evidence yet"),
        (evidence(alarm=False, odds=2.9, moments=2), "no evidence yet"),
        (
            evidence(alarm=False, odds=2.9, moments=1, more=1),
            "one run is no evidence yet; 1 more run like this one raises an alarm",
        ),
        (
            evidence(alarm=False, odds=2.9, moments=2, more=3),
            "no evidence yet; 3 more runs like this one raise an alarm",
        ),
        (evidence(alarm=False, odds=3.1, ratio=None), "no evidence yet"),
    ],
)
def test_a_slow_run_that_is_no_alarm_yet_is_explained(weak: Optional[Evidence], words: str) -> None:
    assert so_far(weak) == words


@pytest.mark.parametrize(
    ("nights", "words"),
    [(0, ""), (1, ""), (2, "; slow on 2 of 7 nights"), (3, "; slow on 3 of 7 nights")],
)
def test_several_slow_nights_are_counted_and_one_is_chance(nights: int, words: str) -> None:
    assert slow_nights(evidence(slow_nights=nights, nights=7)) == words


def test_evidence_without_figures_has_no_words() -> None:
    assert list(weighed(None)) == []
    assert list(weighed(evidence(ratio=None))) == []
    (line,) = weighed(evidence(odds=log(9000), needed=log(8000)))
    assert line.endswith("odds 9,000 to 1 against chance, 8,000 for an alarm")


@pytest.mark.parametrize(
    ("count", "words"),
    [(1, "its peer's 180.0 MB/s"), (2, "its 2 peers' median 180.0 MB/s")],
)
def test_a_single_peer_has_no_median(count: int, words: str) -> None:
    run = series(200e6, 180e6)
    run = run._replace(samples=(run.samples[0]._replace(peers=count), *run.samples[1:]))
    assert peers(measured(run, Reference(None, None), Limits())) == words


def test_the_odds_of_one_run_are_shown_unless_its_group_has_them() -> None:
    strong = evidence(odds=log(9000), needed=log(8000))
    words = odds_of_run(strong, services=True)
    assert words == "odds 9,000 to 1 against chance, 8,000 for an alarm"
    lone = odds_of_run(strong._replace(alarm=False, moments=1), services=True)
    assert lone == "odds 9,000 to 1 against chance, 8,000 and a second run for an alarm"
    assert odds_of_run(strong, services=False) == "odds 9,000 to 1 against chance"
    shared = strong._replace(shared=True)
    assert odds_of_run(shared, services=True) == so_far(shared)
    assert odds_of_run(None, services=True) == so_far(None)


@pytest.mark.parametrize(
    ("known", "low", "words"),
    [
        (None, True, ""),
        (evidence(), True, ""),
        (evidence(shared=True, alarm=False), True, ""),
        (
            evidence(more=2),
            False,
            "; its service still has the alarm; 2 more runs",
        ),
        (evidence(alarm=False), False, ""),
        (
            evidence(alarm=False, more=1),
            True,
            "; its service watches: 1 more run",
        ),
        (evidence(alarm=False), True, "; its service watches"),
    ],
)
def test_a_run_names_its_service_where_that_differs(
    known: Optional[Evidence], low: bool, words: str
) -> None:
    run = severity(evidence().ratio, Limits()) if low else State.OK
    text = of_service(known, run, Limits())
    assert text.startswith(words)
    assert bool(text) is bool(words)
