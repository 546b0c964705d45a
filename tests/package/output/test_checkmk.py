"""Checkmk gets one line for each verdict, which nothing in a name can break."""

from __future__ import annotations

from typing import Any

import pytest

from plumbline.model.state import State
from plumbline.model.verdict import Figure, Verdict
from plumbline.output.checkmk import local_checks


def line(**changes: Any) -> str:
    verdict = Verdict("ost", "OST0", State.CRITICAL, 5, "OST0 read 80.3 MB/s")
    (found,) = local_checks([verdict._replace(**changes)]).splitlines()
    return found


def test_a_line_says_state_name_metrics_and_text() -> None:
    figures = (
        Figure("write_Bps", 195e6, "", "160000000:", "100000000:", 250e6),
        Figure("send_retransmits", 0.25, "%", "0.5"),
    )
    assert line(figures=figures) == (
        '2 "OST OST0" write_Bps=195000000;;;0;250000000|send_retransmits=0.25;;;0 '
        "OST0 read 80.3 MB/s"
    )


@pytest.mark.parametrize("state", State)
def test_the_state_is_the_number_of_the_verdict(state: State) -> None:
    assert line(state=state).startswith(f"{state.value} ")


def test_without_a_figure_there_is_a_dash() -> None:
    assert line() == '2 "OST OST0" - OST0 read 80.3 MB/s'
    assert line(figures=(Figure("read_Bps", None),)) == line()


def test_a_group_is_named_as_one() -> None:
    assert line(component="scratch", group=True).startswith('2 "OST group scratch" ')


@pytest.mark.parametrize("name", ['a"b', "a\nb", "a|b"])
def test_no_name_ends_its_field_or_the_line(name: str) -> None:
    found = line(component=name, sentence=f"{name} \\n fails")
    assert found.count('"') - found.rpartition('" - ')[2].count('"') == 2
    assert "\\" not in found


def test_a_label_that_is_no_name_of_a_metric_becomes_one() -> None:
    found = line(figures=(Figure("read together;x=", 1.0),))
    assert found.split(" ")[3] == "read_together_x_=1;;;0"
