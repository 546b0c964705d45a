"""The path figure goes from the client to the disk, and names the limiting part."""

from __future__ import annotations

from array import array

import pytest

from plumbline.model.expectation import PARALLEL
from plumbline.model.limits import DEMONSTRATED, Reference
from plumbline.model.trend import Course
from plumbline.parts.report.figure import Plot
from plumbline.parts.report.path import find_path, path_figure
from plumbline.parts.report.site import Metric, Metrics, Site, find_metrics

WRITE = Metric("ost", "write", "single")
READ = Metric("ost", "read", "single")


def test_the_stages_go_from_the_client_to_the_disk_and_end_with_the_whole_path(
    site: Site, metrics: Metrics
) -> None:
    stages = find_path(site, metrics, READ, metrics[READ]).stages
    assert [(stage.name, stage.number, stage.limits) for stage in stages] == [
        ("nic", 4, True),
        ("disk", 6, False),
        ("net receive", 4, False),
        ("raw read", 6, False),
        ("whole path: ost read", 6, False),
    ]


def test_a_stage_has_the_rate_of_one_flow_and_the_sum_of_all(site: Site, metrics: Metrics) -> None:
    disk = find_path(site, metrics, WRITE, metrics[WRITE]).parts[1]
    assert (disk.ceiling_rate, disk.sum_Bps) == (200e6, 1200e6)
    whole = find_path(site, metrics, WRITE, metrics[WRITE]).whole
    assert whole.now_rate == pytest.approx(107.6e6, rel=0.01)
    assert whole.baseline_rate == pytest.approx(107.6e6, rel=0.001)


def test_a_demonstrated_rate_is_drawn_without_a_band(site: Site, metrics: Metrics) -> None:
    def demonstrated(reference: Reference) -> Reference:
        baseline = reference.baseline
        return reference._replace(baseline=baseline and baseline._replace(spec_hash=DEMONSTRATED))

    members = [
        member._replace(reference=demonstrated(member.reference)) for member in metrics[WRITE]
    ]
    assert find_path(site, metrics, WRITE, members).whole.baseline_rate == pytest.approx(
        107.6e6, rel=0.001
    )
    assert {member.baseline_rate for member in members} == {None}
    first = members[0]
    whole = first.entry._replace(
        component="scratch",
        layer="fs",
        target={"kind": PARALLEL},
        references={"write/together": first.reference},
    )
    figure = path_figure(site._replace(expectations=[*site.expectations, whole]), metrics)
    assert figure.finding.endswith(
        "\nfs scratch write: 107.6 MB/s demonstrated, 90 % of the ceiling 119.6 MB/s."
    )


def test_the_write_path_has_no_stages_of_reads(site: Site, metrics: Metrics) -> None:
    names = [stage.name for stage in find_path(site, metrics, WRITE, metrics[WRITE]).stages]
    assert "net send" in names
    assert "raw read" not in names


def test_the_limiting_stage_is_named_and_marked(site: Site, metrics: Metrics) -> None:
    figure = path_figure(site, metrics)
    first = figure.finding.splitlines()[0]
    assert first.startswith("ost write scratch: ")
    assert first.endswith(" of the ceiling, limited by nic.")
    assert figure.plots[0].layout["yaxis"]["ticktext"][0] == "nic (limits)"
    assert len(figure.plots[0].layout["shapes"]) == 1


def three_file_systems(site: Site) -> Metrics:
    """Return metrics with the targets of three file systems."""
    return {
        metric: [
            member._replace(entry=member.entry._replace(group=f"fs{number % 3 + 1}"))
            for number, member in enumerate(members)
        ]
        if metric.layer == "ost"
        else members
        for metric, members in find_metrics(site).items()
    }


def labels(plot: Plot) -> list[str]:
    return [text.replace(" (limits)", "") for text in plot.layout["yaxis"]["ticktext"]]


def test_equal_file_systems_and_directions_share_one_picture(site: Site) -> None:
    figure = path_figure(site, three_file_systems(site))
    (plot,) = figure.plots
    assert plot.title == "ost write and read of fs1, fs2, fs3"
    assert labels(plot) == [
        "nic",
        "disk",
        "net send",
        "net receive",
        "raw read",
        *(f"whole path: ost {step} fs{name}" for step in ("write", "read") for name in (1, 2, 3)),
    ]
    assert len(figure.finding.splitlines()) == 6
    assert len({row.cells[0] for row in figure.table.rows}) == 6


def test_a_slow_file_system_stands_out_in_a_shared_picture(site: Site) -> None:
    metrics = {
        metric: [
            member._replace(now_rate=10e6)
            if member.entry.group == "fs2" and metric == READ
            else member
            for member in members
        ]
        for metric, members in three_file_systems(site).items()
    }
    (plot,) = path_figure(site, metrics).plots
    now = dict(zip(labels(plot), plot.data[-1]["x"]))
    assert now["whole path: ost read fs2"] == 10.0
    assert now["whole path: ost read fs1"] > 80


def test_a_different_rate_of_a_part_gets_its_own_picture(site: Site) -> None:
    parts = {
        name: part._replace(read_Bps=9e9) if part.kind == "disk" else part
        for name, part in site.parts.items()
    }
    figure = path_figure(site._replace(parts=parts), three_file_systems(site))
    assert [plot.title for plot in figure.plots] == [
        "ost write of fs1, fs2, fs3",
        "ost read of fs1, fs2, fs3",
    ]


def test_only_the_slowest_of_many_file_systems_are_drawn(site: Site, metrics: Metrics) -> None:
    member = metrics[READ][0]
    members = [
        member._replace(
            entry=member.entry._replace(group=f"fs{number}"), now_rate=(100 - number) * 1e6
        )
        for number in range(20)
    ]
    figure = path_figure(site, {READ: members})
    (plot,) = figure.plots
    assert [text.split()[-1] for text in labels(plot) if "whole" in text] == [
        f"fs{number}" for number in range(8, 20)
    ]
    assert len(figure.finding.splitlines()) == 20


def test_a_parallel_run_shows_the_rate_of_all_targets_together(
    site: Site, metrics: Metrics
) -> None:
    times, rates = array("d", [1.0, 2.0]), array("d", [500e6, 600e6])
    run = Course("fs", "scratch", "write", "together", "", times, rates)
    figure = path_figure(site._replace(courses=[*site.courses, run]), metrics)
    assert figure.finding.splitlines()[-1] == "fs scratch write: 600.0 MB/s from all at once."


def test_without_targets_the_disks_are_the_path(site: Site) -> None:
    disks = [entry for entry in site.expectations if entry.layer == "raw"]
    figure = path_figure(site, find_metrics(site._replace(expectations=disks)))
    assert [row.cells[1] for row in figure.table.rows][-1] == "whole path: raw read"
