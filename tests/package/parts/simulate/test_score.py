"""Scores: an alarm without a fault is false, and a fault is found by its first new alarm."""

from __future__ import annotations

from typing import Any, Iterator, Optional

import pytest

from plumbline.judge.judging import Alarming, Judging
from plumbline.model.service import PathAlarms
from plumbline.model.verdict import Reason, State, Verdict
from plumbline.parts.simulate.course import Today, weigh
from plumbline.parts.simulate.fleet import Fault
from plumbline.parts.simulate.memory import Memory
from plumbline.parts.simulate.score import Outcome, Score, Source, Suspects, add
from plumbline.parts.simulate.weather import Capacity
from tests.package.parts.simulate.fleets import fleet, outcome
from tests.package.sites import part, site

FLEET = fleet()
CAPACITY = Capacity(FLEET)
DISK = Fault("oss1-disk1", 0.4, 3)
W, C, U, OK = State.WARNING, State.CRITICAL, State.UNKNOWN, State.OK


def verdict(component: str, state: State, **changes: Any) -> Verdict:
    reason = Reason.FINE if state is OK else Reason.BELOW_LEVEL
    values = {"layer": "raw", "reason": reason, "sentence": f"{component} is slow"}
    return Verdict(component=component, state=state, **{**values, **changes})


def today(day: int, verdicts: list[Verdict], faults: tuple[Fault, ...]) -> Today:
    """Return a day with these verdicts and faults, without measurements."""
    nothing = Memory(())
    weighing = weigh({}, nothing)
    judging = Judging(nothing, weighing, 0.0)
    return Today(day, tuple(verdicts), faults, {}, judging, weighing, 0, 0)


def scored(
    *days: list[Verdict], faults: tuple[Fault, ...] = (), suspects: Optional[Suspects] = None
) -> Outcome:
    """Return the score of days with these verdicts."""
    score = Score(FLEET, CAPACITY, faults, len(days), suspects)
    for day, verdicts in enumerate(days, start=1):
        present = tuple(fault for fault in faults if fault.day <= day)
        score.take(today(day, verdicts, present))
    return score.outcome()


def of(component: str, *states: State, **changes: Any) -> list[list[Verdict]]:
    return [[verdict(component, state, **changes)] for state in states]


@pytest.mark.parametrize(
    ("states", "raised", "standing"),
    [
        ([OK, OK, OK], 0, 0),
        ([OK, W, W], 1, 2),
        ([W, OK, W], 2, 2),
        ([W, C, W], 1, 3),
        ([W, U, W], 2, 2),
    ],
)
def test_an_alarm_is_raised_once_however_it_gets_worse(
    states: list[State], raised: int, standing: int
) -> None:
    result = scored(*of("oss1-disk1", *states))
    source = Source("raw", False, Reason.BELOW_LEVEL)
    assert (result.raised.get(source, 0), result.standing.get(source, 0)) == (raised, standing)
    assert result.healthy_days == 3
    assert result.false_days == standing


def test_unknown_is_no_alarm_and_is_counted() -> None:
    score = scored(*of("oss1-disk1", U, U, OK, reason=Reason.STALE))
    assert score.raised == {Source("raw", False, Reason.STALE): 0} or not sum(score.raised.values())
    assert score.unknown[Source("raw", False, Reason.STALE)] == 2


def test_a_fault_is_found_by_the_first_alarm_of_a_component_that_it_slows() -> None:
    result = scored(*of("oss1-disk1", OK, OK, OK, W, C), faults=(DISK,))
    (trial,) = result.trials
    assert (trial.found, trial.followed, trial.kind) == (2, 3, "disk")
    assert trial.by == ("raw oss1-disk1", "oss1-disk1 is slow")
    assert trial.slows == pytest.approx(0.4)
    assert result.healthy_days == 2
    assert not sum(result.raised.values())


def test_an_alarm_that_stood_before_finds_nothing() -> None:
    result = scored(*of("oss1-disk1", OK, W, W, W), faults=(DISK,))
    assert result.trials[0].found is None
    assert result.raised[Source("raw", False, Reason.BELOW_LEVEL)] == 1


