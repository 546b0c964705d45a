"""A verdict as the output of a Nagios plug-in.

Monitoring Plugins Development Guidelines: one line ``SERVICE STATE - text | performance data``,
long output below it, at most 8 KiB in all (MAX_PLUGIN_OUTPUT_LENGTH of Nagios Core 4).

The checks load this module, which therefore imports nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable, Optional, Sequence

    from plumbline.model.verdict import Verdict

MAX_BYTES = 8192

_MAX_TEXT = 600
"""Characters of text on the first line, so that performance data always fits."""

_INDENT = 2
"""Spaces per level of evidence: level 1 is shown with ``-vv``, level 2 with ``-vvv``."""


_UNSET = ("", None, "", "", "", None)
"""Defaults of the fields of a Figure."""


def plugin_output(service: str, verdict: Verdict, verbosity: int = 0) -> str:
    """Return all lines of a check of ``service``, such as ``OST``; ``verbosity`` is 0 to 3."""
    first = status_line(service, verdict.state.name, verdict.sentence)
    return output(first, verdict.evidence, verdict.figures, verbosity)


def output(
    first: str, evidence: Iterable[str], figures: Iterable[Sequence[Any]], verbosity: int
) -> str:
    """Return all lines of a check with a status line; ``figures`` are rows of each Figure."""
    data = " ".join(performance(figure) for figure in figures)
    lines = [f"{first} | {data}" if data else first]
    depth = _INDENT * (min(verbosity, 3) - 1)
    lines += [
        clean(line) for line in evidence if verbosity and len(line) - len(line.lstrip()) <= depth
    ]
    return _cut("\n".join(lines) + "\n")


def status_line(service: str, state: str, sentence: str) -> str:
    """Return ``OST OK - sentence``, on one line and without a bar."""
    text = clean(sentence)
    if len(text) > _MAX_TEXT:
        text = text[: _MAX_TEXT - 4] + " ..."
    return f"{service} {state} - {text}"


def clean(text: str) -> str:
    """Return text without line breaks and bars, which begin performance data."""
    if not text.isprintable():
        text = "".join(
            " " if letter.isspace() else letter if letter.isprintable() else "?" for letter in text
        )
    return text.replace("|", "/")


def performance(figure: Sequence[Any]) -> str:
    """Return one datum, ``'label'=value[unit];warn;crit;min;max``; ``U`` for no value.

    ``figure`` is a Figure, or a row of its fields up to the last that is set.
    """
    cells: list[Any] = [*figure, *_UNSET[len(figure) :]]
    label, value, unit, warning, critical, maximum = cells
    name = clean(label).replace("'", "").replace("=", "_")
    shown = "U" if value is None else f"{number(value)}{unit}"
    return f"'{name}'={shown};{warning};{critical};0;{number(maximum)}".rstrip(";")


def number(value: Optional[float]) -> str:
    """Return a number without an exponent, because some graphing tools cannot read one."""
    if value is None:
        return ""
    if abs(value) >= 1000:
        return f"{value:.0f}"
    # times of calls are far below a second
    return f"{value:.{4 if abs(value) >= 0.01 else 7}f}".rstrip("0").rstrip(".")


def _cut(text: str) -> str:
    """Return as many whole lines as fit, or whole words of a single line."""
    data = text.encode("utf-8", "replace")
    if len(data) <= MAX_BYTES:
        return text
    head = data[: MAX_BYTES - 1]
    end = head.rfind(b"\n")
    if end < 0:
        end = head.rfind(b" ")
    return head[:end].decode("utf-8", "ignore") + "\n"
