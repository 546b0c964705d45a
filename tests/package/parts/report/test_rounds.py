"""The network as a whole: the sum of pairs that were tested at once."""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import Iterable

import pytest

from plumbline.model.trend import Course
from plumbline.parts.report.page import Extras
from plumbline.parts.report.rounds import Round, find_rounds, rounds_figure
from plumbline.plan.expectations import Plan, compile_plan
from plumbline.plan.policy import load
from plumbline.topology.graph import build
from tests.package.parts.locate.scenes import lab
from tests.package.parts.report.sites import draw, read
from tests.package.parts.report.years import Year, document, plan_of, records, write

HOUR_S = 3600.0
GB = 1e9
HOSTS = [f"h{number}" for number in range(1, 5)]


def two_switches() -> Plan:
    """Return four hosts of 1 GB/s, two at each switch, with 1.2 GB/s between the switches."""
    rate = "1.2 GB/s"
    parts = [
        {"name": "core", "kind": "switch"},
        {"name": "s[1-2]", "kind": "switch", "rate": rate, "feeds": "core"},
        *(
            {"name": name, "kind": "client", "address": name, "rate": "1 GB/s", "feeds": switch}
            for name, switch in zip(HOSTS, ("s1", "s1", "s2", "s2"))
        ),
    ]
    topology = build({"schema": 1, "site": "two", "parts": parts, "file_systems": []})
    return compile_plan(topology, load({}), {})


def rounds(tests: Iterable[tuple[str, str, float]], at: float = 10 * HOUR_S) -> list[Round]:
    plan = two_switches()
    planned = [entry for entries in plan.expectations.values() for entry in entries]
    courses = [
        Course("net", one, "send", "single", other, array("d", [at]), array("d", [rate]))
        for one, other, rate in tests
    ]
    return find_rounds(courses, planned, plan.parts, 0.0)


def test_the_sum_of_a_round_has_the_ceiling_of_its_paths() -> None:
    # both pairs cross both switches, which carry 1.2 GB/s
    (only,) = rounds([("h1", "h3", 0.5 * GB), ("h2", "h4", 0.4 * GB)])
    assert (only.pairs, only.of, only.complete) == (2, 2, True)
    assert only.moved_Bps == 0.9 * GB
    assert only.ceiling_Bps == pytest.approx(1.2 * GB)
    assert {load.name for load in only.loads} == {"s1", "s2"}
    assert all(load.share == pytest.approx(0.75) for load in only.loads)


def test_pairs_within_a_switch_share_nothing() -> None:
    (only,) = rounds([("h1", "h2", 0.9 * GB), ("h3", "h4", 0.9 * GB)])
    assert only.ceiling_Bps == pytest.approx(2 * GB)
    assert only.loads == ()


def test_a_host_in_two_tests_is_no_round_at_once() -> None:
    assert rounds([("h1", "h3", GB), ("h1", "h4", GB)]) == []


def test_a_round_with_too_few_pairs_is_not_drawn_and_says_so() -> None:
    figure = rounds_figure(rounds([("h1", "h3", 0.5 * GB)]))
    assert figure.absent.startswith(
        "no round of the last 14 days was complete: the best had 1 of 2"
    )


def test_the_figure_names_the_narrow_part() -> None:
    figure = rounds_figure(rounds([("h1", "h3", 0.5 * GB), ("h2", "h4", 0.4 * GB)]))
    assert figure.finding == (
        "1970-01-01 10:00 UTC, send: 2 of 2 pairs moved 900.0 MB/s at once, 75 % of the "
        "1200.0 MB/s of their paths; least through switch s1: 75 % of its share."
    )
    assert [row.cells[1] for row in figure.table.rows] == [
        "whole network",
        "switch s1",
        "switch s2",
    ]
    assert len(list(figure.numbers)) == 4


def test_a_site_whose_tests_follow_one_another_has_none(tmp_path: Path) -> None:
    plan = plan_of(lab())
    site = read(*write(tmp_path, document(plan), records(plan, Year(1))))
    drawn = {figure.id: figure for figure in draw(site, Extras())}
    assert drawn["rounds"].absent
