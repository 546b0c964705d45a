"""Every rule gives its own reason, and each reason tells what may be made of it."""

from __future__ import annotations

import pytest

from plumbline.judge.absence import RULES as ABSENCE
from plumbline.judge.rules import RULES
from plumbline.model.verdict import Reason, State, Verdict

ASKED = (*ABSENCE, *(rule.reason for rule in RULES))


def test_no_two_rules_share_a_reason_and_all_are_asked_in_the_order_of_the_reasons() -> None:
    assert list(ASKED) == [reason for reason in Reason if reason in ASKED]


def test_only_the_last_rule_applies_whatever_was_measured() -> None:
    assert RULES[-1].reason is Reason.FINE


@pytest.mark.parametrize("reason", Reason)
def test_a_reason_is_its_name_for_programs_and_words_for_people(reason: Reason) -> None:
    assert reason.value == reason.name.lower()
    assert reason.words == reason.value.replace("_", " ")


def test_what_gave_no_rate_is_neither_fine_nor_slow_nor_contended() -> None:
    without = [reason for reason in Reason if not reason.measured]
    assert set(ABSENCE) <= set(without)
    assert Reason.INVALID in without
    assert not [one for one in without if one.fine or one.slow or one.contention or one.telling]


def test_every_rule_on_a_rate_that_is_valid_has_measured() -> None:
    assert [rule.reason for rule in RULES if not rule.reason.measured] == [Reason.INVALID]
    assert [rule.reason for rule in RULES if not rule.reason.telling] == [
        Reason.INVALID,
        Reason.KNOWN_STATE,
    ]


def test_a_loss_that_lasts_is_a_slow_one() -> None:
    lasting = {reason for reason in Reason if reason.lasting}
    assert lasting == {Reason.SLOW, Reason.PROFILE}
    assert {reason for reason in Reason if reason.slow} == lasting | {
        Reason.BELOW_LEVEL,
        Reason.PROVISIONAL,
    }


@pytest.mark.parametrize("reason", Reason)
def test_a_verdict_keeps_its_reason_in_a_document(reason: Reason) -> None:
    verdict = Verdict("ost", "a", State.OK, reason, "a")
    raw = verdict.to_json()
    assert raw["reason"] == reason.value
    assert type(raw["reason"]) is str
    assert Verdict.from_json(raw) == verdict
