"""Suspects with the measurements that incriminate or clear them."""

from __future__ import annotations

from plumbline.model.suspects import Suspects
from plumbline.model.verdict import State
from plumbline.parts.locate import contract
from plumbline.parts.report.suspects import suspects_figure
from tests.package.parts.locate.scenes import LAB, LaneRates, both


def suspects(faults: LaneRates) -> Suspects:
    located = LAB.locate(faults)
    count = len(located.sets)
    return contract.suspects(located, [None] * count, [State.WARNING] * count, LAB.plan.parts)


def test_a_suspect_has_a_column_with_the_measurements_that_cross_it() -> None:
    figure = suspects_figure(suspects({"oss2-disk1": both(50e6)}))
    (plot,) = figure.plots
    assert plot.layout["xaxis"]["ticktext"] == ["oss2-disk1"]
    slow = plot.data[0]
    assert slow["name"] == "slow"
    assert "raw oss2-disk1 read" in slow["text"]
    assert all(ratio < 50 for ratio in slow["y"])
    assert figure.finding.startswith("Suspect: disk oss2-disk1 (1 of 1 slow target")


def test_the_table_has_the_evidence() -> None:
    figure = suspects_figure(suspects({"oss2-disk1": both(50e6)}))
    assert {row.cells[0] for row in figure.table.rows} == {"oss2-disk1"}
    assert len(list(figure.numbers)) == len(figure.table.rows) + 1


def test_a_healthy_site_has_no_suspects() -> None:
    figure = suspects_figure(suspects({}))
    assert figure.absent == "no component is a suspect"
    assert figure.finding.startswith("0 slow, ")


def test_an_old_plan_without_parts_is_reported() -> None:
    figure = suspects_figure(Suspects(unknown="write the plan again"))
    assert (figure.absent, figure.plots) == ("write the plan again", ())
