"""The path reads from the client's end to the disk, and names what limits it."""

from __future__ import annotations

from array import array
from pathlib import Path

import pytest

from plumbline.model.course import Course
from plumbline.report.path import path_figure, stages
from plumbline.report.site import Cohort, find_cohorts
from tests.package.report.sites import sick

WRITE = Cohort("ost", "write", "single")
READ = Cohort("ost", "read", "single")


def test_the_stages_go_from_the_client_to_the_disk_and_end_with_the_whole(tmp_path: Path) -> None:
    site = sick(tmp_path)
    cohorts = find_cohorts(site)
    found = stages(site, cohorts, READ, cohorts[READ])
    assert [(one.name, one.number, one.limits) for one in found] == [
        ("nic", 4, True),
        ("disk", 6, False),
        ("net receive", 4, False),
        ("raw read", 6, False),
        ("whole path: ost read", 6, False),
    ]


def test_a_stage_has_the_rate_of_one_flow_and_of_all_together(tmp_path: Path) -> None:
    site = sick(tmp_path)
    cohorts = find_cohorts(site)
    disk = stages(site, cohorts, WRITE, cohorts[WRITE])[1]
    assert (disk.ceiling_Bps, disk.sum_Bps) == (200e6, 1200e6)
    whole = stages(site, cohorts, WRITE, cohorts[WRITE])[-1]
    assert whole.now_Bps == pytest.approx(107.6e6, rel=0.01)
    assert whole.baseline_Bps == pytest.approx(107.6e6, rel=0.001)


def test_a_write_says_nothing_of_reads(tmp_path: Path) -> None:
    site = sick(tmp_path)
    cohorts = find_cohorts(site)
    names = [one.name for one in stages(site, cohorts, WRITE, cohorts[WRITE])]
    assert "net send" in names
    assert "raw read" not in names


def test_the_limit_is_marked_in_words_and_in_the_picture(tmp_path: Path) -> None:
    site = sick(tmp_path)
    figure = path_figure(site, find_cohorts(site))
    first = figure.finding.splitlines()[0]
    assert first.startswith("ost write scratch: ")
    assert first.endswith(" of the ceiling, limited by nic.")
    assert figure.plots[0].layout["yaxis"]["ticktext"][0] == "nic (limits)"
    assert len(figure.plots[0].layout["shapes"]) == 1


def test_a_parallel_run_says_what_all_gave_at_once(tmp_path: Path) -> None:
    site = sick(tmp_path)
    times, rates = array("d", [1.0, 2.0]), array("d", [500e6, 600e6])
    run = Course("fs", "scratch", "write", "together", "", times, rates)
    figure = path_figure(site._replace(courses=[*site.courses, run]), find_cohorts(site))
    assert figure.finding.splitlines()[-1] == "fs scratch write: 600.0 MB/s from all at once."


def test_without_targets_the_disks_are_the_path(tmp_path: Path) -> None:
    site = sick(tmp_path)
    disks = [one for one in site.expectations if one.layer == "raw"]
    figure = path_figure(site, find_cohorts(site._replace(expectations=disks)))
    assert [row.cells[1] for row in figure.table.rows][-1] == "whole path: raw read"


def test_without_measurements_there_is_no_path(tmp_path: Path) -> None:
    site = sick(tmp_path)._replace(expectations=())
    assert path_figure(site, find_cohorts(site)).absent
