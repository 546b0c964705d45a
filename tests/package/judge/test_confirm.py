"""Confirmation: the components measured again, their controls, how often, for how many bytes."""

from __future__ import annotations

from typing import Any, Mapping, Optional

import pytest

from plumbline.judge.confirm import (
    Layer,
    PastRuns,
    find_candidates,
    places,
    remaining_bytes,
    run_entries,
    steps_of,
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
"""Bytes that one run of a component moves: write and read."""

TERMS = Confirm(runs=3, every_s=HOUR_S, daily_bytes=float(EACH), most_bytes=20.0 * EACH)


class Site:
    """A layer in which everything is fine but what a test says."""

    def __init__(self, *entries: Expectation, layer: str = "ost") -> None:
        self.entries = entries
        self.layer = layer
        self.suspected: dict[str, float] = {}
        self._known: dict[str, Evidence] = {}
        self._verdicts: dict[str, Verdict] = {}

    def say(
        self, name: str, reason: Reason = Reason.WATCHED, percent: float = 60.0, **known: Any
    ) -> Site:
        values = {"odds": 5.0, "alarm": False, **known}
        self._known[name] = evidence(**values)
        self._verdicts[name] = Verdict(
            self.layer, name, State.OK, reason, f"{name} is low", ratio_baseline=percent / 100
        )
        return self

    def evidence(self, subject: Subject) -> Optional[Evidence]:
        return self._known.get(subject[1])

    def verdict(self, entry: Expectation) -> Verdict:
        fine = Verdict(self.layer, entry.component, State.OK, Reason.FINE, "fine")
        return self._verdicts.get(entry.component, fine)

    @property
    def known(self) -> Layer:
        return Layer(self.entries, self.verdict, self, self.suspected)

    def names(self) -> list[str]:
        return [one.entry.component for one in find_candidates(self.known) if not one.obstacle]

    def obstacles(self) -> dict[str, str]:
        return {
            one.entry.component: one.obstacle for one in find_candidates(self.known) if one.obstacle
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


def due(of: Site, before: PastRuns, now: float = NOW) -> list[tuple[list[str], list[str]]]:
    found = turns(of.known, places(find_candidates(of.known), before, now), before, now)
    return [
        (
            [entry.component for entry in turn.targets],
            [control.component for control in turn.controls],
        )
        for turn in found
    ]


@pytest.mark.parametrize(
    ("said", "is_wanted"),
    [
        # odds of 10 to 1 are worth a run, a logarithm of 2.3
        ({"odds": 2.3}, True),
        ({"odds": 2.29}, False),
        # a good run decides anew, whatever was before it; 10 % is the smallest loss looked for
        ({"odds": 5.0, "percent": 89.9}, True),
        ({"odds": 5.0, "percent": 90.0}, False),
        # a gross loss is measured again though one run is no evidence; critical is below 50 %
        ({"odds": 0.0, "percent": 49.9}, True),
        ({"odds": 0.0, "percent": 50.0}, False),
        ({"odds": 0.0, "percent": 49.9, "low": 1}, True),
        # an alarm ends by runs alone; one whose last run gave no rate has other troubles
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
def test_what_is_in_question_and_undecided_is_measured_again(
    said: dict[str, Any], is_wanted: bool
) -> None:
    assert site().say("c", **said).names() == (["c"] if is_wanted else [])


def test_where_confirmation_is_off_nothing_is_measured_again() -> None:
    assert site(confirm=OFF).say("c").names() == []


def test_the_likeliest_comes_first() -> None:
    of = site().say("c", odds=3.5).say("a", odds=3.1).say("h", odds=8.0)
    assert of.names() == ["h", "c", "a"]


@pytest.mark.parametrize(("low", "is_wanted"), [("abcd", True), ("abcde", False)])
def test_what_more_than_half_of_a_group_share_is_no_single_ones_matter(
    low: str, is_wanted: bool
) -> None:
    of = site()
    for name in low:
        of.say(name)
    assert bool(of.names()) is is_wanted
    assert bool(due(of, past())) is is_wanted
    said = f"{len(low)} of 8 of its group are in question: a loss that all share"
    assert of.obstacles() == ({} if is_wanted else dict.fromkeys(low, said))


def test_it_is_measured_beside_two_healthy_peers_of_its_group_on_other_servers_in_turn() -> None:
    members = [target(name) for name in "abcdef"]
    members[1] = members[1]._replace(host="oss-a")
    members[2] = members[2]._replace(group="home")
    of = Site(*members).say("a").say("d", reason=Reason.FAILED, odds=0.0)
    assert due(of, past()) == [(["a"], ["e", "f"])]
    served = past(done("e", NOW - 5 * HOUR_S, control=True))
    assert due(of, served) == [(["a"], ["f", "e"])]
    of.say("f", reason=Reason.FINE, odds=3.0)
    assert due(of, past()) == [(["a"], ["e", "b"])]


def test_a_target_without_healthy_peers_is_measured_alone() -> None:
    of = Site(*map(target, "abcde")).say("a")
    for name in "bcde":
        of.say(name, reason=Reason.FAILED, odds=0.0)
    assert due(of, past()) == [(["a"], [])]


@pytest.mark.parametrize(
    ("names", "obstacle"),
    [
        ("abcd", "a group of 4, fewer than 5, cannot tell a slow one from a busy hour"),
        ("abcde", ""),
    ],
)
def test_of_a_few_nobody_is_measured_again_and_why_is_said(names: str, obstacle: str) -> None:
    of = Site(*map(target, names)).say("a")
    (place,) = places(find_candidates(of.known), past(), NOW)
    assert (place.candidate.entry.component, place.obstacle) == ("a", obstacle)
    assert bool(due(of, past())) is not bool(obstacle)


def test_suspicions_of_a_whole_group_leave_its_members_as_healthy_peers() -> None:
    found = suspecting(*"abdefgh").say("c")
    assert due(found, past()) == [(["c"], ["a", "b"])]


SLOW: dict[str, Any] = {"reason": Reason.SLOW, "alarm": True, "odds": 20.0}


@pytest.mark.parametrize(
    ("planned_h", "confirmed_h", "is_due"),
    [(24 * 6, None, True), (21, None, False), (24 * 6, 21, False), (24 * 6, 21.6, True)],
)
def test_an_alarm_is_measured_again_once_on_each_morning(
    planned_h: float, confirmed_h: Optional[float], is_due: bool
) -> None:
    terms = TERMS._replace(daily_bytes=20.0 * EACH)
    measured = [] if confirmed_h is None else [done("c", NOW - confirmed_h * HOUR_S)]
    before = past(*measured, planned={"c": NOW - planned_h * HOUR_S})
    of = site(confirm=terms, limits=Limits(stale_after_s=15 * DAY_S)).say("c", **SLOW)
    assert due(of, before) == ([(["c"], ["a", "b"])] if is_due else [])


@pytest.mark.parametrize(
    ("low", "most", "found"),
    [("b", 12, [["b"], ["a"]]), ("b", 11, [["b"]]), ("", 6, [["a"]]), ("", 5, [])],
)
def test_an_alarm_comes_last_and_leaves_half_of_the_bytes(
    low: str, most: int, found: list[list[str]]
) -> None:
    terms = TERMS._replace(most_bytes=float(most * EACH))
    of = site(confirm=terms, limits=Limits(stale_after_s=15 * DAY_S)).say("a", **SLOW)
    for name in low:
        of.say(name, odds=CONFIRMED_ODDS)
    before = past(planned=dict.fromkeys("abcdefgh", NOW - 6 * DAY_S))
    assert [targets for targets, _ in due(of, before)] == found


def test_alarms_put_nobody_else_of_their_group_beyond_question() -> None:
    of = site().say("h")
    for name in "abcd":
        of.say(name, **SLOW)
    assert of.names()[0] == "h"


def test_no_run_has_more_suspects_than_controls() -> None:
    of = site()
    for name in "abc":
        of.say(name)
    assert [len(targets) for targets, _ in due(of, past())] == [2, 1]


@pytest.mark.parametrize(
    ("ago_s", "is_due"),
    [(0.9 * HOUR_S, True), (0.9 * HOUR_S - 1, False), (0.0, False)],
)
def test_two_measurements_of_one_target_lie_apart(ago_s: float, is_due: bool) -> None:
    assert bool(due(site().say("a"), past(done("a", NOW - ago_s)))) is is_due
    just_planned = past(planned={"a": NOW - ago_s})
    assert bool(due(site().say("a"), just_planned)) is is_due


@pytest.mark.parametrize(("runs", "is_due"), [(2, True), (3, False)])
def test_after_so_many_runs_the_next_planned_one_decides(runs: int, is_due: bool) -> None:
    measured = [done("a", PLANNED + 1 + number) for number in range(runs)]
    assert bool(due(site().say("a"), past(*measured))) is is_due
    decided = past(*measured, planned={"a": PLANNED + 60})
    assert due(site().say("a"), decided)


def test_to_have_been_a_control_is_no_run_of_its_own() -> None:
    measured = [done("a", PLANNED + 1 + number, control=True) for number in range(9)]
    assert due(site().say("a"), past(*measured))


@pytest.mark.parametrize(("age_s", "is_due"), [(129600.0, True), (129601.0, False)])
def test_what_no_planned_run_has_shown_for_long_is_left_alone(age_s: float, is_due: bool) -> None:
    assert bool(due(site().say("a"), past(planned={"a": NOW - age_s}))) is is_due


@pytest.mark.parametrize(
    ("most", "found"),
    [
        (3 * EACH - 1, []),
        (3 * EACH, [["a"]]),
        (4 * EACH - 1, [["a"]]),
        (4 * EACH, [["a", "b"]]),
        # half of it waits for those that are low again
        (14 * EACH - 1, [["a", "b"]]),
        (14 * EACH, [["a", "b"], ["c"]]),
    ],
)
def test_no_more_is_measured_than_the_bytes_last(most: float, found: list[list[str]]) -> None:
    of = site(confirm=TERMS._replace(most_bytes=float(most)))
    for name, odds in zip("abc", (9.0, 8.0, 7.0)):
        of.say(name, odds=odds)
    assert [targets for targets, _ in due(of, past())] == found


@pytest.mark.parametrize(
    ("spent", "found"),
    [
        (0, [["a"], ["b"]]),
        (1, [["a"]]),
        (13 * EACH, [["a"]]),
        (13 * EACH + 1, []),
    ],
)
def test_what_was_saved_up_is_for_what_the_odds_speak_for(
    spent: int, found: list[list[str]]
) -> None:
    """A low run for which they do not has the share of one day, whatever a busy night asks."""
    # a day's share pays for both, what was saved up for three more
    of = site(confirm=TERMS._replace(daily_bytes=6.0 * EACH, most_bytes=16.0 * EACH))
    of.say("a", odds=CONFIRMED_ODDS).say("b", percent=30.0, odds=CONFIRMED_ODDS - 0.1)
    assert [targets for targets, _ in due(of, past(done("c", NOW, bytes=spent)))] == found


def test_bytes_that_were_moved_come_back_day_by_day_up_to_what_may_be_saved() -> None:
    entry = target("a", confirm=TERMS._replace(daily_bytes=10.0, most_bytes=100.0))
    moved_then = [done("a", NOW, bytes=80)]
    assert remaining_bytes(entry, [], NOW) == 100.0
    assert remaining_bytes(entry, moved_then, NOW) == 20.0
    assert remaining_bytes(entry, moved_then, NOW + DAY_S) == pytest.approx(30.0)
    assert remaining_bytes(entry, moved_then, NOW + 30 * DAY_S) == 100.0
    # a clock that was stepped back gives nothing and takes nothing
    assert remaining_bytes(entry, moved_then, NOW - DAY_S) == 20.0


def device(name: str) -> Expectation:
    references = {"read/single": REFERENCE, "read/together": REFERENCE}
    return target(name, layer="raw", group="oss1", references=references)


def test_devices_are_read_one_by_one_where_not_all_of_them_are() -> None:
    of = Site(*map(device, "abcdef"), layer="raw").say("a")
    before = past()
    (turn,) = turns(of.known, places(find_candidates(of.known), before, NOW), before, NOW)
    assert {len(one.references) for one in steps_of(turn, of.known)} == {1}
    noted = run_entries(turn, "run", NOW, of.known)
    assert sum(one.bytes for one in noted) == 3 * SIZE
    assert {one.component for one in noted if not one.control} == {"a"}


@pytest.mark.parametrize(("after_s", "left"), [(-5.0, 60.0), (0.0, 60.0), (5.0, 65.0)])
def test_what_comes_back_between_two_runs_is_by_the_second(after_s: float, left: float) -> None:
    """A clock that was stepped back between them gives nothing and takes nothing."""
    entry = target("a", confirm=TERMS._replace(daily_bytes=DAY_S, most_bytes=100.0))
    both = [done("a", NOW, bytes=20), done("b", NOW + after_s, bytes=20)]
    assert remaining_bytes(entry, both, NOW + after_s) == left


@pytest.mark.parametrize(("after_s", "is_due"), [(-1.0, True), (0.0, True), (1.0, False)])
def test_runs_up_to_the_last_planned_one_do_not_count(after_s: float, is_due: bool) -> None:
    measured = [done("a", PLANNED + after_s) for _ in range(3)]
    assert bool(due(site().say("a"), past(*measured))) is is_due


@pytest.mark.parametrize(("ago_h", "is_due"), [(24.0, True), (23.9, False)])
def test_where_planned_runs_are_rare_each_day_has_runs_of_its_own(
    ago_h: float, is_due: bool
) -> None:
    """Runs of a busy day keep nobody waiting for the planned run of next week."""
    terms = TERMS._replace(daily_bytes=20.0 * EACH)
    limits = Limits(stale_after_s=15 * DAY_S)
    measured = [done("c", NOW - ago_h * HOUR_S) for _ in range(3)]
    before = past(*measured, planned={"c": NOW - 6 * DAY_S})
    assert bool(due(site(confirm=terms, limits=limits).say("c"), before)) is is_due
    assert bool(due(suspecting("c", confirm=terms, limits=limits), before)) is is_due


def test_it_is_said_how_long_ago_it_was_measured() -> None:
    found = find_candidates(site().say("a").known)
    (place,) = places(found, past(done("a", NOW - 50 * 60.0)), NOW)
    assert place.obstacle == "measured 50 min ago"


@pytest.mark.parametrize(("together", "steps"), [("ab", 2), ("abc", 2), ("abcd", 1)])
def test_what_runs_together_is_measured_together_where_all_of_it_is_chosen(
    together: str, steps: int
) -> None:
    alone = {"read/single": REFERENCE}
    members = [
        device(name) if name in together else device(name)._replace(references=alone)
        for name in "abcdef"
    ]
    of = Site(*members, layer="raw").say("a")
    (turn,) = turns(of.known, places(find_candidates(of.known), past(), NOW), past(), NOW)
    assert sorted(entry.component for entry in turn.chosen) == ["a", "b", "c"]
    (first,) = [entry for entry in steps_of(turn, of.known) if entry.component == "a"]
    assert len(first.references) == steps
    (noted,) = [run for run in run_entries(turn, "run", NOW, of.known) if run.component == "a"]
    assert noted.bytes == steps * SIZE


def suspecting(*names: str, **changes: Any) -> Site:
    found = site(**changes)
    found.suspected = dict.fromkeys(names, PLANNED)
    return found


def test_what_is_suspected_for_its_latency_comes_after_what_was_low() -> None:
    found = suspecting("a", "nobody").say("c")
    assert found.names() == ["c", "a"]
    assert due(found, past()) == [(["c"], ["b", "d"]), (["a"], ["b", "d"])]


def test_of_suspects_the_likeliest_comes_first() -> None:
    found = suspecting(*"abc").say("b", reason=Reason.FINE, odds=0.0)
    assert found.say("c", reason=Reason.FINE, odds=0.5).names() == ["c", "a", "b"]


@pytest.mark.parametrize(
    "said",
    [
        {"alarm": True},
        {"shared": True},
        {"reason": Reason.KNOWN_STATE},
        {"reason": Reason.SKIPPED},
        {"reason": Reason.NEVER_MEASURED},
    ],
)
def test_no_suspicion_measures_what_says_nothing(said: dict[str, Any]) -> None:
    assert suspecting("c").say("c", **{"odds": 0.0, **said}).names() == []


def test_suspicions_of_many_take_nobody_s_place() -> None:
    assert suspecting(*"abdef").say("c").names() == ["c"]
    assert suspecting("c", count=4).names() == []
    assert suspecting("c", confirm=OFF).names() == []


@pytest.mark.parametrize(
    ("hours", "waits"), [(2.0, True), (21.5, True), (21.6, False), (30.0, False)]
)
def test_a_suspect_is_confirmed_once_a_day(hours: float, waits: bool) -> None:
    before = past(done("c", NOW - hours * HOUR_S))
    assert (due(suspecting("c"), before) == []) is waits


def test_suspicions_leave_half_of_what_was_saved_up() -> None:
    terms = TERMS._replace(most_bytes=6.0 * EACH, daily_bytes=0.0)
    found = suspecting("c", confirm=terms)
    assert due(found, past()) == [(["c"], ["a", "b"])]
    used = past(done("h", NOW - 30 * HOUR_S))
    assert due(found, used) == []
    assert due(found.say("c"), used) == [(["c"], ["a", "b"])]


def test_what_is_below_a_level_now_goes_before_what_the_odds_alone_speak_for() -> None:
    of = site().say("a", odds=6.0, percent=85.0).say("b", odds=3.0, percent=70.0)
    assert of.names() == ["b", "a"]
