"""Confirmation: which components are measured again, with which controls, how often."""

from __future__ import annotations

from typing import Any, Mapping, Optional

import pytest

from plumbline.judge.confirm import (
    Layer,
    PastRuns,
    find_candidates,
    places,
    remaining_bytes,
    turns,
)
from plumbline.model.evidence import CONFIRMED_ODDS, Evidence, Subject
from plumbline.model.expectation import OFF, Confirm, Expectation, Measured
from plumbline.model.limits import Limits
from plumbline.model.spec import ProbeSpec
from plumbline.model.verdict import Reason, State, Verdict
from tests.package.judgements import REFERENCE, evidence, expectation

HOUR_S = 3600.0
DAY_S = 86400.0
NOW = 20_000 * DAY_S
PLANNED = NOW - 3 * HOUR_S
SIZE = 100
EACH = 2 * SIZE
"""Bytes of one run of a component: write and read."""

TERMS = Confirm(runs=3, every_s=HOUR_S, daily_bytes=float(EACH), most_bytes=20.0 * EACH)


class Site:
    """A layer in which all is fine except the given components."""

    def __init__(self, *entries: Expectation, layer: str = "ost") -> None:
        self.entries = entries
        self.layer = layer
        self.suspected: dict[str, float] = {}
        self._evidence: dict[str, Evidence] = {}
        self._verdicts: dict[str, Verdict] = {}

    def report(
        self, name: str, reason: Reason = Reason.WATCHED, percent: float = 60.0, **changes: Any
    ) -> Site:
        values = {"odds": 5.0, "alarm": False, **changes}
        self._evidence[name] = evidence(**values)
        self._verdicts[name] = Verdict(
            self.layer, name, State.OK, reason, f"{name} is low", ratio_baseline=percent / 100
        )
        return self

    def evidence(self, subject: Subject) -> Optional[Evidence]:
        return self._evidence.get(subject[1])

    def verdict(self, entry: Expectation) -> Verdict:
        fine = Verdict(self.layer, entry.component, State.OK, Reason.FINE, "fine")
        return self._verdicts.get(entry.component, fine)

    @property
    def state(self) -> Layer:
        return Layer(self.entries, self.verdict, self, self.suspected)

    def candidates(self) -> list[str]:
        return [item.entry.component for item in find_candidates(self.state) if not item.obstacle]

    def obstacles(self) -> dict[str, str]:
        return {
            item.entry.component: item.obstacle
            for item in find_candidates(self.state)
            if item.obstacle
        }


def target(name: str, **changes: Any) -> Expectation:
    values = {
        "component": name,
        "host": f"oss-{name}",
        "spec": ProbeSpec("fio", SIZE, 60.0, repeats=1),
        "confirm": TERMS,
    }
    return expectation(**{**values, **changes})


def site(count: int = 8, **changes: Any) -> Site:
    return Site(*(target(chr(ord("a") + number), **changes) for number in range(count)))


def done(name: str, at: float, **changes: Any) -> Measured:
    values = {"bytes": EACH, "control": False, **changes}
    return Measured("confirm", at, "ost", name, **values)


def past(*measured: Measured, planned: Mapping[str, float] = {}) -> PastRuns:
    return PastRuns(measured, {**dict.fromkeys("abcdefgh", PLANNED), **planned})


def due(layer: Site, before: PastRuns, now: float = NOW) -> list[tuple[list[str], list[str]]]:
    planned = turns(layer.state, places(find_candidates(layer.state), before, now), before, now)
    return [
        (
            [entry.component for entry in turn.targets],
            [control.component for control in turn.controls],
        )
        for turn in planned
    ]


