"""Samples of one host within a window form one run; without a window those of one moment."""

from __future__ import annotations

from typing import Sequence

import pytest

from plumbline.judge.replay import bring_together, never_together, replay
from plumbline.model.limits import Limits
from plumbline.model.series import Sampled
from plumbline.model.verdict import Reason, State

BEGIN = 1_700_006_400.0


def sampled(component: str, after_s: float, rate: float = 100.0, host: str = "h") -> Sampled:
    return Sampled(host, "2023-11-15", BEGIN + after_s, component, rate)


def runs(rows: Sequence[Sampled], window_s: float) -> list[list[str]]:
    """Return the components of each run."""
    components: dict[tuple[str, float], list[str]] = {}
    for row in bring_together(rows, window_s):
        components.setdefault((row.host, row.at), []).append(row.component)
    return list(components.values())


@pytest.mark.parametrize(
    ("gap_s", "expected"), [(59, [["a", "b"]]), (60, [["a", "b"]]), (61, [["a"], ["b"]])]
)
def test_a_run_ends_with_the_window(gap_s: float, expected: list[list[str]]) -> None:
    assert runs([sampled("a", 0), sampled("b", gap_s)], 60) == expected


def test_the_window_counts_from_the_first_sample_and_does_not_move_on() -> None:
    rows = [sampled("a", 0), sampled("b", 40), sampled("c", 80)]
    assert runs(rows, 60) == [["a", "b"], ["c"]]


def test_a_second_sample_of_a_component_begins_the_next_run() -> None:
    rows = [sampled("a", 0), sampled("b", 5), sampled("a", 30), sampled("b", 35)]
    assert runs(rows, 600) == [["a", "b"], ["a", "b"]]


def test_samples_of_one_moment_stay_together() -> None:
    rows = [sampled("a", 0), sampled("b", 30), sampled("a", 30)]
    assert runs(rows, 600) == [["a"], ["b", "a"]]


def test_hosts_have_separate_runs() -> None:
    rows = [sampled("a", 0, host="h1"), sampled("b", 1, host="h2")]
    assert runs(rows, 600) == [["a"], ["b"]]


def test_a_run_over_midnight_belongs_to_the_day_on_which_it_began() -> None:
    rows = [sampled("a", 0), sampled("b", 60)._replace(day="2023-11-16")]
    assert {row.day for row in bring_together(rows, 600)} == {"2023-11-15"}


def test_a_slow_disk_is_found_among_peers_that_were_polled_one_after_another() -> None:
    rows = [
        sampled(f"disk{disk}", 3600 * hour + 10 * disk, 40.0 if disk == 2 else 100.0)
        for hour in range(4)
        for disk in range(4)
    ]
    alone = {day.component: day.verdict.state for day in replay(rows, Limits())}
    assert set(alone.values()) == {State.UNKNOWN}
    judged = replay(bring_together(rows, 60), Limits())
    reasons = {day.component: day.verdict.reason for day in judged}
    assert reasons.pop("disk2") is Reason.WATCHED
    assert set(reasons.values()) == {Reason.FINE}


def test_components_never_measured_together_are_reported_with_their_round() -> None:
    rows = [
        sampled(f"disk{disk}", 3600 * hour + 10 * disk, host=host)
        for host in ("h1", "h2")
        for hour in range(3)
        for disk in range(4)
    ]
    apart = never_together(rows)
    assert apart is not None
    assert apart == ("h1", 4, 30.0, 2)
    assert never_together(bring_together(rows, 60)) is None


def test_one_common_moment_or_a_single_component_gives_no_hint() -> None:
    assert never_together([sampled("a", 0), sampled("b", 5), sampled("b", 0)]) is None
    assert never_together([sampled("a", 0), sampled("a", 5)]) is None


def test_a_run_is_dated_by_its_first_sample() -> None:
    run = bring_together([sampled("a", 0), sampled("b", 60)], 600)
    assert [row.at for row in run] == [BEGIN, BEGIN]


@pytest.mark.parametrize("gap_s", [0.5, 20.0])
def test_the_round_of_two_alternating_components_is_their_gap(gap_s: float) -> None:
    rows = [sampled("a", 0), sampled("b", gap_s), sampled("a", 100), sampled("a", 200)]
    hint = never_together(rows)
    assert hint is not None
    # a round of one component has no length
    assert (hint.host, hint.components, hint.round_s, hint.hosts) == ("h", 2, gap_s, 1)
    assert never_together([*rows, sampled("b", 200)]) is None
    assert never_together(rows[2:]) is None