@pytest.mark.parametrize(
    ("day_before", "identifiable"), [([W, C], False), ([W, OK], True), ([OK, W], True)]
)
def test_a_fault_of_a_component_already_in_alarm_is_not_identifiable(
    day_before: list[State], *, identifiable: bool
) -> None:
    names = ("raw", "oss1-disk1"), ("ost", "scratch-OST0")
    before = [verdict(name, state, layer=layer) for (layer, name), state in zip(names, day_before)]
    after = [verdict(name, C, layer=layer) for layer, name in names]
    (trial,) = scored([], before, after, faults=(DISK,)).trials
    assert trial.identifiable is identifiable


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({}, None),
        ({"reason": Reason.BELOW_FLOOR}, 2),
        ({"component": "oss1", "group": True}, 2),
    ],
)
def test_a_loss_of_all_is_found_by_a_group_or_a_floor_and_by_no_chance_alarm_of_a_member(
    changes: dict[str, Any], found: Optional[int]
) -> None:
    alarmed = verdict(**{"component": "oss1-disk1", "state": W, **changes})
    result = scored([], [alarmed], faults=(Fault("site", 0.75),))
    assert result.trials[0].found == found
    assert not sum(result.raised.values())


def test_each_service_that_a_fault_alarms_is_counted_once() -> None:
    disk, target = (of(name, OK, OK, W, OK, C) for name in ("oss1-disk1", "oss1-disk2"))
    alarmed = verdict("scratch-OST0", W, layer="ost")
    days = [[*first, *second, alarmed] for first, second in zip(disk, target)]
    (trial,) = scored(*days[:2], *([*rest, alarmed] for rest in days[2:]), faults=(DISK,)).trials
    # the other disk is healthy, and the alarm of the target stood before
    assert trial.services == 1
    (trial,) = scored([], [], *days[2:], faults=(DISK,)).trials
    assert trial.services == 2


TARGET = {"layer": "ost"}


def notified(
    *days: list[Verdict], suspects: Any = None, faults: tuple[Fault, ...] = (DISK,)
) -> Any:
    """Return the number of alarms and of notifications of each fault."""
    trials = scored(*days, suspects=suspects, faults=faults).trials
    return [(trial.services, trial.notifications) for trial in trials]


def test_a_device_is_silent_while_the_target_on_it_alarms() -> None:
    disk, target = verdict("oss1-disk1", W), verdict("scratch-OST0", W, **TARGET)
    assert notified([], [], [disk, target]) == [(2, 1)]
    assert notified([], [], [target], [disk, target]) == [(2, 1)]
    # a target that alarms later notifies again
    assert notified([], [], [disk], [disk, target]) == [(2, 2)]
    # a device whose target recovered first, or has no verdict
    assert notified([], [], [disk, target], [disk]) == [(2, 2)]
    unknown = verdict("scratch-OST0", U, **TARGET)
    assert notified([], [], [disk, unknown]) == [(1, 1)]


def test_a_silent_alarm_that_notifies_again_is_counted_once() -> None:
    disk, target = verdict("oss1-disk1", W), verdict("scratch-OST0", W, **TARGET)
    assert notified([], [], [disk], [disk, target], [disk]) == [(2, 2)]


def test_a_false_alarm_of_a_device_behind_its_target_is_not_counted() -> None:
    result = scored([verdict("oss1-disk1", W), verdict("scratch-OST0", W, **TARGET)])
    assert sum(result.raised.values()) == 1
    assert sum(result.standing.values()) == 2


def test_a_suspect_notifies_for_all_components_behind_it() -> None:
    server = Fault("oss1", 0.6, 1)
    targets = [verdict(name, C, **TARGET) for name in ("scratch-OST0", "scratch-OST1")]

    def suspects(day: Alarming) -> PathAlarms:
        return PathAlarms(frozenset({"server oss1"} if day.alarms else ()), frozenset())

    assert notified(targets, faults=(server,)) == [(2, 2)]
    assert notified(targets, suspects=suspects, faults=(server,)) == [(2, 1)]
    result = scored(targets, suspects=suspects)
    assert result.raised[Source("path", False, Reason.SUSPECT)] == 1
    assert sum(result.raised.values()) == 1


