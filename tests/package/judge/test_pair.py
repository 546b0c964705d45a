"""A host is judged by all its partners; one slow partner does not accuse it."""

from __future__ import annotations

from typing import Any, Sequence

import pytest

from plumbline.judge.pair import of_pair, rulings_on_host
from plumbline.model.limits import Reference
from plumbline.model.record import Operation, Outcome
from plumbline.model.series import Running, Sample, Series
from plumbline.model.verdict import Reason, State, Verdict
from tests.package.judgements import (
    BASELINE,
    DAY_S,
    NOW,
    host_expectation,
    judge_host,
    judge_service,
    sent,
)

HUNG = {"outcome": Outcome.HUNG, "reason": "did not end"}
FAILED = {"outcome": Outcome.FAILED, "reason": "netperf: no route"}


def judged(*tests: Series, partners: tuple[str, ...] = ("oss1", "oss2"), **changes: Any) -> Verdict:
    return judge_host(host_expectation(*partners, **changes), tests, (), NOW)


def test_a_healthy_host_is_ok() -> None:
    verdict = judged(sent("oss1", 116e6), sent("oss2", 117e6))
    assert (verdict.state, verdict.reason) == (State.OK, Reason.FINE)
    assert verdict.sentence == "oss3 send 117.0 MB/s, 100 % of baseline"


def test_a_host_that_is_slow_with_all_partners_is_critical() -> None:
    verdict = judged(sent("oss1", 24e6), sent("oss2", 24.2e6))
    assert verdict.state is State.CRITICAL
    assert verdict.sentence == (
        "oss3 send 24.2 MB/s, 21 % of baseline 117.0 MB/s (12 runs to 2026-11-20), "
        "ceiling 118.0 MB/s by nic oss3-link; upper median of 2 partners"
    )


def test_one_slow_partner_is_named_and_leaves_the_host_ok() -> None:
    verdict = judged(sent("oss1", 24e6), sent("oss2", 117e6))
    assert verdict.state is State.OK
    assert verdict.sentence == (
        "oss3 send 117.0 MB/s, 100 % of baseline; send with partner oss1 24.0 MB/s"
    )


@pytest.mark.parametrize(
    ("rates", "chosen"),
    [((1e8,), 1e8), ((9e7, 1e8), 1e8), ((8e7, 9e7, 1e8), 9e7), ((7e7, 8e7, 9e7, 1e8), 9e7)],
)
def test_the_figure_is_the_upper_median(rates: tuple[float, ...], chosen: float) -> None:
    partners = tuple(f"p{number}" for number in range(len(rates)))
    tests = [sent(name, rate) for name, rate in zip(partners, rates)]
    assert judged(*tests, partners=partners).figures[0].value == chosen


def test_with_a_single_partner_either_end_may_be_the_cause() -> None:
    verdict = judged(sent("oss1", 24e6), partners=("oss1",))
    assert verdict.state is State.CRITICAL
    assert verdict.sentence.endswith("; measured with oss1 alone, either end may be the cause")


def test_only_fresh_rates_count() -> None:
    stale = sent("oss1", 24e6, finished_at=NOW - 3 * DAY_S, started_at=NOW - 3 * DAY_S)
    verdict = judged(stale, sent("oss2", 117e6))
    assert verdict.state is State.OK
    assert verdict.sentence.endswith("100 % of baseline; no figure with oss1")


def test_a_rate_above_the_ceiling_of_the_pair_does_not_count() -> None:
    verdict = judged(sent("oss1", 24e6), sent("oss2", 400e6))
    assert verdict.state is State.CRITICAL
    assert "oss1 alone" in verdict.sentence


@pytest.mark.parametrize(
    ("first", "second", "state", "reason", "partner"),
    [
        (FAILED, FAILED, State.UNKNOWN, Reason.FAILED, "oss1"),
        (HUNG, FAILED, State.UNKNOWN, Reason.FAILED, "oss2"),
        (HUNG, HUNG, State.CRITICAL, Reason.HUNG, "oss1"),
    ],
)
def test_without_any_rate_the_mildest_reason_is_named(
    first: dict[str, Any], second: dict[str, Any], state: State, reason: Reason, partner: str
) -> None:
    verdict = judged(sent("oss1", None, **first), sent("oss2", None, **second))
    assert (verdict.state, verdict.reason) == (state, reason)
    assert verdict.sentence.endswith(f"(with {partner}; no figure with any of 2 partners)")
    assert verdict.figures[0].value is None


