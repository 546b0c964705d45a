"""The odds that an alarm takes follow from the budget and from how much a site asks."""

from __future__ import annotations

from typing import Any

import pytest

from plumbline.errors import DocumentError
from plumbline.model.evidence import LEAST_ODDS
from plumbline.plan.budget import alarm_odds
from plumbline.plan.policy import load


def odds(measured: list[str], **policy: Any) -> float:
    return alarm_odds(load({"schema": 1, **policy}), measured)


def test_one_false_alarm_a_month_takes_as_many_odds_as_a_month_has_questions() -> None:
    assert odds(["ost"] * 336) == pytest.approx(336 * 30.44)


def test_twice_the_budget_takes_half_the_odds() -> None:
    assert odds(["ost"] * 100, alarm_budget=2) == odds(["ost"] * 100) / 2


def test_what_is_asked_seldom_asks_less() -> None:
    weekly = {"raw": {"schedule": {"calendar": "Sun *-*-* 03:00", "every": "7 d"}}}
    assert odds(["raw"] * 100, layers=weekly) == pytest.approx(odds(["raw"] * 100) / 7)


def test_a_small_site_still_takes_some_odds() -> None:
    assert odds(["fs"]) == LEAST_ODDS


@pytest.mark.parametrize("budget", [0, -1, "many", 1001])
def test_a_budget_that_is_none_is_refused(budget: object) -> None:
    with pytest.raises(DocumentError, match="alarm_budget"):
        load({"schema": 1, "alarm_budget": budget})
