"""One screen of text: number of components in each state, problems, and recent rates.

A component has one line on any screen; longer text is cut.
"""

from __future__ import annotations

from math import isnan
from typing import NamedTuple, Sequence

from plumbline.judge.phrases import moment, number
from plumbline.model.command import printable
from plumbline.model.verdict import Reason, State, Verdict
from plumbline.site.verdicts import Line
from plumbline.store.collection import Unanswered

_BARS = "▁▂▃▄▅▆▇█"
_GAP = "·"
DIGITS = str.maketrans(_BARS + _GAP, "12345678.")
"""Translation of bars to digits, for a terminal without bars."""

_RANK = (State.CRITICAL, State.UNKNOWN, State.WARNING, State.OK)
_COLOURS = {State.CRITICAL: "1;31", State.UNKNOWN: "35", State.WARNING: "33", State.OK: "32"}
_GROUPS = ("group ", "file system ")
"""Words for a group at the start of a sentence."""

_HEADERS = ("state", "layer", "component", "lately", "verdict")
_BARS_WIDE, _BARS_NARROW = 20, 10
_NARROW = 140
"""Columns that a screen needs to show all operations of a component and the verdict."""

_MIN_WORDS = 20
_MAX_NAMED = 3
"""Unreachable nodes named; a dead switch causes hundreds."""

_BETWEEN = "  "


def sparkline(rates: Sequence[float], width: int = 20) -> str:
    """Return the latest rates as bars between 0 and the highest of all; a dot for NaN, no rate.

    Bars begin at 0, so noise looks small, and a lost half looks like a half.
    """
    highest = max((rate for rate in rates if not isnan(rate)), default=0.0)
    last = len(_BARS) - 1
    return "".join(
        _GAP if isnan(rate) or highest <= 0 else _BARS[min(last, int(rate / highest * len(_BARS)))]
        for rate in rates[-width:]
    )


class Screen(NamedTuple):
    """Room on a terminal: rows of components, columns, and whether it has colours."""

    rows: int
    columns: int
    colour: bool = False


def status(
    site: str, lines: Sequence[Line], screen: Screen, unanswered: Sequence[Unanswered] = ()
) -> str:
    """Return the screen, worst and watched components first, with the number of hidden ones.

    ``unanswered`` nodes, which have no newer records, are above all components.
    """
    ordered = urgent(lines)
    states = [line.verdict.state for line in lines]
    counts = ", ".join(f"{states.count(state)} {state.name}" for state in _RANK)
    unreachable = _unreachable_lines(unanswered, screen.columns)
    visible = ordered[: max(1, screen.rows - len(unreachable))]
    text = [f"{printable(site)}: {counts}", *unreachable]
    if not lines:
        return "\n".join([*text, "nothing is expected to be measured here"])
    text += _table(visible, screen)
    hidden = len(ordered) - len(visible)
    return "\n".join(text + [f"and {hidden} more"] * (hidden > 0))


def _unreachable_lines(unanswered: Sequence[Unanswered], columns: int) -> list[str]:
    """Return lines on the first unreachable nodes, and the number of the rest."""
    text = [_cut(printable(_unreachable(node)), columns) for node in unanswered[:_MAX_NAMED]]
    hidden = len(unanswered) - len(text)
    return text + [f"and {number(hidden, 'more node')} did not answer"] * (hidden > 0)


def _unreachable(node: Unanswered) -> str:
    last = "never" if node.answered_at is None else f"last at {moment(node.answered_at)}"
    return f"{node.node} did not answer at {moment(node.tried_at)} ({last}): {node.trouble}"


def urgent(lines: Sequence[Line]) -> list[Line]:
    """Return the lines in the order of the screen, worst and watched components first."""
    return sorted(lines, key=_rank)


def _rank(line: Line) -> tuple[int, bool]:
    return _RANK.index(line.verdict.state), line.verdict.reason is not Reason.WATCHED


def _table(lines: Sequence[Line], screen: Screen) -> list[str]:
    """Return the head and a line for each component, at most as wide as the screen."""
    rows = [_HEADERS, *(_row(line, screen.columns) for line in lines)]
    widths = [max(map(len, column)) for column in list(zip(*rows))[:-1]]
    used = sum(width + len(_BETWEEN) for width in widths)
    room = max(_MIN_WORDS, screen.columns - used)
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
    return verdict.state.name, verdict.layer, name, _recent_bars(line, columns), _sentence(verdict)


def _recent_bars(line: Line, columns: int) -> str:
    """Return bars for each operation; on a narrow screen only for the one that lost most."""
    if columns >= _NARROW:
        bars = (f"{step} {sparkline(rates, _BARS_WIDE)}" for step, rates in line.rates.items())
        return _BETWEEN.join(bars)
    return sparkline(min(line.rates.values(), key=_remaining, default=()), _BARS_NARROW)


def _remaining(rates: Sequence[float]) -> float:
    """Return the latest rate as a fraction of the highest, 0 if there is none."""
    measured = [rate for rate in rates if not isnan(rate)]
    return measured[-1] / max(measured) if measured and max(measured) > 0 else 0.0


def _sentence(verdict: Verdict) -> str:
    """Return the sentence without the name, which has its own column."""
    sentence, name = verdict.sentence, f"{verdict.component} "
    named = (f"{noun}{name}" for noun in ("", *_GROUPS))
    return printable(
        next((sentence[len(prefix) :] for prefix in named if sentence.startswith(prefix)), sentence)
    )


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 3]}..."


def _short(name: str, width: int) -> str:
    """Return a name shortened in the middle, because its ends distinguish peers."""
    plain = printable(name)
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
