"""Checkmk gets one line for each verdict, whatever characters a name has."""

from __future__ import annotations

import re
from typing import Any

import pytest

from plumbline.doors.checkmk import local_checks
from plumbline.model.verdict import Figure, Reason, State, Verdict

VERDICT = Verdict("ost", "OST0", State.CRITICAL, Reason.BELOW_LEVEL, "OST0 read 80.3 MB/s")

LINE = re.compile(r"""([0123P])[ ]("[^"']+"|'[^"']+'|[^ "']+)[ ]([^ ]+)(?:[ ]+(.*))?""")
"""Pattern of a line as Checkmk parses it: no quotes in names, unmatched lines are dropped.  Only
the agent writes the prefix ``cached(...)``."""

METRIC = re.compile(r"(\w+)=(-?[\d.]+)(?:;[^;]*){0,4}", re.ASCII)


def line(**changes: Any) -> str:
    (output,) = local_checks([VERDICT._replace(**changes)]).splitlines()
    return output


def fields(text: str) -> tuple[str, str, str, str]:
    """Return state, name, metrics and text as parsed by Checkmk."""
    match = LINE.fullmatch(text)
    assert match is not None, text
    assert match[3] == "-" or all(METRIC.fullmatch(metric) for metric in match[3].split("|"))
    return match[1], match[2][1:-1], match[3], match[4].replace("\\n", "\n")


def test_a_line_has_state_name_metrics_and_text() -> None:
    figures = (
        Figure("write_Bps", 195e6, "", "160000000:", "100000000:", 250e6),
        Figure("send_retransmits", 0.25, "%", "0.5"),
    )
    assert line(figures=figures) == (
        '2 "OST OST0" write_Bps=195000000;;;0;250000000|send_retransmits=0.25;;;0 '
        "OST0 read 80.3 MB/s"
    )


def test_a_verdict_without_figures_has_a_dash() -> None:
    assert line() == '2 "OST OST0" - OST0 read 80.3 MB/s'
    assert line(figures=(Figure("read_Bps", None),)) == line()


@pytest.mark.parametrize("name", ['a"b', "a'b", "a\nb", "a|b", "a\\nb", "a b", "cached(1,2)"])
def test_checkmk_parses_names_with_special_characters(name: str) -> None:
    figures = (Figure(name, 1.0), Figure("read_Bps", 80.3e6))
    output = line(component=name, sentence=f"{name} \\n fails", figures=figures)
    state, item, metrics, text = fields(output)
    assert (state, item[:5], item[-1]) == ("2", f"OST {name[0]}", name[-1])
    assert metrics.endswith("=1;;;0|read_Bps=80300000;;;0")
    assert text.endswith(" /n fails")
    assert "\n" not in text


def test_an_invalid_metric_name_is_corrected() -> None:
    output = line(figures=(Figure("read together;x=", 1.0),))
    assert output.split(" ")[3] == "read_together_x_=1;;;0"
