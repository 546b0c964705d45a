"""Members below their floor together raise one alarm, that of their group."""

from __future__ import annotations

from typing import Any, Optional, Sequence

import pytest

from plumbline.judge.floor import host_below, least_rate
from plumbline.judge.measured import measured
from plumbline.model.expectation import Expectation
from plumbline.model.limits import Ceiling, Limits, Reference
from plumbline.model.record import Operation, Scenario
from plumbline.model.series import Sample, Series
from plumbline.model.verdict import Reason, State, Verdict
from tests.package.judge.test_floor import FLOOR, recorded
from tests.package.judgements import (
    BASELINE,
    DAY_S,
    NOW,
    evidence,
    expectation,
    host_expectation,
    judge,
    judge_file_system,
    judge_group,
    judge_host,
    sent,
    snapshot,
)

STEPS = (Operation.WRITE, Operation.READ)


def ceiling(number: int, rate: float = 250e6) -> Ceiling:
    return Ceiling(rate, (f"disk{number}",), ("disk",))


class Group:
    """Targets of one file system with one rate each, in every night and both directions."""

    def __init__(
        self,
        rates: Sequence[float],
        ceilings: Optional[Sequence[Ceiling]] = None,
        nights: int = 5,
        steps: Sequence[Operation] = STEPS,
        limits: Limits = FLOOR,
        **reference: Any,
    ) -> None:
        """Create members and their series."""
        ceilings_ = ceilings or [ceiling(number) for number in range(len(rates))]
        self.members = [
            expectation(
                component=f"OST{number}",
                limits=limits,
                references={
                    f"{step.value}/single": Reference(ceilings_[number], None)._replace(**reference)
                    for step in STEPS
                },
            )
            for number in range(len(rates))
        ]
        self.series = [
            recorded([rate] * nights, _peers_rate(rates, number), component=name, operation=step)
            if step in steps
            else recorded([240e6] * nights, 240e6, component=name, operation=step)
            for number, rate in enumerate(rates)
            for step in STEPS
            for name in [f"OST{number}"]
        ]

    def group(self) -> Verdict:
        memory = snapshot(*self.series)
        return judge_group(self.members, memory, NOW, memory)

    def alone(self) -> list[Reason]:
        memory = snapshot(*self.series)
        return [
            judge(member, memory.of("ost", member.component), (), NOW).reason
            for member in self.members
        ]


