"""The first screen: what is wrong, since when, and what to do next, one row per fault."""

from __future__ import annotations

from typing import Mapping, Optional

import pytest

from plumbline.model.suspects import Suspects
from plumbline.model.trend import ConditionChange, VersionChange
from plumbline.model.verdict import Reason, State, Verdict
from plumbline.parts.report.marks import Mark
from plumbline.parts.report.overview import Beginnings, Entry, Kind, Since, overview
from plumbline.parts.report.page import pages
from plumbline.parts.report.site import Member, Metric, Metrics, Site, find_metrics
from tests.package.parts.report.sites import days_of
from tests.package.parts.report.test_drawn_figures import EMPTY, extras
from tests.package.parts.report.years import DAY_S, NOW

SINCE = "2026-09-17"
"""Five nights before the reports."""


def rows(site: Site, suspects: Suspects = Suspects()) -> list[Entry]:
    return overview(site, find_metrics(site), suspects)


def unknown(site: Site, layer: str) -> Site:
    """Return a site with a layer in state UNKNOWN."""
    verdicts = {
        place: verdict._replace(
            state=State.UNKNOWN, sentence=f"{verdict.component} was never measured"
        )
        if verdict.layer == layer
        else verdict
        for place, verdict in site.verdicts.items()
    }
    return site._replace(verdicts=verdicts)


def test_a_suspect_comes_first_with_its_start_and_the_next_step(site: Site) -> None:
    first = rows(site, extras().suspects)[0]
    assert (first.kind, first.component, first.state) == (
        Kind.SUSPECT,
        "oss2-disk1",
        State.WARNING,
    )
    assert first.since == SINCE
    assert first.sentence.startswith("Suspect: disk oss2-disk1 (1 of 1 slow target crosses it")
    assert "Next:" not in first.sentence
    assert first.next.startswith("read its SMART values")
    assert first.anchor == "suspects"


def test_alarms_explained_by_a_suspect_come_last_with_a_link_to_it(site: Site) -> None:
    entries = rows(site, extras().suspects)
    behind = [entry for entry in entries if entry.kind is Kind.EXPLAINED]
    assert {"ost scratch-OST0002", "raw oss2-disk1"} <= {entry.component for entry in behind}
    assert entries[-len(behind) :] == behind
    assert "see suspect oss2-disk1" in {entry.next for entry in behind}
    assert {entry.since for entry in behind if "disk1" in entry.component} == {SINCE}


def test_without_suspects_each_alarm_has_the_command_to_measure_again(site: Site) -> None:
    entries = {entry.component: entry for entry in rows(site)}
    disk = entries["raw oss2-disk1"]
    assert (disk.kind, disk.anchor) == (Kind.ALARM, "raw-oss2-disk1")
    assert disk.next == (
        "measure again: ansible-playbook playbooks/debug_slow_storage.yml -e target=oss2-disk1"
    )


def test_a_change_at_the_start_of_a_loss_is_named(site: Site) -> None:
    start = next(
        at for course in site.courses for at in course.times if at > site.now - 5 * 86400 + 1
    )
    site = site._replace(changes=[VersionChange(start, "client", "2.3.0", "2.4.0", 9, 9)])
    (disk,) = [entry for entry in rows(site) if entry.component == "raw oss2-disk1"]
    assert disk.since == f"{SINCE} (client 2.3.0 -> 2.4.0)"


def test_only_condition_changes_of_the_own_host_are_named(site: Site) -> None:
    start = next(
        at for course in site.courses for at in course.times if at > site.now - 5 * 86400 + 1
    )
    changes = [
        ConditionChange(start, f"scheduler none -> bfq on {node}", False, frozenset({node}))
        for node in ("oss1", "oss2")
    ]
    (disk,) = [
        entry
        for entry in rows(site._replace(conditions=changes))
        if entry.component == "raw oss2-disk1"
    ]
    assert disk.since == f"{SINCE} (scheduler none -> bfq on oss2)"


def test_a_node_without_results_is_one_row(site: Site) -> None:
    (row,) = [entry for entry in rows(unknown(site, "ost")) if entry.kind is Kind.UNMEASURED]
    assert row.component == "ost of client1: 6 components"
    assert row.state is State.UNKNOWN
    assert row.sentence == "for example scratch-OST0000 was never measured"
    assert row.anchor == "ost-scratch-OST0000"