@pytest.mark.parametrize(
    ("changes", "measured_again"),
    [
        # odds of 10 to 1 are worth a run, a logarithm of 2.3
        ({"odds": 2.3}, True),
        ({"odds": 2.29}, False),
        # a good last run is not repeated; 10 % is the smallest loss looked for
        ({"odds": 5.0, "percent": 89.9}, True),
        ({"odds": 5.0, "percent": 90.0}, False),
        # a gross loss is measured again though one run is no evidence; critical is below 50 %
        ({"odds": 0.0, "percent": 49.9}, True),
        ({"odds": 0.0, "percent": 50.0}, False),
        ({"odds": 0.0, "percent": 49.9, "low": 1}, True),
        # an alarm needs runs to end; a component without a rate has another problem
        ({"alarm": True, "odds": 20.0, "reason": Reason.SLOW}, True),
        ({"alarm": True, "odds": 20.0, "reason": Reason.CONTENDED}, True),
        ({"alarm": True, "odds": 20.0, "reason": Reason.BROKEN}, False),
        ({"alarm": True, "odds": 20.0, "reason": Reason.SLOW, "shared": True}, False),
        ({"shared": True}, False),
        ({"reason": Reason.SHARED_LOSS, "percent": 10.0}, False),
        ({"reason": Reason.KNOWN_STATE, "percent": 10.0}, False),
        ({"reason": Reason.SKIPPED, "percent": 10.0}, False),
        ({"reason": Reason.FINE, "odds": 5.0}, False),
        # a contended run neither begins nor ends it
        ({"reason": Reason.CONTENDED, "odds": 0.0, "percent": 10.0}, False),
        ({"reason": Reason.CONTENDED, "odds": 3.0}, True),
    ],
)
def test_an_undecided_component_is_measured_again(
    changes: dict[str, Any], measured_again: bool
) -> None:
    assert site().report("c", **changes).candidates() == (["c"] if measured_again else [])


def test_without_confirmation_nothing_is_measured_again() -> None:
    assert site(confirm=OFF).report("c").candidates() == []


def test_the_likeliest_loss_comes_first() -> None:
    layer = site().report("c", odds=3.5).report("a", odds=3.1).report("h", odds=8.0)
    assert layer.candidates() == ["h", "c", "a"]


@pytest.mark.parametrize(
    ("size", "low", "measured_again"),
    [(8, "abcd", True), (8, "abcde", False), (4, "ab", True), (3, "ab", False)],
)
def test_a_loss_of_more_than_half_of_a_group_is_not_confirmed(
    size: int, low: str, measured_again: bool
) -> None:
    layer = site(size)
    for name in low:
        layer.report(name)
    assert bool(layer.candidates()) is measured_again
    assert bool(due(layer, past())) is measured_again
    obstacle = f"{len(low)} of {size} of its group are in question: a loss that all share"
    assert layer.obstacles() == ({} if measured_again else dict.fromkeys(low, obstacle))


def test_the_controls_are_two_healthy_peers_on_other_servers_in_turn() -> None:
    members = [target(name) for name in "abcdef"]
    members[1] = members[1]._replace(host="oss-a")
    members[2] = members[2]._replace(group="home")
    layer = Site(*members).report("a").report("d", reason=Reason.FAILED, odds=0.0)
    assert due(layer, past()) == [(["a"], ["e", "f"])]
    control_before = past(done("e", NOW - 5 * HOUR_S, control=True))
    assert due(layer, control_before) == [(["a"], ["f", "e"])]
    layer.report("f", reason=Reason.FINE, odds=3.0)
    assert due(layer, past()) == [(["a"], ["e", "b"])]


def test_a_target_without_healthy_peers_is_measured_alone() -> None:
    layer = Site(*map(target, "abcde")).report("a")
    for name in "bcde":
        layer.report(name, reason=Reason.FAILED, odds=0.0)
    assert due(layer, past()) == [(["a"], [])]


@pytest.mark.parametrize(
    ("names", "controls"), [("a", []), ("ab", ["b"]), ("abcd", ["b", "c"]), ("abcde", ["b", "c"])]
)
def test_a_component_with_few_peers_is_measured_again_with_those(
    names: str, controls: list[str]
) -> None:
    layer = Site(*map(target, names)).report("a")
    assert due(layer, past()) == [(["a"], controls)]


@pytest.mark.parametrize(
    ("names", "hours", "waits"),
    [("abcd", 2.6, True), ("abcd", 2.8, False), ("abcde", 0.8, True), ("abcde", 1.0, False)],
)
def test_with_few_peers_the_runs_are_spread_over_hours_so_that_a_busy_one_passes(
    names: str, hours: float, waits: bool
) -> None:
    layer = Site(*map(target, names)).report("a")
    before = past(done("a", NOW - hours * HOUR_S))
    (place,) = places(find_candidates(layer.state), before, NOW)
    assert bool(place.obstacle) is waits


