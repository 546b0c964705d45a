"""From verdicts to the lines of a Checkmk local check: ``STATE "NAME" METRICS TEXT``.

https://docs.checkmk.com/latest/en/localchecks.html
"""

from __future__ import annotations

import re
from typing import Iterable

from plumbline.doors.plugin import clean, number
from plumbline.model.verdict import Figure, Verdict

_QUOTE = re.compile("[\"']")
"""Either would end a name, whichever it began with, and there is no way to write one: Checkmk
would drop the line without a word."""

_NO_METRIC = re.compile(r"\W", re.ASCII)


def local_checks(verdicts: Iterable[Verdict], node: str = "") -> str:
    """Return one line for each verdict; Checkmk makes it a service of the host that prints it.

    ``node`` is named with each group where one host prints those of several nodes: a name that
    comes twice is one service.
    """
    return "".join(f"{_line(verdict, node)}\n" for verdict in verdicts)


def _line(verdict: Verdict, node: str) -> str:
    kind = "group " if verdict.group else ""
    measured_by = f" {node}" if verdict.group and node else ""
    full = clean(f"{verdict.layer.upper()} {kind}{verdict.component}{measured_by}")
    name = _QUOTE.sub("_", full)
    metrics = "|".join(_metric(each) for each in verdict.figures if each.value is not None)
    # Checkmk takes a backslash and an n for the end of a line
    text = clean(verdict.sentence).replace("\\", "/")
    return f'{verdict.state:d} "{name}" {metrics or "-"} {text}'


def _metric(figure: Figure) -> str:
    """Return ``name=value;warn;crit;min;max`` without levels: the state is plumbline's own."""
    name = _NO_METRIC.sub("_", figure.label)
    return f"{name}={number(figure.value)};;;0;{number(figure.maximum)}".rstrip(";")
