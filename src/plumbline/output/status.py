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
_WIDEST = 100
"""Characters of a sentence, which would wrap otherwise."""


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


def status(site: str, lines: Sequence[Line], rows: int) -> str:
    """Return the screen: the worst first, at most ``rows`` components, then how many are left."""
    ordered = sorted(lines, key=lambda one: _RANK.index(one.verdict.state))
    states = [one.verdict.state for one in lines]
    counts = ", ".join(f"{states.count(state)} {state.name}" for state in _RANK)
    shown = ordered[: max(1, rows)]
    text = f"{site}: {counts}\n"
    if not lines:
        return f"{text}nothing is expected to be measured here"
    text += render(
        ("state", "layer", "component", "lately", "verdict"), [_row(one) for one in shown]
    )
    left = len(ordered) - len(shown)
    return f"{text}\nand {left} more" if left else text


def _row(one: Line) -> tuple[str, ...]:
    lately = "  ".join(f"{step} {sparkline(rates)}" for step, rates in one.rates.items())
    sentence = one.verdict.sentence
    if len(sentence) > _WIDEST:
        sentence = f"{sentence[: _WIDEST - 3]}..."
    return one.verdict.state.name, one.verdict.layer, one.verdict.component, lately, sentence