def test_a_component_whose_runs_were_all_gross_is_measured_again() -> None:
    layer = site().report("a", reason=Reason.SLOW, percent=20.0)
    assert due(layer, past()) == [(["a"], ["b", "c"])]


def test_members_that_are_only_suspected_may_be_controls() -> None:
    layer = suspecting(*"abdefgh").report("c")
    assert due(layer, past()) == [(["c"], ["a", "b"])]


SLOW: dict[str, Any] = {"reason": Reason.SLOW, "alarm": True, "odds": 20.0}


@pytest.mark.parametrize(
    ("planned_h", "confirmed_h", "is_due"),
    [(24 * 6, None, True), (21, None, False), (24 * 6, 21, False), (24 * 6, 21.6, True)],
)
def test_an_alarm_is_measured_again_once_a_day(
    planned_h: float, confirmed_h: Optional[float], is_due: bool
) -> None:
    terms = TERMS._replace(daily_bytes=20.0 * EACH)
    measured = [] if confirmed_h is None else [done("c", NOW - confirmed_h * HOUR_S)]
    before = past(*measured, planned={"c": NOW - planned_h * HOUR_S})
    layer = site(confirm=terms, limits=Limits(stale_after_s=15 * DAY_S)).report("c", **SLOW)
    assert due(layer, before) == ([(["c"], ["a", "b"])] if is_due else [])


@pytest.mark.parametrize(
    ("low", "most", "expected"),
    [("b", 12, [["b"], ["a"]]), ("b", 11, [["b"]]), ("", 6, [["a"]]), ("", 5, [])],
)
def test_alarms_come_last_and_leave_half_of_the_bytes(
    low: str, most: int, expected: list[list[str]]
) -> None:
    terms = TERMS._replace(most_bytes=float(most * EACH))
    layer = site(confirm=terms, limits=Limits(stale_after_s=15 * DAY_S)).report("a", **SLOW)
    for name in low:
        layer.report(name, odds=CONFIRMED_ODDS)
    before = past(planned=dict.fromkeys("abcdefgh", NOW - 6 * DAY_S))
    assert [targets for targets, _ in due(layer, before)] == expected


def test_alarms_do_not_keep_other_members_from_confirmation() -> None:
    layer = site().report("h")
    for name in "abcd":
        layer.report(name, **SLOW)
    assert layer.candidates()[0] == "h"


def test_no_run_has_more_suspects_than_controls() -> None:
    layer = site()
    for name in "abc":
        layer.report(name)
    assert [len(targets) for targets, _ in due(layer, past())] == [2, 1]


@pytest.mark.parametrize(
    ("ago_s", "is_due"),
    [(0.9 * HOUR_S, True), (0.9 * HOUR_S - 1, False), (0.0, False)],
)
def test_two_runs_of_one_target_keep_a_minimum_distance(ago_s: float, is_due: bool) -> None:
    assert bool(due(site().report("a"), past(done("a", NOW - ago_s)))) is is_due
    just_planned = past(planned={"a": NOW - ago_s})
    assert bool(due(site().report("a"), just_planned)) is is_due


@pytest.mark.parametrize(("runs", "is_due"), [(2, True), (3, False)])
def test_after_the_last_confirmation_the_next_planned_run_decides(runs: int, is_due: bool) -> None:
    measured = [done("a", PLANNED + 1 + number) for number in range(runs)]
    assert bool(due(site().report("a"), past(*measured))) is is_due
    decided = past(*measured, planned={"a": PLANNED + 60})
    assert due(site().report("a"), decided)


def test_runs_as_a_control_do_not_count() -> None:
    measured = [done("a", PLANNED + 1 + number, control=True) for number in range(9)]
    assert due(site().report("a"), past(*measured))


@pytest.mark.parametrize(("age_s", "is_due"), [(129600.0, True), (129601.0, False)])
def test_a_component_without_a_recent_planned_run_is_left_alone(age_s: float, is_due: bool) -> None:
    assert bool(due(site().report("a"), past(planned={"a": NOW - age_s}))) is is_due