def _peers_rate(rates: Sequence[float], number: int) -> Optional[float]:
    others = sorted([*rates[:number], *rates[number + 1 :]])
    return others[len(others) // 2] if others else None


def test_a_group_below_its_floor_is_one_warning_with_both_directions() -> None:
    low = Group([62.5e6] * 8)
    verdict = low.group()
    assert (verdict.state, verdict.reason) == (State.WARNING, Reason.BELOW_FLOOR)
    assert verdict.sentence == (
        "file system scratch write: best of 5 nights 25 % of the ceiling 250.0 MB/s (limited by "
        "disk), median of 8, floor 50 %: since 2024-09-29; read: best of 5 nights 25 % of the "
        "ceiling 250.0 MB/s (limited by disk), median of 8, floor 50 %: since 2024-09-29"
    )
    assert low.alone() == [Reason.FINE] * 8
    assert any("--below-floor" in line for line in verdict.evidence)


def test_four_nights_are_too_few() -> None:
    verdict = Group([62.5e6] * 8, nights=4).group()
    assert (verdict.state, verdict.reason) == (State.UNKNOWN, Reason.TOO_FEW_MEMBERS)


def test_a_direction_at_its_floor_is_not_named_and_hides_nothing() -> None:
    verdict = Group([62.5e6] * 8, steps=[Operation.READ]).group()
    assert (verdict.state, verdict.reason) == (State.WARNING, Reason.BELOW_FLOOR)
    assert verdict.sentence.startswith("file system scratch read: best of 5 nights 25 %")
    assert "write" not in verdict.sentence


def test_one_part_that_limits_all_is_named() -> None:
    shared = Ceiling(250e6, ("san1",), ("switch",))
    assert "(limited by switch san1)" in Group([60e6] * 3, [shared] * 3).group().sentence


@pytest.mark.parametrize(
    ("low", "group", "alone"),
    [
        (1, Reason.TOO_FEW_MEMBERS, 1),
        (3, Reason.TOO_FEW_MEMBERS, 3),
        (4, Reason.BELOW_FLOOR, 0),
        (6, Reason.BELOW_FLOOR, 0),
    ],
)
def test_every_member_below_its_floor_alarms_once_alone_or_by_its_group(
    low: int, group: Reason, alone: int
) -> None:
    # so near to the floor that no rule on losses applies
    targets = Group([115e6] * low + [140e6] * (6 - low))
    assert targets.group().reason is group
    assert targets.alone().count(Reason.BELOW_FLOOR) == alone


def test_each_kind_of_hardware_has_its_own_floor() -> None:
    """Three fast targets at 32 % of their ceiling among five slow ones at 96 % of theirs."""
    rates = [288e6] * 3 + [240e6] * 5
    kinds = [ceiling(number, 900e6) for number in range(3)] + [ceiling(9, 250e6)] * 5
    targets = Group(rates, kinds)
    verdict = targets.group()
    assert (verdict.reason, targets.alone()) == (Reason.BELOW_FLOOR, [Reason.FINE] * 8)
    assert "32 % of the ceiling 900.0 MB/s (limited by disk), median of 3 of 8" in verdict.sentence


def test_members_without_samples_do_not_count() -> None:
    low = Group([60e6] * 6)
    low.series = low.series[:6]
    verdict = low.group()
    assert verdict.reason is Reason.BELOW_FLOOR
    assert "median of 3 of 6" in verdict.sentence


def test_members_with_too_few_nights_do_not_delay_the_alarm_of_the_others() -> None:
    low = Group([60e6] * 6)
    for number in range(8):
        run = low.series[number]
        contended = run.samples[2]._replace(coverage=0.4)
        low.series[number] = run._replace(samples=(*run.samples[:2], contended, *run.samples[3:]))
    verdict = low.group()
    assert verdict.reason is Reason.BELOW_FLOOR
    assert "median of 2 of 6" in verdict.sentence
    # it still needs most of the members with enough nights
    mixed = Group([115e6] * 3 + [140e6] * 3)
    assert mixed.group().reason is Reason.TOO_FEW_MEMBERS


def test_an_alarm_by_evidence_takes_precedence() -> None:
    low = Group([60e6] * 8, baseline=BASELINE._replace(median=150e6))
    memory = snapshot(*low.series)._replace(
        groups={"ost/scratch": evidence(what="write")._asdict()}
    )
    verdict = judge_group(low.members, memory, NOW, memory)
    assert (verdict.state, verdict.reason) == (State.CRITICAL, Reason.SLOW)
    assert verdict.sentence.startswith("group scratch write 40 % of its baseline over 3 runs")


def test_a_group_accepted_below_its_floor_is_silent() -> None:
    baseline = BASELINE._replace(median=60e6, below_floor="24 % of the ceiling")
    verdict = Group([60e6] * 8, baseline=baseline).group()
    assert (verdict.state, verdict.reason) == (State.OK, Reason.FINE)


@pytest.mark.parametrize(
    ("rate", "reason"),
    [(149e6, Reason.BELOW_GOAL), (150e6, Reason.FINE), (151e6, Reason.FINE)],
)
def test_the_sum_of_a_group_is_compared_with_its_goal(rate: float, reason: Reason) -> None:
    baseline = BASELINE._replace(median=rate)
    targets = Group([rate] * 4, limits=Limits(), goal_part=150e6, baseline=baseline)
    assert (targets.group().reason, targets.alone()) == (reason, [Reason.FINE] * 4)


def test_the_sentence_of_a_goal_shows_the_sum() -> None:
    """Red Storm: 320 targets of 154 MB/s give less than 50 GB/s."""
    targets = Group([154e6] * 4, limits=Limits(), goal_part=156.25e6)
    verdict = targets.group()
    assert (verdict.state, verdict.reason) == (State.WARNING, Reason.BELOW_GOAL)
    assert verdict.sentence.startswith(
        "file system scratch write: best of 5 nights 616.0 MB/s, 98.6 % of the goal 625.0 MB/s in "
        "sum of 4: since 2024-09-29; read: "
    )


@pytest.mark.parametrize(("nights", "earlier"), [(29, False), (30, True)])
def test_a_goal_missed_in_all_samples_may_be_missed_for_longer(nights: int, earlier: bool) -> None:
    targets = Group([154e6] * 4, nights=nights, limits=Limits(), goal_part=156.25e6)
    assert targets.group().sentence.endswith(" or earlier") is earlier


def test_a_goal_is_not_judged_while_a_member_is_missing() -> None:
    targets = Group([100e6] * 4, limits=Limits(), goal_part=150e6)
    targets.series = targets.series[:-2]
    assert targets.group().reason is Reason.TOO_FEW_MEMBERS


def test_members_accepted_below_their_part_silence_the_goal() -> None:
    baseline = BASELINE._replace(median=100e6, below_floor="67 % of its part of the goal")
    targets = Group([100e6] * 4, limits=Limits(), goal_part=150e6, baseline=baseline)
    assert targets.group().reason is Reason.FINE


def sent_to(partner: str, rate: float, nights: Sequence[int]) -> Series:
    """Return tests with a partner some nights ago, the latest first."""
    samples = [Sample(NOW - 3610 - ago * DAY_S, rate, None, None, 0, partner) for ago in nights]
    started_at = samples[0].started_at
    latest = sent(partner, rate, started_at=started_at, finished_at=started_at + 10)
    return Series(latest.latest, tuple(samples))


def host(*tests: Series, baseline: bool = False) -> Verdict:
    names = [test.latest.partner or "" for test in tests]
    limits = FLOOR._replace(stale_after_s=30 * DAY_S)
    baseline_ = BASELINE._replace(median=50e6) if baseline else None
    entry: Expectation = host_expectation(
        *names, limits=limits, references={"send/single": Reference(None, baseline_)}
    )
    return judge_host(entry, tests, (), NOW)


def test_a_host_is_below_its_floor_if_it_is_with_all_partners() -> None:
    verdict = host(sent_to("a", 50e6, (0, 3)), sent_to("b", 48e6, (1,)), sent_to("c", 40e6, (2, 4)))
    assert (verdict.state, verdict.reason) == (State.WARNING, Reason.BELOW_FLOOR)
    assert verdict.sentence == (
        "oss3 send: best of 5 nights 42.4 % of the ceiling 118.0 MB/s (limited by nic oss3-link), "
        "floor 50 %: since 2024-09-29; with each of 3 partners"
    )


def test_one_partner_at_the_floor_or_four_nights_clear_a_host() -> None:
    low = sent_to("a", 50e6, (0, 1, 2, 3, 4))
    assert host(low, sent_to("b", 59e6, (2,))).reason is not Reason.BELOW_FLOOR
    assert host(low, sent_to("b", 58.9e6, (2,))).reason is Reason.BELOW_FLOOR
    assert host(sent_to("a", 50e6, (0, 1, 2, 3))).reason is not Reason.BELOW_FLOOR


def whole(rates: float, goal: Optional[float] = None, nights: int = 5) -> Verdict:
    own = Reference(Ceiling(2e9, ("nic1",), ("nic",)), None, goal=goal)
    entry = expectation(
        layer="fs",
        component="scratch",
        group="",
        target={"kind": "parallel"},
        references={"write/together": own, "read/together": own},
        limits=FLOOR._replace(stale_after_s=30 * DAY_S),
    )
    terms: dict[str, Any] = {
        "layer": "fs",
        "component": "scratch",
        "scenario": Scenario.TOGETHER,
        "spec_hash": entry.spec.hash(),
    }
    write = recorded([rates] * nights, operation=Operation.WRITE, **terms)
    read = recorded([1.8e9] * nights, operation=Operation.READ, **terms)
    return judge_file_system([entry], "scratch", snapshot(write, read), NOW)


def test_all_targets_at_once_have_a_floor_without_a_baseline() -> None:
    verdict = whole(800e6)
    assert (verdict.state, verdict.reason) == (State.WARNING, Reason.BELOW_FLOOR)
    assert verdict.sentence == (
        "file system scratch write together: best of 5 nights 40 % of the ceiling 2000.0 MB/s "
        "(limited by nic nic1), floor 50 %: since 2024-09-29"
    )
    verdict = whole(800e6, 1.9e9)
    assert verdict.sentence == (
        "file system scratch write together: best of 5 nights 800.0 MB/s, 42.1 % of the goal "
        "1900.0 MB/s, ceiling 2000.0 MB/s (limited by nic nic1): since 2024-09-29; read together: "
        "best of 5 nights 1800.0 MB/s, 94.7 % of the goal 1900.0 MB/s, ceiling 2000.0 MB/s "
        "(limited by nic nic1): since 2024-09-29"
    )
    assert whole(1e9).reason is Reason.NO_REFERENCE


def test_all_targets_at_once_are_compared_with_the_goal() -> None:
    assert whole(1.1e9, 1.2e9).reason is Reason.BELOW_GOAL
    assert whole(1.2e9, 1.2e9).reason is Reason.NO_REFERENCE
    assert whole(1.1e9, 1.2e9, nights=4).reason is Reason.NO_REFERENCE


@pytest.mark.parametrize(
    ("fast_MBps", "reason"),
    [
        ([288, 500], Reason.TOO_FEW_MEMBERS),
        ([288, 288, 500], Reason.BELOW_FLOOR),
        ([288, 288, 500, 500], Reason.TOO_FEW_MEMBERS),
    ],
)
def test_an_alarm_needs_most_members_of_a_kind(fast_MBps: list[float], reason: Reason) -> None:
    rates = [1e6 * rate for rate in fast_MBps] + [240e6] * 7
    kinds = [ceiling(number, 900e6) for number, _ in enumerate(fast_MBps)] + [ceiling(9)] * 7
    assert Group(rates, kinds).group().reason is reason


def test_members_with_their_own_alarm_do_not_count_for_the_group() -> None:
    targets = Group([115e6] * 3 + [140e6] * 2)
    assert targets.alone().count(Reason.BELOW_FLOOR) == 3
    assert targets.group().reason is Reason.TOO_FEW_MEMBERS


@pytest.mark.parametrize(
    ("rates_MB", "percent"),
    [((50, 60), 24), ((50, 55, 60), 22), ((50, 55, 60, 65), 24), ((50, 55, 60, 65, 70), 24)],
)
def test_a_group_below_its_floor_shows_its_upper_median(
    rates_MB: tuple[int, ...], percent: int
) -> None:
    low = Group([1e6 * rate for rate in rates_MB])
    assert f"best of 5 nights {percent} % of the ceiling" in low.group().sentence


def test_a_group_is_dated_by_its_first_member_and_shows_its_median() -> None:
    low = Group([50e6, 60e6, 100e6], steps=[Operation.READ])
    low.series[1] = recorded([50e6] * 30, 60e6, component="OST0")
    sentence = low.group().sentence
    assert "24 % of the ceiling" in sentence
    assert sentence.endswith("median of 3, floor 50 %: since 2024-09-04 or earlier")
    low.series[1] = recorded([50e6] * 29, 60e6, component="OST0")
    assert low.group().sentence.endswith(": since 2024-09-05")


def test_a_night_with_a_contended_member_does_not_count_for_the_goal() -> None:
    """Four full nights below the goal, and one with a contended member."""
    targets = Group([150e6] * 2, nights=6, limits=Limits(), goal_part=160e6)
    for number in (2, 3):
        run = targets.series[number]
        samples = [sample._replace(rate=150e6) for sample in run.samples]
        samples[2] = samples[2]._replace(coverage=0.3)
        best = samples[5]._replace(rate=240e6)
        targets.series[number] = run._replace(samples=(*samples[:5], best))
    assert targets.group().reason is Reason.TOO_FEW_MEMBERS


def test_the_sum_of_a_night_across_midnight_meets_the_goal() -> None:
    """One target is measured at 23:54 UTC, the other two hours later; one night is good."""
    targets = Group([100e6] * 2, nights=7, limits=Limits(), goal_part=180e6)
    first, second = (0, {3: 250e6}), (-22 * 3600, {2: 150e6})
    for number, (late_s, good) in enumerate((first, first, second, second)):
        run = targets.series[number]
        samples = [
            sample._replace(started_at=sample.started_at + late_s, rate=good.get(night, 100e6))
            for night, sample in enumerate(run.samples)
        ]
        latest = run.latest._replace(started_at=samples[0].started_at)
        targets.series[number] = run._replace(samples=tuple(samples), latest=latest)
    assert targets.group().reason is Reason.TOO_FEW_MEMBERS


def test_a_host_accepted_below_its_floor_is_silent_until_it_loses_more() -> None:
    def judged(rate: float) -> Reason:
        baseline = BASELINE._replace(median=50e6, below_floor="42 %", spec_hash="older")
        first = sent_to("a", rate, (0, 1, 2, 3, 4))
        second = sent_to("b", rate - 9e6, (0, 1))
        limits = FLOOR._replace(stale_after_s=30 * DAY_S)
        references = {"send/single": Reference(None, baseline)}
        entry = host_expectation("a", "b", limits=limits, references=references)
        return judge_host(entry, (first, second), (), NOW).reason

    assert judged(45.1e6) is Reason.NO_REFERENCE
    assert judged(44.9e6) is Reason.BELOW_FLOOR


def test_a_single_pair_has_no_floor() -> None:
    """Locating judges each pair, and one end may be slow."""
    run = measured(sent_to("a", 5e6, range(9)), Reference(ceiling(1, 118e6), None), FLOOR)
    assert least_rate(run) is None
    assert host_below([run]) is not None


@pytest.mark.parametrize(
    ("rate", "state", "reason"),
    [
        (50e6, State.WARNING, Reason.BELOW_FLOOR),
        # a loss against its baseline comes first
        (20e6, State.CRITICAL, Reason.BELOW_LEVEL),
        (59e6, State.OK, Reason.FINE),
    ],
)
def test_a_host_at_its_baseline_may_be_below_its_floor(
    rate: float, state: State, reason: Reason
) -> None:
    verdict = host(sent_to("a", rate, (0, 1, 2, 3, 4)), baseline=True)
    assert (verdict.state, verdict.reason) == (state, reason)


@pytest.mark.parametrize(
    ("members", "words"),
    [
        (1, "the goal 156.2 MB/s, ceiling 250.0 MB/s (limited by disk disk0): since"),
        (2, "the goal 312.5 MB/s in sum of 2: since"),
        (3, "the goal 468.8 MB/s in sum of 3: since"),
    ],
)
def test_the_goal_of_a_single_member_shows_the_ceiling(members: int, words: str) -> None:
    targets = Group([154e6] * members, limits=Limits(), goal_part=156.25e6)
    assert words in targets.group().sentence


@pytest.mark.parametrize(
    ("best", "reason"),
    [(149.9e6, Reason.BELOW_GOAL), (150e6, Reason.FINE), (150.1e6, Reason.FINE)],
)
def test_members_that_each_reached_their_part_in_some_night_meet_the_goal(
    best: float, reason: Reason
) -> None:
    baseline = BASELINE._replace(median=best)
    targets = Group([100e6] * 2, limits=Limits(), goal_part=150e6, baseline=baseline)
    turns = [best, 100e6, best, 100e6, best], [140e6, best, 99e6, 140e6, 99e6]
    targets.series = [
        recorded(turns[number], component=f"OST{number}", operation=step)
        for number in range(2)
        for step in STEPS
    ]
    assert targets.group().reason is reason


def test_a_host_with_unequal_partners_is_shown_in_percent_of_one_ceiling() -> None:
    """The best share of any floor, 50 of 59 MB/s, as a share of one partner's ceiling."""
    entry = host_expectation(
        "a", "b", limits=FLOOR, references={"send/single": Reference(None, None)}
    )
    first, second = entry.partners
    fast = first._replace(ceiling=Ceiling(236e6, ("fast",), ("nic",)))
    nights = (0, 1, 2, 3, 4)
    tests = (sent_to("a", 40e6, nights), sent_to("b", 50e6, nights))
    verdict = judge_host(entry._replace(partners=(fast, second)), tests, (), NOW)
    assert "42.4 % of the ceiling 236.0 MB/s (limited by nic)" in verdict.sentence
