"""One screen of text: how many are in which state, who is not OK, and how it went lately.

A component has one line, however narrow the screen: what does not fit is cut.
"""

from __future__ import annotations

from math import isnan
from typing import NamedTuple, Sequence

from plumbline.judge.phrases import moment, number
from plumbline.model.verdict import Reason, State, Verdict
from plumbline.site.verdicts import Line
from plumbline.store.collection import Unanswered

_BARS = "▁▂▃▄▅▆▇█"
_GAP = "·"
DIGITS = str.maketrans(_BARS + _GAP, "12345678.")
"""Bars for a terminal that has no others: translate the text by it."""

_RANK = (State.CRITICAL, State.UNKNOWN, State.WARNING, State.OK)
_COLOURS = {State.CRITICAL: "1;31", State.UNKNOWN: "35", State.WARNING: "33", State.OK: "32"}
_GROUPS = ("group ", "file system ")
"""Words for a group at the start of a sentence."""

_HEADERS = ("state", "layer", "component", "lately", "verdict")
_BARS_WIDE, _BARS_NARROW = 20, 10
_NARROW = 140
"""Columns of a screen on which all operations of a component have place beside words."""

_LEAST_WORDS = 20
_SILENT = 3
"""Nodes without an answer that are named; where a switch is down there are hundreds."""

_BETWEEN = "  "


def sparkline(rates: Sequence[float], width: int = 20) -> str:
    """Return the latest rates as bars from 0 to the highest of all; NaN, no rate, is a dot.

    They begin at zero, so that noise looks like noise and a lost half like one, also when it was
    lost before the first bar.
    """
    highest = max((rate for rate in rates if not isnan(rate)), default=0.0)
    last = len(_BARS) - 1
    return "".join(
        _GAP if isnan(rate) or highest <= 0 else _BARS[min(last, int(rate / highest * len(_BARS)))]
        for rate in rates[-width:]
    )


class Screen(NamedTuple):
    """Room of a terminal: components, columns of a line, and colour or none."""

    rows: int
    columns: int
    colour: bool = False


def status(
    site: str, lines: Sequence[Line], screen: Screen, unanswered: Sequence[Unanswered] = ()
) -> str:
    """Return the screen: the worst and the watched first, and how many have no place.

    Of nodes that are ``unanswered`` nothing newer is known; they stand above all others.
    """
    ordered = sorted(lines, key=_rank)
    states = [line.verdict.state for line in lines]
    counts = ", ".join(f"{states.count(state)} {state.name}" for state in _RANK)
    silent = _silent(unanswered, screen.columns)
    shown = ordered[: max(1, screen.rows - len(silent))]
    text = [f"{_plain(site)}: {counts}", *silent]
    if not lines:
        return "\n".join([*text, "nothing is expected to be measured here"])
    text += _table(shown, screen)
    hidden = len(ordered) - len(shown)
    return "\n".join(text + [f"and {hidden} more"] * (hidden > 0))


def _silent(unanswered: Sequence[Unanswered], columns: int) -> list[str]:
    """Return a line for each of a few nodes that did not answer, and how many more there are."""
    text = [_cut(_plain(_asked_in_vain(node)), columns) for node in unanswered[:_SILENT]]
    hidden = len(unanswered) - len(text)
    return text + [f"and {number(hidden, 'more node')} did not answer"] * (hidden > 0)


def _asked_in_vain(silent: Unanswered) -> str:
    last = "never" if silent.answered_at is None else f"last at {moment(silent.answered_at)}"
    return f"{silent.node} did not answer at {moment(silent.tried_at)} ({last}): {silent.trouble}"


def _rank(line: Line) -> tuple[int, bool]:
    return _RANK.index(line.verdict.state), line.verdict.reason is not Reason.WATCHED


def _table(lines: Sequence[Line], screen: Screen) -> list[str]:
    """Return the head and a line for each component, none longer than the screen."""
    rows = [_HEADERS, *(_row(line, screen.columns) for line in lines)]
    widths = [max(map(len, column)) for column in list(zip(*rows))[:-1]]
    used = sum(width + len(_BETWEEN) for width in widths)
    room = max(_LEAST_WORDS, screen.columns - used)
    text = [
        _BETWEEN.join(
            [*(cell.ljust(width) for cell, width in zip(row, widths)), _cut(row[-1], room)]
        )
        for row in rows
    ]
    head, *body = (row.rstrip() for row in text)
    return [head, *(_coloured(row_text, line, screen) for row_text, line in zip(body, lines))]


def _row(line: Line, columns: int) -> tuple[str, str, str, str, str]:
    verdict = line.verdict
    name = f"group {verdict.component}" if verdict.group else verdict.component
    name = _short(name, max(len(_HEADERS[2]), columns // 4))
    return verdict.state.name, verdict.layer, name, _lately(line, columns), _words(verdict)


def _lately(line: Line, columns: int) -> str:
    """Return bars for each operation; on a narrow screen those of the one that has lost most."""
    if columns >= _NARROW:
        bars = (f"{step} {sparkline(rates, _BARS_WIDE)}" for step, rates in line.rates.items())
        return _BETWEEN.join(bars)
    return sparkline(min(line.rates.values(), key=_left, default=()), _BARS_NARROW)


def _left(rates: Sequence[float]) -> float:
    """Return the latest rate as a fraction of the highest, 0 where there is none."""
    measured = [rate for rate in rates if not isnan(rate)]
    return measured[-1] / max(measured) if measured and max(measured) > 0 else 0.0


def _words(verdict: Verdict) -> str:
    """Return the sentence without the name, which stands beside it."""
    sentence, name = verdict.sentence, f"{verdict.component} "
    named = (f"{noun}{name}" for noun in ("", *_GROUPS))
    return _plain(
        next((sentence[len(prefix) :] for prefix in named if sentence.startswith(prefix)), sentence)
    )


def _plain(text: str) -> str:
    """Return text that moves no cursor."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 3]}..."


def _short(name: str, width: int) -> str:
    """Return a name with both its ends, which tell peers apart."""
    plain = _plain(name)
    if len(plain) <= width:
        return plain
    half = (width - 3) // 2
    return f"{plain[: width - 3 - half]}...{plain[-half:]}"


def _coloured(text: str, line: Line, screen: Screen) -> str:
    """Return a line with its first word in the colour of its state."""
    state = line.verdict.state
    if not screen.colour:
        return text
    return f"\x1b[{_COLOURS[state]}m{state.name}\x1b[0m{text[len(state.name) :]}"