def test_a_few_components_without_results_are_named(site: Site) -> None:
    entries = rows(unknown(site, "raw"))
    named = [entry.component for entry in entries if entry.kind is Kind.UNMEASURED]
    assert sorted(named) == sorted(
        f"raw oss{host}-disk{disk}" for host in (1, 2, 3) for disk in (1, 2)
    )


def test_many_nodes_without_results_are_one_row(site: Site) -> None:
    site = unknown(site, "raw")
    nodes = {place: f"oss{number}" for number, place in enumerate(site.nodes)}
    entries = rows(site._replace(nodes=nodes))
    named = [entry.component for entry in entries if entry.kind is Kind.UNMEASURED]
    assert named == ["raw of 6 nodes: 6 components"]


def test_a_group_with_a_shared_loss_has_a_row(site: Site) -> None:
    verdict = Verdict(
        "ost", "scratch", State.WARNING, Reason.BELOW_LEVEL, "scratch at 60 %", group=True
    )
    fine = verdict._replace(component="other", state=State.UNKNOWN)
    site = site._replace(groups={("ost", "scratch"): verdict, ("ost", "other"): fine})
    (row,) = [entry for entry in rows(site) if entry.kind is Kind.GROUP]
    assert (row.component, row.state, row.anchor) == (
        "ost scratch",
        State.WARNING,
        "ost-group-scratch",
    )


def test_a_loss_of_a_group_starts_with_most_of_its_members(site: Site) -> None:
    verdict = Verdict("raw", "oss2", State.CRITICAL, Reason.SLOW, "group oss2 read", group=True)
    site = site._replace(groups={("raw", "oss2"): verdict})
    (row,) = [entry for entry in rows(site) if entry.kind is Kind.GROUP]
    assert row.since == SINCE
    assert row.next.endswith(f"plumbline report --against {SINCE}")


def test_a_group_that_is_not_ok_is_counted(site: Site) -> None:
    site = site._replace(groups={}, looks=())
    verdict = Verdict("raw", "oss2", State.CRITICAL, Reason.SLOW, "group oss2 read", group=True)
    fine = verdict._replace(component="oss1", state=State.OK)
    states = [verdict.state.name for verdict in site.verdicts.values()]
    with_groups = site._replace(groups={("raw", "oss2"): verdict, ("raw", "oss1"): fine})
    assert f"{states.count('CRITICAL') + 1} CRITICAL" in pages(with_groups, [])["index.html"]


def test_watched_components_come_last(site: Site) -> None:
    place = ("ost", "scratch-OST0005")
    watched = site.verdicts[place]._replace(
        state=State.OK, reason=Reason.WATCHED, sentence="scratch-OST0005 watching: read low"
    )
    group = next(iter(site.groups.values()))._replace(state=State.OK, reason=Reason.WATCHED)
    site = site._replace(
        verdicts={**site.verdicts, place: watched},
        groups={**site.groups, (group.layer, group.component): group},
    )
    *_, group_row, single = rows(site, extras().suspects)
    assert (group_row.kind, group_row.component) == (
        Kind.WATCHED,
        f"{group.layer} {group.component}",
    )
    assert (single.kind, single.state) == (Kind.WATCHED, State.OK)
    assert (single.sentence, single.next) == (watched.sentence, "")


def test_kinds_and_states_decide_the_order(site: Site) -> None:
    site = unknown(site, "net")
    kinds = [list(Kind).index(entry.kind) for entry in rows(site, extras().suspects)]
    assert kinds == sorted(kinds)


def test_a_healthy_site_is_reported_as_such(site: Site) -> None:
    fine = {place: verdict._replace(state=State.OK) for place, verdict in site.verdicts.items()}
    site = site._replace(verdicts=fine, groups={}, looks=())
    assert rows(site) == []
    assert "No alarm and no suspect." in pages(site, [])["index.html"]
    assert "No alarm" not in pages(EMPTY, [])["index.html"]


