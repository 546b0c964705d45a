"""All targets as dots, names of those that are not OK, and anchors for Nagios."""

from __future__ import annotations

from typing import Any

from plumbline.parts.report.figure import Plot
from plumbline.parts.report.site import Metrics, Site, find_metrics
from plumbline.parts.report.targets import targets_figure


def trace(plot: Plot, name: str) -> dict[str, Any]:
    return next(data for data in plot.data if data["name"] == name)


def test_every_member_is_a_dot_in_the_colour_of_its_state(site: Site, metrics: Metrics) -> None:
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
    # half a place wider at both ends, so one member has a line too
    assert ceiling["x"] == [-0.5, 0, 1, 2, 3, 4, 5, 5.5]
    assert trace(reads, "baseline")["y"] == [180.0] * 8
    assert trace(reads, "warning")["y"] == [144.0] * 8


def test_only_members_that_are_not_ok_are_labelled(site: Site, metrics: Metrics) -> None:
    figure = targets_figure(site, metrics)
    assert [[note["text"] for note in plot.layout["annotations"]] for plot in figure.plots] == [
        ["oss2-disk1"],
        ["oss2-disk1"],
        ["scratch-OST0002"],
        ["scratch-OST0002"],
    ]


def test_groups_are_separated_by_lines(site: Site, metrics: Metrics) -> None:
    reads, _, writes, _ = targets_figure(site, metrics).plots
    assert [shape["x0"] for shape in reads.layout["shapes"]] == [1.5, 3.5]
    assert writes.layout["shapes"] == []


def test_each_component_and_group_has_one_anchor(site: Site, metrics: Metrics) -> None:
    rows = targets_figure(site, metrics).table.rows
    anchors = [row.anchor for row in rows]
    assert len(anchors) == len(set(anchors)) == 12 + 4
    assert "ost-scratch-OST0002" in anchors
    assert "ost-group-scratch" in anchors
    assert "raw-oss2-disk1" in anchors


def test_unmeasured_members_are_drawn_at_zero(site: Site) -> None:
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
    disks = [entry for entry in site.expectations if entry.layer == "raw"]
    many = [
        disk._replace(component=f"{disk.component}-{number}")
        for disk in disks
        for number in range(10)
    ]
    figure = targets_figure(site, find_metrics(site._replace(expectations=many)))
    assert figure.plots[0].layout["xaxis"]["ticktext"] == ["oss1", "oss2", "oss3"]


def test_baselines_accepted_below_their_floor_are_reported(site: Site) -> None:
    low = "20.0 MB/s is 10 % of the ceiling 200.0 MB/s, floor 50 %"
    expectations = []
    for entry in site.expectations:
        references = dict(entry.references)
        if entry.component == "oss1-disk1":
            step = references["read/single"]
            assert step.baseline
            baseline = step.baseline._replace(below_floor=low, reason="old shelf")
            references["read/single"] = step._replace(baseline=baseline)
        expectations.append(entry._replace(references=references))
    site = site._replace(expectations=expectations)
    figure = targets_figure(site, find_metrics(site))
    assert figure.finding.endswith(" Accepted below its floor: 1 component.")
    assert figure.table
    (row,) = [row for row in figure.table.rows if "oss1-disk1" in row.cells]
    assert row.cells[-1].endswith(f"; read accepted below its floor: {low}: old shelf")
    names, *rows = figure.numbers
    numbers = [dict(zip(names, values)) for values in rows]
    marked = [values["component"] for values in numbers if values["accepted_below_floor"]]
    assert marked == ["oss1-disk1"]


def test_a_baseline_above_its_ceiling_is_named(site: Site, metrics: Metrics) -> None:
    assert "above its ceiling" not in targets_figure(site, metrics).finding
    metric, (first, *rest) = next(iter(metrics.items()))
    assert first.reference.ceiling is not None
    assert first.reference.baseline is not None
    high = first.reference.baseline._replace(median=1.05 * first.reference.ceiling.rate)
    first = first._replace(reference=first.reference._replace(baseline=high))
    finding = targets_figure(site, {**metrics, metric: [first, *rest]}).finding
    assert f"Baseline above its ceiling: {first.name} {metric.step}, 105 % of it." in finding


def test_a_site_of_hosts_has_no_targets(site: Site) -> None:
    hosts = [entry for entry in site.expectations if entry.layer == "net"]
    assert targets_figure(site, find_metrics(site._replace(expectations=hosts))).absent
