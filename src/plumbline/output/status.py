"""One screen of text: how many are in which state, who is not OK, and how it went lately."""

from __future__ import annotations

from math import isnan
from typing import Mapping, NamedTuple, Sequence

from plumbline.model.state import State
from plumbline.model.verdict import Verdict
from plumbline.output.table import render

_BARS = "▁▂▃▄▅▆▇█"
_GAP = "·"
_RANK = (State.CRITICAL, State.UNKNOWN, State.WARNING, State.OK)
_HEADERS = ("state", "layer", "component", "lately", "verdict")
_BARS_WIDE, _BARS_NARROW = 20, 10
_NARROW = 140
"""Columns of a screen on which the bars leave place for words."""

_LEAST_WORDS = 20


class Line(NamedTuple):
    """One component; ``rates`` maps each step, such as ``write``, to its rates, oldest first."""

    verdict: Verdict
    rates: Mapping[str, Sequence[float]]


def sparkline(rates: Sequence[float], width: int = 20) -> str:
    """Return the latest rates as bars from 0 to the highest; NaN, where there was none, is a dot.

    They begin at zero, so that noise looks like noise and a lost half like one.
    """
    latest = rates[-width:]
    highest = max((rate for rate in latest if not isnan(rate)), default=0.0)
    last = len(_BARS) - 1
    return "".join(
        _GAP if isnan(rate) or highest <= 0 else _BARS[min(last, int(rate / highest * len(_BARS)))]
        for rate in latest
    )


class Screen(NamedTuple):
    """How many components have place, and how many columns a line may have."""

    rows: int
    columns: int


def status(site: str, lines: Sequence[Line], screen: Screen) -> str:
    """Return the screen: the worst first, as many as have place, then how many are left."""
    ordered = sorted(lines, key=lambda one: _RANK.index(one.verdict.state))
    states = [one.verdict.state for one in lines]
    counts = ", ".join(f"{states.count(state)} {state.name}" for state in _RANK)
    shown = ordered[: max(1, screen.rows)]
    text = f"{site}: {counts}\n"
    if not lines:
        return f"{text}nothing is expected to be measured here"
    text += render(_HEADERS, _rows(shown, screen.columns))
    left = len(ordered) - len(shown)
    return f"{text}\nand {left} more" if left else text


def _rows(lines: Sequence[Line], columns: int) -> list[tuple[str, ...]]:
    """Return rows of which the last cell, the sentence, is cut where the screen ends."""
    width = _BARS_NARROW if columns < _NARROW else _BARS_WIDE
    heads = [_head(one, width) for one in lines]
    used = sum(max(map(len, column)) + 2 for column in zip(_HEADERS[:-1], *heads))
    left = max(_LEAST_WORDS, columns - used)
    return [(*head, _words(one.verdict, left)) for head, one in zip(heads, lines)]


def _head(one: Line, width: int) -> tuple[str, str, str, str]:
    lately = "  ".join(f"{step} {sparkline(rates, width)}" for step, rates in one.rates.items())
    return one.verdict.state.name, one.verdict.layer, one.verdict.component, lately


def _words(verdict: Verdict, left: int) -> str:
    """Return the sentence without the name, which stands beside it."""
    sentence = verdict.sentence
    if sentence.startswith(f"{verdict.component} "):
        sentence = sentence[len(verdict.component) + 1 :]
    return sentence if len(sentence) <= left else f"{sentence[: left - 3]}..."
