"""Colours and marks: those of Paul Tol's vibrant scheme, which the colour-blind can tell apart.

Each state has a mark of its own as well, so that a print in grey says the same.
https://personal.sron.nl/~pault/ describes the scheme.
"""

from __future__ import annotations

from typing import Any, Sequence

from plumbline.model.state import State

BLUE, CYAN, TEAL = "#0077bb", "#33bbee", "#009988"
ORANGE, RED, MAGENTA, GREY = "#ee7733", "#cc3311", "#ee3377", "#888888"
LINES = (BLUE, ORANGE, TEAL, MAGENTA, CYAN, RED, GREY)
DASHES = ("solid", "dash", "dot", "dashdot")

CEILING, BASELINE, NOW = TEAL, CYAN, BLUE
BASELINE_BAND = "rgba(51, 187, 238, 0.25)"
SEQUENTIAL = "Cividis"

STATES = {
    State.OK: (BLUE, "circle", 6),
    State.WARNING: (ORANGE, "diamond", 10),
    State.CRITICAL: (RED, "x", 11),
    State.UNKNOWN: (GREY, "square-open", 8),
}


def mark(state: State) -> dict[str, Any]:
    """Return how Plotly marks a point of a state."""
    colour, symbol, size = STATES[state]
    return {"color": colour, "symbol": symbol, "size": size}


def line(number: int, width: float = 2.0, colours: Sequence[str] = LINES) -> dict[str, Any]:
    """Return the line of one of many traces; colour and dashes together repeat late."""
    dash = DASHES[number // len(colours) % len(DASHES)]
    return {"color": colours[number % len(colours)], "dash": dash, "width": width}