def test_a_suspect_whose_alarm_another_has_notified_is_no_notification() -> None:
    days = [[verdict("scratch-OST0", C, **TARGET)]] * 2
    first = PathAlarms(frozenset({"client client1"}), frozenset())
    for silent, number in ((frozenset({"server oss1"}), 1), (frozenset[str](), 2)):
        alarms = iter([first, PathAlarms(frozenset({"server oss1"}), silent)])

        def suspects(_: Alarming, alarms: Iterator[PathAlarms] = alarms) -> PathAlarms:
            return next(alarms)

        result = scored(*days, suspects=suspects)
        assert sum(result.raised.values()) == number


def test_an_alarm_of_a_group_with_few_slow_members_does_not_count() -> None:
    alarm = of("scratch", W, layer="ost", group=True)
    result = scored(*alarm, faults=(Fault("scratch-OST1", 0.4),))
    assert (result.trials[0].found, sum(result.raised.values()), result.false_days) == (None, 0, 0)


def test_an_alarm_of_a_healthy_sibling_is_false_during_a_fault() -> None:
    result = scored(*of("oss1-disk2", OK, OK, W), faults=(DISK,))
    assert result.trials[0].found is None
    assert result.raised[Source("raw", False, Reason.BELOW_LEVEL)] == 1


@pytest.mark.parametrize(("group", "day"), [("oss1", 1), ("oss2", None)])
def test_an_alarm_of_a_group_finds_a_fault_that_slows_half_of_it(group: str, day: int) -> None:
    result = scored(*of(group, OK, OK, W, group=True), faults=(DISK,))
    assert result.trials[0].found == day
    assert result.healthy_days == 0


def test_an_alarm_of_the_partner_of_a_slow_host_is_false() -> None:
    document = site()
    part(document, "oss[1-2]")["address"] = "10.0.0.[1-2]"
    document["parts"].append(
        {"name": "oss[3-5]", "kind": "server", "address": "10.0.0.[3-5]", "feeds": "oss[3-5]-nic"}
    )
    nics = {"name": "oss[3-5]-nic", "kind": "nic", "rate": "125 MB/s", "feeds": "switch1"}
    document["parts"].append(nics)
    hosts = fleet(document)
    fault = Fault("oss5-nic", 0.5, 1)
    score = Score(hosts, Capacity(hosts), (fault,), 1)
    accused = [verdict(name, W, layer="net") for name in ("oss1", "oss5")]
    score.take(today(1, accused, (fault,)))
    result = score.outcome()
    assert result.trials[0].by[0] == "net oss5"
    assert result.raised[Source("net", False, Reason.BELOW_LEVEL)] == 1


def test_a_fault_of_a_part_with_slack_is_not_identifiable() -> None:
    document = site()
    part(document, "oss[1-2]").pop("address")
    roomy = fleet(document)
    hidden, visible = Fault("oss1-nic", 0.3), Fault("oss1-nic", 0.5)
    trial = outcome(roomy, 5, hidden).trials[0]
    assert (trial.identifiable, trial.slows, trial.found) == (False, 0.0, None)
    trial = outcome(roomy, 5, visible).trials[0]
    assert trial.identifiable
    assert trial.slows == pytest.approx(1 - 62.5 / 80)
    assert trial.found is not None


def test_a_fault_behind_a_greater_one_is_not_identifiable() -> None:
    greater, behind = Fault("oss1", 0.9, day=1), Fault("oss1-disk1", 0.5, day=2)
    trials = outcome(fleet(site()), 3, greater, behind).trials
    assert [trial.slows for trial in trials] == pytest.approx([0.9, 0.0])
    ended = greater._replace(last=1)
    assert outcome(fleet(site()), 3, ended, behind).trials[1].slows == pytest.approx(0.5)


def test_outcomes_can_be_added() -> None:
    single = scored(*of("oss1-disk1", OK, W, W, W), faults=(DISK,))
    both = add([single, single])
    assert (both.fleets, both.days, both.healthy_days) == (2, 4, 2 * single.healthy_days)
    assert both.raised == {Source("raw", False, Reason.BELOW_LEVEL): 2}
    assert both.trials == single.trials * 2