@pytest.mark.parametrize(
    ("most", "expected"),
    [
        (3 * EACH - 1, []),
        (3 * EACH, [["a"]]),
        (4 * EACH - 1, [["a"]]),
        (4 * EACH, [["a", "b"]]),
        # half of the bytes waits for components that are low again
        (14 * EACH - 1, [["a", "b"]]),
        (14 * EACH, [["a", "b"], ["c"]]),
    ],
)
def test_confirmation_keeps_to_its_bytes(most: float, expected: list[list[str]]) -> None:
    layer = site(confirm=TERMS._replace(most_bytes=float(most)))
    for name, odds in zip("abc", (9.0, 8.0, 7.0)):
        layer.report(name, odds=odds)
    assert [targets for targets, _ in due(layer, past())] == expected


@pytest.mark.parametrize(
    ("spent", "expected"),
    [
        (0, [["a"], ["b"]]),
        (1, [["a"]]),
        (13 * EACH, [["a"]]),
        (13 * EACH + 1, []),
    ],
)
def test_saved_bytes_are_for_components_with_high_odds(
    spent: int, expected: list[list[str]]
) -> None:
    """A low run with lower odds has the share of one day only."""
    # a day's share pays for both, the saved bytes for three more
    layer = site(confirm=TERMS._replace(daily_bytes=6.0 * EACH, most_bytes=16.0 * EACH))
    layer.report("a", odds=CONFIRMED_ODDS).report("b", percent=30.0, odds=CONFIRMED_ODDS - 0.1)
    assert [targets for targets, _ in due(layer, past(done("c", NOW, bytes=spent)))] == expected


def test_spent_bytes_come_back_day_by_day_up_to_the_limit() -> None:
    entry = target("a", confirm=TERMS._replace(daily_bytes=10.0, most_bytes=100.0))
    spent = [done("a", NOW, bytes=80)]
    assert remaining_bytes(entry, [], NOW) == 100.0
    assert remaining_bytes(entry, spent, NOW) == 20.0
    assert remaining_bytes(entry, spent, NOW + DAY_S) == pytest.approx(30.0)
    assert remaining_bytes(entry, spent, NOW + 30 * DAY_S) == 100.0
    # a clock that was stepped back changes nothing
    assert remaining_bytes(entry, spent, NOW - DAY_S) == 20.0


def device(name: str) -> Expectation:
    references = {"read/single": REFERENCE, "read/together": REFERENCE}
    return target(name, layer="raw", group="oss1", references=references)


def test_a_part_of_the_devices_is_read_one_by_one() -> None:
    layer = Site(*map(device, "abcdef"), layer="raw").report("a")
    before = past()
    (turn,) = turns(layer.state, places(find_candidates(layer.state), before, NOW), before, NOW)
    assert {len(entry.references) for entry in turn.steps} == {1}
    runs = turn.entries("run", NOW)
    assert sum(run.bytes for run in runs) == 3 * SIZE
    assert {run.component for run in runs if not run.control} == {"a"}


@pytest.mark.parametrize(("after_s", "remaining"), [(-5.0, 60.0), (0.0, 60.0), (5.0, 65.0)])
def test_bytes_come_back_by_the_second(after_s: float, remaining: float) -> None:
    """A clock that was stepped back changes nothing."""
    entry = target("a", confirm=TERMS._replace(daily_bytes=DAY_S, most_bytes=100.0))
    both = [done("a", NOW, bytes=20), done("b", NOW + after_s, bytes=20)]
    assert remaining_bytes(entry, both, NOW + after_s) == remaining


@pytest.mark.parametrize(("after_s", "is_due"), [(-1.0, True), (0.0, True), (1.0, False)])
def test_only_runs_after_the_last_planned_one_count(after_s: float, is_due: bool) -> None:
    measured = [done("a", PLANNED + after_s) for _ in range(3)]
    assert bool(due(site().report("a"), past(*measured))) is is_due


