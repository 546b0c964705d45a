"""Explanation of a verdict: rules, numbers, and the rates that would change it."""

from __future__ import annotations

from typing import Any

import pytest

from plumbline.judge.explain import explain
from plumbline.judge.rules import RULES
from plumbline.model.limits import Limits, Reference
from plumbline.model.verdict import Reason
from tests.package.judge.test_floor import recorded
from tests.package.judgements import (
    BASELINE,
    CEILING,
    NOW,
    expectation,
    host_expectation,
    judge,
    sent,
    series,
)

READ = {"read/single": Reference(CEILING, BASELINE)}


def lines(reference: Reference = READ["read/single"], **changes: Any) -> list[str]:
    entry = expectation(references={"read/single": reference})
    return list(explain(entry, [series(**changes)], NOW))


def test_every_rule_is_shown_in_order_with_its_numbers() -> None:
    shown = lines()[1 : 1 + len(RULES)]
    assert [line.split(":")[0].strip() for line in shown] == [
        f"rule {rule.reason.words}" for rule in RULES
    ]
    assert all(line.endswith(")") and not line.endswith("()") for line in shown)


def test_rules_after_the_one_that_applies_are_marked_as_not_asked() -> None:
    shown = lines(rate=150e6)[1 : 1 + len(RULES)]
    at = [rule.reason for rule in RULES].index(Reason.BELOW_LEVEL)
    marks = [line.partition(": ")[2].split(" (")[0] for line in shown]
    assert marks == ["no"] * at + ["applies"] + ["not asked"] * (len(RULES) - at - 1)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"rate": 150e6}, "above 161.7 MB/s: OK"),
        ({"rate": 150e6}, "below 101.0 MB/s: CRITICAL, below level"),
        ({"rate": 200e6}, "below 161.7 MB/s: WARNING, below level"),
        ({"rate": 200e6}, "above 262.5 MB/s: UNKNOWN, invalid"),
        ({"rate": 80e6, "coverage": 0.3}, "had nobody else used it: CRITICAL, below level"),
        (
            {"rate": 80e6, "repeats": (80e6, 190e6, 79e6)},
            "had the repeats agreed: CRITICAL, below level",
        ),
        (
            {"rate": 150e6, "spec_hash": "other", "peers_rate": 150e6},
            "but for the doubt (its baseline was taken with another probe specification)",
        ),
    ],
)
def test_changes_of_the_outcome_are_named(changes: dict[str, Any], expected: str) -> None:
    assert [line for line in lines(**changes) if line.strip().startswith(expected)]


@pytest.mark.parametrize("rate", [40e6, 120e6, 150e6, 190e6])
def test_a_rate_named_as_changing_the_outcome_does_so(rate: float) -> None:
    entry = expectation(references=READ)
    before = judge(entry, [series(rate)], (), NOW)
    for line in lines(rate=rate):
        word, _, rest = line.strip().partition(" ")
        if word in ("below", "above"):
            edge = float(rest.split()[0]) * 1e6
            other = judge(entry, [series(edge * (0.99 if word == "below" else 1.01))], (), NOW)
            assert (other.state, other.reason) != (before.state, before.reason)
            assert rest.split(": ")[1].split(",")[0] == other.state.name


def test_without_a_rate_only_the_reason_is_shown() -> None:
    assert lines(rate=None) == [
        "read failed: fio: no [UNKNOWN, failed]",
        "  no rate: the rules on speed were not asked",
    ]


def test_a_host_is_explained_partner_by_partner() -> None:
    entry = host_expectation("oss1", "oss2")
    text = list(explain(entry, [sent("oss1", 24e6), sent("oss2", 117e6)], NOW))
    assert [line.split(",")[0] for line in text if line.startswith("with ")] == [
        "with oss1: send 24.0 MB/s",
        "with oss2: send 117.0 MB/s",
    ]


def test_a_floor_is_explained_with_what_was_demonstrated() -> None:
    floor = Limits(min_efficiency=0.5)
    entry = expectation(references={"read/single": Reference(CEILING, None)}, limits=floor)
    shown = list(explain(entry, [recorded([55e6, 50e6, 54e6, 50e6, 50e6])], NOW))
    assert shown[0].endswith("[WARNING, below floor]")
    assert "  rule below floor: applies (floor 125.0 MB/s, best of 5 nights 55.0 MB/s)" in shown
    assert "  rule below goal: no (no goal)" in shown
    assert "    above 125.0 MB/s: UNKNOWN, no reference" in shown
    short = list(explain(entry, [recorded([55e6] * 4)], NOW))
    assert "  rule below floor: not asked (floor 125.0 MB/s, 4 of 5 nights)" in short


def test_the_ceiling_and_its_limit_are_shown() -> None:
    shown = lines(rate=200e6)
    assert any(
        line.endswith("(0.80 of ceiling 250.0 MB/s by disk oss2-disk1, limit 1.05)")
        for line in shown
    )
    unknown = lines(Reference(None, BASELINE), rate=200e6)
    assert "  rule invalid: no (no ceiling is known)" in unknown


def test_a_near_outcome_is_found_at_its_edge() -> None:
    assert "    below 161.7 MB/s: WARNING, below level" in lines(rate=162e6)
    assert "    above 262.5 MB/s: UNKNOWN, invalid" in lines(rate=261e6)


def test_two_repeats_that_disagree_are_named_and_a_single_one_is_not() -> None:
    two = lines(rate=80e6, repeats=(80e6, 190e6))
    assert "    had the repeats agreed: CRITICAL, below level" in two
    assert not any("had the repeats" in line for line in lines(repeats=(80e6,), rate=80e6))


def test_the_floor_is_the_rate_that_this_run_would_have_needed() -> None:
    """If this run had been slower, no better run of its night would hide it."""
    floor = Limits(min_efficiency=0.5)
    entry = expectation(references={"read/single": Reference(CEILING, None)}, limits=floor)
    shown = list(explain(entry, [recorded([130e6, 50e6, 50e6, 50e6, 50e6])], NOW))
    assert "    below 125.0 MB/s: WARNING, below floor" in shown


def test_one_faster_run_does_not_end_a_shortfall_of_many_nights() -> None:
    """Two good nights of the last five leave their median below the floor."""
    floor = Limits(min_efficiency=0.5)
    entry = expectation(references={"read/single": Reference(CEILING, None)}, limits=floor)
    shown = list(explain(entry, [recorded([*[50e6] * 4, 130e6, *[50e6] * 5])], NOW))
    assert "    above 262.5 MB/s: UNKNOWN, invalid" in shown


def test_peers_and_even_share_are_shown_in_percent() -> None:
    shown = lines(rate=130e6, peers_rate=150e6)
    assert any(
        "(its 5 peers' median 150.0 MB/s is 74 % of this baseline; this 87 % of it)" in line
        for line in shown
    )
    even = Reference(CEILING._replace(even=200e6), BASELINE)
    assert any("(75 % of the even share 200.0 MB/s)" in line for line in lines(even, rate=150e6))


def test_outcomes_are_searched_up_to_nineteen_times_the_rate() -> None:
    for times, expected in ((18.5, True), (19.0, True), (19.3, False)):
        shown = lines(rate=101.05e6 / times)
        assert any(line.startswith("    above 101.") for line in shown) is expected
