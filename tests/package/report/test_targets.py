"""All targets: a dot each, what is not OK is named, and Nagios finds every component."""

from __future__ import annotations

from typing import Any

from plumbline.report.figure import Plot
from plumbline.report.site import Metrics, Site, find_metrics
from plumbline.report.targets import targets_figure


def trace(plot: Plot, name: str) -> dict[str, Any]:
    return next(one for one in plot.data if one["name"] == name)


def test_every_member_is_a_dot_of_its_state(site: Site, metrics: Metrics) -> None:
    figure = targets_figure(site, metrics)
    assert [plot.title for plot in figure.plots] == [
        "raw read",
        "raw read together",
        "ost write",
        "ost read",
    ]
    reads = figure.plots[0]
    assert trace(reads, "CRITICAL")["text"] == ["oss2-disk1"]
    assert trace(reads, "CRITICAL")["x"] == [2]
    assert 70 < trace(reads, "CRITICAL")["y"][0] < 74
    assert len(trace(reads, "OK")["text"]) == 5
    assert figure.finding == "Without the links of hosts: 12 components, 1 CRITICAL, 1 WARNING."


def test_the_references_are_drawn_for_each_member(site: Site, metrics: Metrics) -> None:
    reads = targets_figure(site, metrics).plots[0]
    ceiling = trace(reads, "ceiling")
    assert ceiling["y"] == [200.0] * 8
    # half a place wider at both ends, so that there is a line with one member too
    assert ceiling["x"] == [-0.5, 0, 1, 2, 3, 4, 5, 5.5]
    assert trace(reads, "baseline")["y"] == [180.0] * 8
    assert trace(reads, "warning")["y"] == [144.0] * 8


def test_only_the_sick_are_labelled(site: Site, metrics: Metrics) -> None:
    figure = targets_figure(site, metrics)
    assert [[one["text"] for one in plot.layout["annotations"]] for plot in figure.plots] == [
        ["oss2-disk1"],
        ["oss2-disk1"],
        ["scratch-OST0002"],
        ["scratch-OST0002"],
    ]


def test_siblings_are_fenced_off(site: Site, metrics: Metrics) -> None:
    reads, _, writes, _ = targets_figure(site, metrics).plots
    assert [one["x0"] for one in reads.layout["shapes"]] == [1.5, 3.5]
    assert writes.layout["shapes"] == []


def test_each_component_and_group_has_one_place(site: Site, metrics: Metrics) -> None:
    rows = targets_figure(site, metrics).table.rows
    anchors = [row.anchor for row in rows]
    assert len(anchors) == len(set(anchors)) == 12 + 4
    assert "ost-scratch-OST0002" in anchors
    assert "ost-group-scratch" in anchors
    assert "raw-oss2-disk1" in anchors


def test_what_was_not_measured_stands_at_zero(site: Site) -> None:
    courses = [course for course in site.courses if course.component == "oss2-disk1"]
    site = site._replace(courses=courses, verdicts={})
    figure = targets_figure(site, find_metrics(site))
    unknown = trace(figure.plots[0], "UNKNOWN")
    measured = unknown["text"].index("oss2-disk1")
    assert unknown["y"].pop(measured) > 0
    assert unknown["customdata"].pop(measured) != "no rate"
    assert unknown["y"] == [0.0] * 5
    assert set(unknown["customdata"]) == {"no rate"}
    assert figure.finding == "Without the links of hosts: 12 components, 12 UNKNOWN."


def test_with_many_members_the_axis_names_the_groups(site: Site) -> None:
    disks = [one for one in site.expectations if one.layer == "raw"]
    many = [
        one._replace(component=f"{one.component}-{number}") for one in disks for number in range(10)
    ]
    figure = targets_figure(site, find_metrics(site._replace(expectations=many)))
    assert figure.plots[0].layout["xaxis"]["ticktext"] == ["oss1", "oss2", "oss3"]


def test_what_was_accepted_below_its_floor_is_said(site: Site) -> None:
    low = "20.0 MB/s is 10 % of the ceiling 200.0 MB/s, floor 50 %"
    expectations = []
    for one in site.expectations:
        references = dict(one.references)
        if one.component == "oss1-disk1":
            step = references["read/single"]
            assert step.baseline
            known = step.baseline._replace(below_floor=low, reason="old shelf")
            references["read/single"] = step._replace(baseline=known)
        expectations.append(one._replace(references=references))
    site = site._replace(expectations=expectations)
    figure = targets_figure(site, find_metrics(site))
    assert figure.finding.endswith(" Accepted below its floor: 1 component.")
    assert figure.table
    (row,) = [one for one in figure.table.rows if "oss1-disk1" in one.cells]
    assert row.cells[-1].endswith(f"; read accepted below its floor: {low}: old shelf")
    names, *rows = figure.numbers
    numbers = [dict(zip(names, one)) for one in rows]
    marked = [one["component"] for one in numbers if one["accepted_below_floor"]]
    assert marked == ["oss1-disk1"]


def test_a_site_of_hosts_alone_has_no_targets(site: Site) -> None:
    hosts = [one for one in site.expectations if one.layer == "net"]
    assert targets_figure(site, find_metrics(site._replace(expectations=hosts))).absent