@pytest.mark.parametrize(("ago_h", "is_due"), [(24.0, True), (23.9, False)])
def test_with_rare_planned_runs_each_day_has_its_own_runs(ago_h: float, is_due: bool) -> None:
    """The runs of a busy day do not postpone confirmation to next week's planned run."""
    terms = TERMS._replace(daily_bytes=20.0 * EACH)
    limits = Limits(stale_after_s=15 * DAY_S)
    measured = [done("c", NOW - ago_h * HOUR_S) for _ in range(3)]
    before = past(*measured, planned={"c": NOW - 6 * DAY_S})
    assert bool(due(site(confirm=terms, limits=limits).report("c"), before)) is is_due
    assert bool(due(suspecting("c", confirm=terms, limits=limits), before)) is is_due


def test_the_obstacle_names_the_time_since_the_last_run() -> None:
    candidates = find_candidates(site().report("a").state)
    (place,) = places(candidates, past(done("a", NOW - 50 * 60.0)), NOW)
    assert place.obstacle == "measured 50 min ago"


@pytest.mark.parametrize(("together", "steps"), [("ab", 2), ("abc", 2), ("abcd", 1)])
def test_devices_are_read_together_if_all_that_run_together_are_chosen(
    together: str, steps: int
) -> None:
    alone = {"read/single": REFERENCE}
    members = [
        device(name) if name in together else device(name)._replace(references=alone)
        for name in "abcdef"
    ]
    layer = Site(*members, layer="raw").report("a")
    (turn,) = turns(layer.state, places(find_candidates(layer.state), past(), NOW), past(), NOW)
    assert sorted(entry.component for entry in turn.chosen) == ["a", "b", "c"]
    (first,) = [entry for entry in turn.steps if entry.component == "a"]
    assert len(first.references) == steps
    (planned,) = [run for run in turn.entries("run", NOW) if run.component == "a"]
    assert planned.bytes == steps * SIZE


def suspecting(*names: str, **changes: Any) -> Site:
    layer = site(**changes)
    layer.suspected = dict.fromkeys(names, PLANNED)
    return layer


def test_latency_suspects_come_after_low_components() -> None:
    layer = suspecting("a", "nobody").report("c")
    assert layer.candidates() == ["c", "a"]
    assert due(layer, past()) == [(["c"], ["b", "d"]), (["a"], ["b", "d"])]


def test_the_likeliest_suspect_comes_first() -> None:
    layer = suspecting(*"abc").report("b", reason=Reason.FINE, odds=0.0)
    assert layer.report("c", reason=Reason.FINE, odds=0.5).candidates() == ["c", "a", "b"]


@pytest.mark.parametrize(
    "changes",
    [
        {"alarm": True},
        {"shared": True},
        {"reason": Reason.KNOWN_STATE},
        {"reason": Reason.SKIPPED},
        {"reason": Reason.NEVER_MEASURED},
    ],
)
def test_a_suspect_without_valid_evidence_is_not_measured_again(changes: dict[str, Any]) -> None:
    assert suspecting("c").report("c", **{"odds": 0.0, **changes}).candidates() == []


def test_suspicions_of_many_components_displace_nobody() -> None:
    assert suspecting(*"abdef").report("c").candidates() == ["c"]
    assert suspecting("c", confirm=OFF).candidates() == []


@pytest.mark.parametrize(
    ("hours", "waits"), [(2.0, True), (21.5, True), (21.6, False), (30.0, False)]
)
def test_a_suspect_is_confirmed_once_a_day(hours: float, waits: bool) -> None:
    before = past(done("c", NOW - hours * HOUR_S))
    assert (due(suspecting("c"), before) == []) is waits


def test_suspicions_leave_half_of_the_saved_bytes() -> None:
    terms = TERMS._replace(most_bytes=6.0 * EACH, daily_bytes=0.0)
    layer = suspecting("c", confirm=terms)
    assert due(layer, past()) == [(["c"], ["a", "b"])]
    used = past(done("h", NOW - 30 * HOUR_S))
    assert due(layer, used) == []
    assert due(layer.report("c"), used) == [(["c"], ["a", "b"])]


def test_a_rate_below_a_level_comes_before_higher_odds() -> None:
    layer = site().report("a", odds=6.0, percent=85.0).report("b", odds=3.0, percent=70.0)
    assert layer.candidates() == ["b", "a"]
