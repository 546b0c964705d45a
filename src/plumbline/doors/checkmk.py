"""Verdicts as lines of a Checkmk local check: ``STATE "NAME" METRICS TEXT``.

https://docs.checkmk.com/latest/en/localchecks.html
"""

from __future__ import annotations

import re
from typing import Iterable

from plumbline.doors.plugin import clean, number
from plumbline.model.verdict import Figure, Verdict

_QUOTE = re.compile("[\"']")
"""Quotes of either kind end a name and cannot be escaped: Checkmk would silently drop the line."""

_NO_METRIC = re.compile(r"\W", re.ASCII)


def local_checks(verdicts: Iterable[Verdict], node: str = "") -> str:
    """Return one line for each verdict, which becomes a service of the host that prints it.

    ``node`` is added to the name of a group if one host prints groups of several nodes, because
    Checkmk needs distinct service names.
    """
    return "".join(f"{_line(verdict, node)}\n" for verdict in verdicts)


def _line(verdict: Verdict, node: str) -> str:
    kind = "group " if verdict.group else ""
    measured_by = f" {node}" if verdict.group and node else ""
    full = clean(f"{verdict.layer.upper()} {kind}{verdict.component}{measured_by}")
    name = _QUOTE.sub("_", full)
    metrics = "|".join(_metric(datum) for datum in verdict.figures if datum.value is not None)
    # Checkmk reads a backslash and an n as a newline
    text = clean(verdict.sentence).replace("\\", "/")
    return f'{verdict.state:d} "{name}" {metrics or "-"} {text}'


def _metric(figure: Figure) -> str:
    """Return ``name=value;warn;crit;min;max`` without levels, as plumbline sets the state."""
    name = _NO_METRIC.sub("_", figure.label)
    return f"{name}={number(figure.value)};;;0;{number(figure.maximum)}".rstrip(";")
