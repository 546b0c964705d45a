"""Suspects with the measurements that incriminate or clear them."""

from __future__ import annotations

from plumbline.locate.suspects import Located
from plumbline.model.verdict import State
from plumbline.parts.report.suspects import Suspects, suspects_figure
from tests.package.locate.scenes import LAB, LaneRates, both


def suspects(faults: LaneRates) -> Suspects:
    located: Located = LAB.locate(faults)
    return Suspects(located, [None for _ in located.sets], [State.WARNING for _ in located.sets])


def test_a_suspect_has_a_column_with_the_measurements_that_cross_it() -> None:
    figure = suspects_figure(suspects({"oss2-disk1": both(50e6)}), LAB.plan.parts)
    (plot,) = figure.plots
    assert plot.layout["xaxis"]["ticktext"] == ["oss2-disk1"]
    slow = plot.data[0]
    assert slow["name"] == "slow"
    assert "raw oss2-disk1 read" in slow["text"]
    assert all(ratio < 50 for ratio in slow["y"])
    assert figure.finding.startswith("Suspect: disk oss2-disk1 (1 of 1 slow target")


def test_the_table_has_the_evidence() -> None:
    figure = suspects_figure(suspects({"oss2-disk1": both(50e6)}), LAB.plan.parts)
    assert {row.cells[0] for row in figure.table.rows} == {"oss2-disk1"}
    assert len(list(figure.numbers)) == len(figure.table.rows) + 1


def test_a_healthy_site_has_no_suspects() -> None:
    figure = suspects_figure(suspects({}), LAB.plan.parts)
    assert figure.absent == "no component is a suspect"
    assert figure.finding.startswith("0 slow, ")


def test_an_old_plan_without_parts_is_reported() -> None:
    assert "write it again" in suspects_figure(None, {}).absent
