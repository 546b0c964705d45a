"""Checkmk gets one line for each verdict, which nothing in a name can break."""

from __future__ import annotations

import re
from typing import Any

import pytest

from plumbline.doors.checkmk import local_checks
from plumbline.model.verdict import Figure, Reason, State, Verdict

VERDICT = Verdict("ost", "OST0", State.CRITICAL, Reason.BELOW_LEVEL, "OST0 read 80.3 MB/s")

LINE = re.compile(r"""([0123P])[ ]("[^"']+"|'[^"']+'|[^ "']+)[ ]([^ ]+)(?:[ ]+(.*))?""")
"""How Checkmk takes a line apart; a name holds no quote of either kind, and what does not match is
dropped.  A prefix ``cached(...)`` is the agent's to write."""

METRIC = re.compile(r"(\w+)=(-?[\d.]+)(?:;[^;]*){0,4}", re.ASCII)


def line(**changes: Any) -> str:
    (found,) = local_checks([VERDICT._replace(**changes)]).splitlines()
    return found


def fields(text: str) -> tuple[str, str, str, str]:
    """Return state, name, metrics and text as Checkmk finds them, with its own line ends."""
    found = LINE.fullmatch(text)
    assert found is not None, text
    assert found[3] == "-" or all(METRIC.fullmatch(one) for one in found[3].split("|"))
    return found[1], found[2][1:-1], found[3], found[4].replace("\\n", "\n")


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


def test_of_several_nodes_a_group_is_told_by_its_node() -> None:
    every = [VERDICT, VERDICT._replace(component="scratch", group=True)]
    names = [fields(one)[1] for one in local_checks(every, "client1").splitlines()]
    assert names == ["OST OST0", "OST group scratch client1"]


@pytest.mark.parametrize("name", ['a"b', "a'b", "a\nb", "a|b", "a\\nb", "a b", "cached(1,2)"])
def test_checkmk_reads_what_was_meant_whatever_the_name(name: str) -> None:
    figures = (Figure(name, 1.0), Figure("read_Bps", 80.3e6))
    found = line(component=name, sentence=f"{name} \\n fails", figures=figures)
    state, item, metrics, text = fields(found)
    assert (state, item[:5], item[-1]) == ("2", f"OST {name[0]}", name[-1])
    assert metrics.endswith("=1;;;0|read_Bps=80300000;;;0")
    assert text.endswith(" /n fails")
    assert "\n" not in text


def test_a_label_that_is_no_name_of_a_metric_becomes_one() -> None:
    found = line(figures=(Figure("read together;x=", 1.0),))
    assert found.split(" ")[3] == "read_together_x_=1;;;0"
