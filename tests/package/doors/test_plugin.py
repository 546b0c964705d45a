"""The output of a check is valid for Nagios and its graphers."""

from __future__ import annotations

import re
from typing import Any

import pytest

from plumbline.doors.plugin import MAX_BYTES, performance, plugin_output
from plumbline.model.verdict import Figure, Reason, State, Verdict

EVIDENCE = ("read 1 MB/s", "  baseline 2 MB/s", "    2 d ago 1 MB/s", "write 3 MB/s")


def verdict(**changes: Any) -> Verdict:
    values: dict[str, Any] = {
        "layer": "ost",
        "component": "a",
        "state": State.WARNING,
        "reason": Reason.BELOW_LEVEL,
        "sentence": "a read 1 MB/s",
        "evidence": EVIDENCE,
        "figures": (Figure("read_Bps", 1e6, "", "2:", "1:", 3e6),),
    }
    return Verdict(**{**values, **changes})


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        (
            Figure("write_Bps", 80300000.4, "", "161680000:", "101050000:", 250e6),
            "'write_Bps'=80300000;161680000:;101050000:;0;250000000",
        ),
        (Figure("write_Bps", None, "", "1:", "1:", 250e6), "'write_Bps'=U;1:;1:;0;250000000"),
        (Figure("write_Bps", None), "'write_Bps'=U;;;0"),
        (Figure("share", 0.0301, "%", "0.1"), "'share'=0.0301%;0.1;;0"),
        (Figure("rate", 1.5e12), "'rate'=1500000000000;;;0"),
        (Figure("a'b=c|d\ne", 0.0), "'ab_c/d e'=0;;;0"),
    ],
)
def test_a_figure_has_no_exponent_and_a_legal_label(figure: Figure, text: str) -> None:
    assert performance(figure) == text


@pytest.mark.parametrize(
    ("verbosity", "lines"),
    [
        (0, ()),
        (1, ("read 1 MB/s", "write 3 MB/s")),
        (2, ("read 1 MB/s", "  baseline 2 MB/s", "write 3 MB/s")),
        (3, EVIDENCE),
        (9, EVIDENCE),
    ],
)
def test_verbosity_sets_the_depth_of_the_evidence(verbosity: int, lines: tuple[str, ...]) -> None:
    output = plugin_output("OST", verdict(), verbosity).splitlines()
    assert output[0] == "OST WARNING - a read 1 MB/s | 'read_Bps'=1000000;2:;1:;0;3000000"
    assert tuple(output[1:]) == lines


def test_a_sentence_cannot_end_the_line_or_start_performance_data() -> None:
    hostile = verdict(sentence="a | 'x'=1\nOST OK\r\x1b[31m\u2028b", figures=())
    assert plugin_output("OST", hostile) == "OST WARNING - a / 'x'=1 OST OK ?[31m b\n"


def test_a_long_message_leaves_room_for_performance_data() -> None:
    first = plugin_output("OST", verdict(sentence="x" * 10_000)).splitlines()[0]
    assert len(first) < 800
    assert re.search(r" \.\.\. \| 'read_Bps'=1000000;", first)


def test_long_output_is_cut_at_a_line_end() -> None:
    long = verdict(evidence=tuple(f"line {number} \u00e9" for number in range(2000)))
    output = plugin_output("OST", long, 1)
    assert len(output.encode()) <= MAX_BYTES
    assert re.fullmatch(r"line \d+ \u00e9", output.splitlines()[-1])
    assert output.endswith("\n")
