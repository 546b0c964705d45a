"""The odds that an alarm takes follow from the budget and from how much a site asks."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

import pytest

from plumbline.model.errors import DocumentError
from plumbline.model.evidence import LEAST_ODDS
from plumbline.model.limits import Limits
from plumbline.model.record import Operation, Scenario
from plumbline.model.spec import ProbeSpec
from plumbline.plan.assignments import Assignment, Step
from plumbline.plan.expectations import Needed, needed
from plumbline.plan.policy import load


def one(layer: str, number: int, **changes: Any) -> Assignment:
    """Return a measurement of a component that has its group, and its path, for itself."""
    name = f"{layer}{number}"
    spec = ProbeSpec("fio", 1 << 30, 1 << 20)
    made = Assignment(layer, name, "node", "host", name, {}, (name,), (), spec, Limits())
    return made._replace(**changes)


def odds(measured: Sequence[str], **policy: Any) -> float:
    return of([one(layer, number) for number, layer in enumerate(measured)], **policy)


def of(measured: Sequence[Assignment], **policy: Any) -> float:
    return asked(measured, **policy).odds


def asked(measured: Sequence[Assignment], **policy: Any) -> Needed:
    return needed(load({"schema": 1, **policy}), measured)


UNCONFIRMED = {"ost": {"confirm": {"runs": 0}}, "raw": {"confirm": {"runs": 0}}}


def test_one_false_alarm_a_month_takes_as_many_odds_as_a_month_has_questions() -> None:
    assert odds(["ost"] * 336, layers=UNCONFIRMED) == pytest.approx(336 * 30.44)


@pytest.mark.parametrize(
    ("layer", "groups", "more"),
    [
        pytest.param("ost", ["fs1", "fs1", "fs2", "fs2"], 2, id="two file systems"),
        pytest.param("raw", ["oss1", "oss1", "oss1", "oss1"], 1, id="one server"),
    ],
)
def test_a_group_is_one_more_question(layer: str, groups: Sequence[str], more: int) -> None:
    made = [one(layer, number, group=group) for number, group in enumerate(list(groups) * 10)]
    assert of(made, layers=UNCONFIRMED) == pytest.approx((40 + more) * 30.44)


@pytest.mark.parametrize(
    ("layer", "confirm", "share"),
    [
        ("ost", {}, 0.05),
        ("ost", {"bytes": "35 %"}, 0.35),
        ("raw", {"bytes": "50 %"}, 0.5),
        ("ost", {"bytes": "35 %", "runs": 0}, 0.0),
    ],
)
def test_each_confirmation_that_the_bytes_allow_is_one_more_question(
    layer: str, confirm: Mapping[str, Any], share: float
) -> None:
    schedule = {"calendar": "Sun *-*-* 03:00", "every": "7 d"}
    found = odds([layer] * 336, layers={layer: {"schedule": schedule, "confirm": confirm}})
    assert found == pytest.approx((1 + share) * 336 * 30.44 / 7)


def test_what_is_driven_at_once_has_no_group_and_is_asked_for_its_profile_too() -> None:
    weekly = {"fs": {"schedule": {"calendar": "daily", "every": "1 d"}}}
    made = [one("fs", number, group="fs1") for number in range(40)]
    assert of(made, layers=weekly) == pytest.approx(2 * 40 * 30.44)


@pytest.mark.parametrize(
    ("scenario", "more"), [(Scenario.TOGETHER, 2), (Scenario.SINGLE, 0)], ids=str
)
def test_a_part_that_devices_read_together_share_is_one_more_question(
    scenario: Scenario, more: int
) -> None:
    steps: tuple[Step, ...] = ((Operation.READ, scenario),)
    made = [
        one("raw", number, path=("oss1", "hba", f"disk{number}"), steps=steps)
        for number in range(10)
    ]
    assert of(made, layers=UNCONFIRMED) == pytest.approx((10 + more) * 30.44)


def test_hosts_are_asked_for_rates_and_segments_and_for_each_pair_and_for_all() -> None:
    slot = {"net": {"schedule": {"slot": "1 d"}}}
    assert odds(["net"] * 40, layers=slot) == pytest.approx((40 + 40 + 20 + 1) * 30.44)


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_a_change_is_asked_of_groups_as_often_as_a_hundred_nights_ask(groups: int) -> None:
    made = [one("ost", number, group=f"fs{number % groups}") for number in range(40)]
    found = asked(made)
    assert groups * found.change_starts["ost"] == pytest.approx(100 * (40 + groups))


def test_a_change_is_asked_of_what_is_in_no_group() -> None:
    assert asked([one("ost", number) for number in range(40)]).change_starts["ost"] == 100


def test_the_layers_have_equal_shares_of_what_is_asked_at_a_change() -> None:
    weekly = {"raw": {"schedule": {"calendar": "Sun *-*-* 03:00", "every": "7 d"}}}
    made = [one("ost", number, group="fs") for number in range(40)]
    made += [one("raw", number, group=f"oss{number // 4}") for number in range(40)]
    questions = 41 + 50 / 7
    found = asked(made, layers=weekly).change_starts
    assert found["ost"] == pytest.approx(100 * questions / 2)
    # of ten servers each has as much, and is asked once a week
    assert 10 * found["raw"] / 7 == pytest.approx(found["ost"])


def test_what_is_driven_at_once_is_asked_at_a_change() -> None:
    weekly = {"fs": {"schedule": {"calendar": "daily", "every": "1 d"}}}
    made = [one("fs", number, group="fs1") for number in range(2)]
    assert asked(made, layers=weekly).change_starts["fs"] == pytest.approx(100 * 4 / 2)


def test_where_nothing_is_measured_nothing_is_asked() -> None:
    assert (asked([]).odds, asked([]).change_starts) == (LEAST_ODDS, {})


@pytest.mark.parametrize(
    ("policy", "odds"),
    [
        pytest.param({}, 30.44, id="nightly"),
        pytest.param({"alarm_budget": 0.5}, 2 * 30.44, id="half the budget"),
        pytest.param({"alarm_budget": 24}, LEAST_ODDS, id="a large budget"),
    ],
)
def test_an_alarm_ends_by_the_odds_that_one_component_takes(
    policy: Mapping[str, Any], odds: float
) -> None:
    for count in (1, 40):
        made = [one("ost", number) for number in range(count)]
        found = asked(made, layers=UNCONFIRMED, **policy)
        assert found.ends["ost"] == pytest.approx(odds)


def test_confirmations_of_an_alarm_are_questions_of_its_end() -> None:
    confirmed = {"ost": {"confirm": {"bytes": "35 %"}}}
    ends = asked([one("ost", 1)], layers=confirmed).ends["ost"]
    assert ends == pytest.approx(1.35 * 30.44)


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
