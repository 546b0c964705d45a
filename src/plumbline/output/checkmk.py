"""From verdicts to the lines of a Checkmk local check: ``STATE "NAME" METRICS TEXT``.

https://docs.checkmk.com/latest/en/localchecks.html
"""

from __future__ import annotations

import re
from typing import Iterable

from plumbline.model.verdict import Figure, Verdict
from plumbline.output.plugin import clean, number

_NO_METRIC = re.compile(r"\W", re.ASCII)


def local_checks(verdicts: Iterable[Verdict]) -> str:
    """Return one line for each verdict; Checkmk makes it a service of the host that prints it."""
    return "".join(f"{_line(verdict)}\n" for verdict in verdicts)


def _line(verdict: Verdict) -> str:
    kind = " group" if verdict.group else ""
    # a quote would end the name, and there is no way to write one
    name = clean(f"{verdict.layer.upper()}{kind} {verdict.component}").replace('"', "'")
    metrics = "|".join(_metric(each) for each in verdict.figures if each.value is not None)
    # Checkmk takes a backslash and an n for the end of a line
    text = clean(verdict.sentence).replace("\\", "/")
    return f'{verdict.state:d} "{name}" {metrics or "-"} {text}'


def _metric(figure: Figure) -> str:
    """Return ``name=value;warn;crit;min;max`` without levels: the state is plumbline's own."""
    name = _NO_METRIC.sub("_", figure.label)
    return f"{name}={number(figure.value)};;;0;{number(figure.maximum)}".rstrip(";")
