"""Reasons: each rule has its own, with its properties."""

from __future__ import annotations

import pytest

from plumbline.judge.absence import WITHOUT_RATE
from plumbline.judge.rules import RULES
from plumbline.model.verdict import Reason, State, Verdict

ABSENCE = (Reason.AHEAD, Reason.STALE, *WITHOUT_RATE)
IN_ORDER = (*ABSENCE, *(rule.reason for rule in RULES))


def test_rules_have_different_reasons_and_are_applied_in_their_order() -> None:
    assert list(IN_ORDER) == [reason for reason in Reason if reason in IN_ORDER]


def test_the_last_rule_always_applies() -> None:
    assert RULES[-1].reason is Reason.FINE


@pytest.mark.parametrize("reason", Reason)
def test_a_reason_has_a_value_for_programs_and_words_for_people(reason: Reason) -> None:
    assert reason.value == reason.name.lower()
    assert reason.words == reason.value.replace("_", " ")


def test_a_reason_without_a_rate_is_neither_fine_nor_slow_nor_contended() -> None:
    unmeasured = [reason for reason in Reason if not reason.measured]
    assert set(ABSENCE) <= set(unmeasured)
    assert Reason.INVALID in unmeasured
    assert not [
        each for each in unmeasured if each.fine or each.slow or each.contention or each.telling
    ]


def test_every_rule_on_a_valid_rate_counts_as_measured() -> None:
    assert [rule.reason for rule in RULES if not rule.reason.measured] == [Reason.INVALID]
    assert [rule.reason for rule in RULES if not rule.reason.telling] == [
        Reason.INVALID,
        Reason.KNOWN_STATE,
    ]


def test_every_lasting_loss_is_slow() -> None:
    lasting = {reason for reason in Reason if reason.lasting}
    assert lasting == {Reason.SLOW, Reason.PROFILE}
    assert {reason for reason in Reason if reason.slow} == lasting | {
        Reason.BELOW_LEVEL,
        Reason.PROVISIONAL,
    }


@pytest.mark.parametrize("reason", Reason)
def test_a_verdict_keeps_its_reason_as_json(reason: Reason) -> None:
    verdict = Verdict("ost", "a", State.OK, reason, "a")
    raw = verdict.to_json()
    assert raw["reason"] == reason.value
    assert type(raw["reason"]) is str
    assert Verdict.from_json(raw) == verdict