def test_a_host_that_was_never_measured_is_unknown() -> None:
    verdict = judged()
    assert (verdict.state, verdict.reason) == (State.UNKNOWN, Reason.NEVER_MEASURED)
    assert "never recorded" in verdict.sentence


def test_a_host_without_partners_is_unknown() -> None:
    verdict = judged(sent("oss1", 117e6), partners=())
    assert (verdict.state, verdict.reason) == (State.UNKNOWN, Reason.NO_PARTNER)
    assert "oss3 has no partner to be measured with; add one" in verdict.sentence


def test_a_partner_that_is_no_longer_expected_is_not_judged() -> None:
    assert judged(sent("old", 1e6), sent("oss1", 117e6), partners=("oss1",)).state is State.OK


def test_a_hung_run_is_critical() -> None:
    running = (Running("net", "oss3", NOW - 1500),)
    tests = (sent("oss1", 117e6),)
    verdict = judge_host(host_expectation("oss1"), tests, running, NOW)
    assert (verdict.state, verdict.reason) == (State.CRITICAL, Reason.HANGS)


def retransmitting(partner: str, rate: float, count: int) -> Series:
    return sent(partner, rate, retransmits=count, bytes=1_448_000_000)


def test_many_retransmits_with_all_partners_suggest_a_bad_cable() -> None:
    verdict = judged(retransmitting("oss1", 116e6, 20_000), retransmitting("oss2", 117e6, 30_000))
    assert (verdict.state, verdict.reason) == (State.WARNING, Reason.RETRANSMITS)
    assert verdict.sentence == (
        "oss3 send 117.0 MB/s, 100 % of baseline; 2.00 % of the segments of send retransmitted "
        "(limit 0.5 %), bad cable?"
    )
    label, value, *rest = verdict.figures[1]
    assert (label, rest) == ("send_retransmits", ["%", "0.5", "", None])
    assert value == pytest.approx(2.0)


def nights_of_retransmits(partner: str, shares: Sequence[float]) -> Series:
    """Return one run a night, the last one today."""
    samples = [
        Sample(NOW - 3610 - age * DAY_S, 117e6, None, None, 0, partner, retransmitted=share)
        for age, share in enumerate(reversed(shares))
    ]
    latest = retransmitting(partner, 117e6, round(shares[-1] * 1_000_000))
    return latest._replace(samples=tuple(samples))


@pytest.mark.parametrize(
    ("shares", "state", "reason", "text"),
    [
        (
            [0.0, 0.0, 0.02],
            State.OK,
            Reason.WATCHED,
            "watching: 2.00 % of the segments of send retransmitted (limit 0.5 %), one run is no "
            "evidence yet; bad cable?",
        ),
        (
            [0.0, *[0.02] * 7],
            State.WARNING,
            Reason.RETRANSMITS,
            "2.00 % of the segments of send retransmitted (limit 0.5 %), seen in 7 of 7 runs "
            "since 2024-09-27, odds ",
        ),
        (
            [*[0.02] * 9, 0.001],
            State.WARNING,
            Reason.RETRANSMITS,
            "0.10 % of the segments of send retransmitted (limit 0.5 %), seen in 9 of 10 runs ",
        ),
        ([*[0.02] * 9, *[0.001] * 8], State.OK, Reason.FINE, "100 % of baseline"),
        ([0.0, 0.005], State.OK, Reason.FINE, "100 % of baseline"),
    ],
    ids=["once", "night after night", "not today", "mended", "as much as may be"],
)
def test_a_service_alarms_about_retransmits_when_they_recur(
    shares: Sequence[float], state: State, reason: Reason, text: str
) -> None:
    tests = [nights_of_retransmits(name, shares) for name in ("oss1", "oss2")]
    verdict = judge_service(host_expectation("oss1", "oss2"), tests, (), NOW, None)
    assert (verdict.state, verdict.reason) == (state, reason)
    assert text in verdict.sentence


def test_retransmits_with_one_partner_do_not_accuse_the_host() -> None:
    verdict = judged(retransmitting("oss1", 116e6, 20_000), retransmitting("oss2", 117e6, 0))
    assert verdict.state is State.OK
    assert verdict.figures[1].value == 0


def test_the_sentence_names_both_slow_rate_and_retransmits() -> None:
    verdict = judged(retransmitting("oss1", 24e6, 20_000), retransmitting("oss2", 24e6, 20_000))
    assert verdict.state is State.CRITICAL
    assert "; 2.00 % of the segments of send retransmitted" in verdict.sentence