def test_only_the_first_of_many_rows_are_shown(site: Site) -> None:
    row = Entry(Kind.ALARM, "ost a", State.WARNING, "", "a is slow", "", "ost-a")
    text = pages(site, [], [row] * 50)["index.html"]
    assert text.count("a is slow") == 30
    assert "and 20 more" in text


@pytest.mark.parametrize("since", ["", "2026-09-17"])
def test_a_row_has_link_sentence_next_step_and_start(site: Site, since: str) -> None:
    row = Entry(Kind.ALARM, "ost <a>", State.WARNING, since, "<slow>", "measure", "ost-a")
    text = pages(site, [], [row])["index.html"]
    assert '<a href="#ost-a">ost &lt;a&gt;</a>' in text
    assert "&lt;slow&gt;" in text
    assert "Next: measure" in text
    assert (f"since {since}" in text) is bool(since)


# --- A loss began on the first day with at least half of the present loss.


READ = Metric("ost", "read", "single")
WRITE = Metric("ost", "write", "single")
TODAY = int(NOW // DAY_S)


@pytest.fixture
def member(metrics: Metrics) -> Member:
    return metrics[READ][0]


def percent(member: Member, *course: Optional[int]) -> Member:
    """Return a member with these percentages of its baseline on the days from day 1 on."""
    base = member.baseline_rate
    assert base
    days = {
        day: value / 100 * base for day, value in enumerate(course, start=1) if value is not None
    }
    return member._replace(days=days_of(days))


def beginning(member: Member, other: Optional[Member] = None) -> Optional[Since]:
    metrics: Metrics = {READ: [member], WRITE: [other or member]}
    return Beginnings(metrics).find("ost", member.name)


@pytest.mark.parametrize(
    ("course", "since"),
    [
        ((100, 100, 60, 60), Since(3, 2)),
        ((100, 100, 100, 60), Since(4, 3)),
        ((100, None, None, 60), Since(4, 1)),
        ((60, 60, 60), Since(1, None)),
        ((100, 99, 96), None),
        ((100, 60, 100, 60, 60), Since(2, 1)),
        ((60, 100, 100, 60, 60), Since(4, 3)),
        ((100, 81, 79, 60), Since(3, 2)),
        ((60, 60, 100), None),
    ],
    ids=[
        "a step",
        "last night",
        "after a gap",
        "from the first day on",
        "not low",
        "one good day",
        "an earlier loss",
        "half of the loss",
        "healed",
    ],
)
def test_a_loss_began_on_the_first_low_day(
    member: Member, course: tuple[Optional[int], ...], since: Optional[Since]
) -> None:
    assert beginning(percent(member, *course)) == since


def test_the_operation_with_the_largest_loss_decides(member: Member) -> None:
    reads, writes = percent(member, 80, 80, 80), percent(member, 100, 100, 50)
    assert beginning(reads, writes) == Since(3, 2)


def test_without_a_baseline_the_group_is_the_reference(metrics: Metrics) -> None:
    metrics = {
        metric: [
            member._replace(reference=member.reference._replace(baseline=None))
            for member in members
        ]
        for metric, members in metrics.items()
    }
    since = Beginnings(metrics).find("ost", "scratch-OST0002")
    assert since == Since(TODAY - 4, TODAY - 5)


def test_an_unmeasured_component_has_no_start_of_a_loss(member: Member) -> None:
    assert beginning(member._replace(days=days_of({}))) is None
    assert Beginnings({}).find("ost", "nobody") is None


@pytest.mark.parametrize(
    ("at", "text"),
    [
        ({}, "1970-01-04"),
        ({1.5: "before"}, "1970-01-04"),
        ({2.0: "client 1 -> 2", 3.9: "new cable"}, "1970-01-04 (client 1 -> 2; new cable)"),
        ({4.0: "after"}, "1970-01-04"),
    ],
)
def test_marks_between_the_last_good_and_the_first_low_day_are_named(
    at: Mapping[float, str], text: str
) -> None:
    events = [Mark(day * DAY_S, event, "") for day, event in at.items()]
    assert Since(3, 2).text(events) == text


def test_a_loss_since_the_first_day_may_be_older() -> None:
    assert Since(3, None).text([]) == "1970-01-04 or earlier"