def test_both_directions_are_judged_and_the_worse_decides() -> None:
    reference = Reference(None, BASELINE._replace(median=117e6))
    both = {"send/single": reference, "receive/single": reference}
    received = sent("oss1", 80e6, operation=Operation.RECEIVE)
    verdict = judged(sent("oss1", 117e6), received, partners=("oss1",), references=both)
    assert (verdict.state, verdict.component) == (State.WARNING, "oss3")
    assert verdict.sentence.startswith("oss3 receive 80.0 MB/s, 68 % of baseline")
    assert [line for line in verdict.evidence if line.startswith("with oss1: send 117.0 MB/s")]


@pytest.mark.parametrize(
    ("count", "reason"),
    [(4999, Reason.FINE), (5000, Reason.FINE), (5001, Reason.RETRANSMITS)],
)
def test_retransmits_above_half_a_percent_are_a_warning(count: int, reason: Reason) -> None:
    """A million segments of 1448 bytes."""
    verdict = judged(retransmitting("oss1", 117e6, count), partners=("oss1",))
    assert verdict.reason is reason
    assert verdict.figures[1].value == pytest.approx(count / 10_000)
    assert verdict.figures[1].warning == "0.5"


@pytest.mark.parametrize(
    ("counts", "share"),
    [
        ((3000,), 0.3),
        ((1000, 3000), 0.1),
        ((1000, 2000, 3000), 0.2),
        ((1000, 2000, 3000, 4000), 0.2),
        ((1000, 2000, 3000, 4000, 4500), 0.3),
    ],
)
def test_retransmits_are_the_lower_median(counts: tuple[int, ...], share: float) -> None:
    partners = tuple(f"p{number}" for number in range(len(counts)))
    tests = [retransmitting(name, 117e6, count) for name, count in zip(partners, counts)]
    assert judged(*tests, partners=partners).figures[1].value == pytest.approx(share)


@pytest.mark.parametrize(
    ("baseline_MB", "slow_MB", "fast_MB"),
    [
        # equal pairs: the baseline as it is
        (100.0, 118.0, 118.0),
        # the baseline belongs to the lowest ceiling that allows it, up to 1.05 of it
        (123.8, 118.0, 1180.0),
        (105.0, 100.0, 1000.0),
        (124.0, 118.0, 1180.0),
        (2000.0, 118.0, 1180.0),
    ],
)
def test_a_pair_has_its_share_of_the_baseline_of_all_pairs(
    baseline_MB: float, slow_MB: float, fast_MB: float
) -> None:
    rates = {"slow": 1e6 * slow_MB, "fast": 1e6 * fast_MB}
    host = host_expectation(*rates)
    partners = tuple(
        partner._replace(ceiling=partner.ceiling._replace(rate=rates[partner.name]))
        for partner in host.partners
    )
    reference = Reference(None, BASELINE._replace(median=1e6 * baseline_MB))
    matching_MB = fast_MB if baseline_MB > 1.05 * slow_MB else slow_MB
    for partner in partners:
        expected = of_pair(
            host._replace(partners=partners), partner, Operation.SEND, reference
        ).baseline
        assert expected is not None
        assert expected.median == pytest.approx(
            1e6 * baseline_MB * partner.ceiling.rate / (1e6 * matching_MB)
        )


@pytest.mark.parametrize(
    ("fast_MB", "text"), [(1160.0, ""), (300.0, "; send with partner fast 300.0 MB/s")]
)
def test_partners_with_different_links_count_by_their_share_of_the_ceiling(
    fast_MB: float, text: str
) -> None:
    rates = {"slow": 118e6, "fast": 1180e6}
    host = host_expectation(*rates)
    partners = tuple(
        partner._replace(ceiling=partner.ceiling._replace(rate=rates[partner.name]))
        for partner in host.partners
    )
    tests = sent("slow", 117e6), sent("fast", 1e6 * fast_MB)
    verdict = judge_host(host._replace(partners=partners), tests, (), NOW)
    assert verdict.state is State.OK
    assert verdict.sentence == f"oss3 send 117.0 MB/s, 100 % of baseline{text}"


def test_a_host_has_the_upper_median_rate_and_the_lower_median_of_retransmits() -> None:
    tests = [retransmitting("oss1", 24e6, 2000), retransmitting("oss2", 117e6, 3000)]
    host = host_expectation("oss1", "oss2")
    ((ruling, share),) = rulings_on_host(host, tests, NOW)
    assert ruling.measured is not None
    assert ruling.measured.rate == 117e6
    assert share == pytest.approx(0.002)


def test_a_single_partner_without_a_figure_is_named_without_a_count() -> None:
    assert judged(sent("oss1", None, **FAILED), partners=("oss1",)).sentence.endswith(
        "no route (with oss1)"
    )
