"""Verdicts on samples recorded elsewhere, from a file."""

from __future__ import annotations

from math import ceil
from pathlib import Path
from typing import NamedTuple

from plumbline.judge import replay as replaying
from plumbline.model.errors import DocumentError
from plumbline.model.units import format_duration
from plumbline.store.samples import read_samples

_UNITS = (("h", 3600.0), ("min", 60.0), ("s", 1.0))
_SLACK = 1.25
"""Proposed window as a multiple of the usual round, because some rounds take longer."""


class Replay(NamedTuple):
    """Verdicts on the samples of a file in the ``unit`` of its figures, and oddities.

    ``without`` is the number of rows without a figure; ``hint`` is a remedy if no component has
    peers, else empty.
    """

    judged: tuple[replaying.DayVerdict, ...]
    unit: str
    without: int
    hint: str


def replay_file(path: Path, window_s: float) -> Replay:
    """Judge the samples of a file; those of a host within ``window_s`` seconds are one run.

    Raises:
        DocumentError: the file cannot be read or parsed, or no row has a figure.
    """
    read = read_samples(path)
    if not read.samples:
        raise DocumentError(
            f"{path} has no row with a figure and the name of a component "
            f"({read.without} rows without); nothing can be judged"
        )
    samples = replaying.bring_together(read.samples, window_s) if window_s else read.samples
    judged = tuple(replaying.replay(samples, replaying.default_limits(samples)))
    apart = replaying.never_together(samples)
    hint = _hint(apart, window_s) if apart else ""
    return Replay(judged, read.unit, read.without, hint)


def _hint(apart: replaying.StaggeredHost, window_s: float) -> str:
    """Return the hint for a file in which no component has peers."""
    host = f"host {apart.host}" if apart.host else "the file"
    rest = f" (and {apart.hosts - 1} more hosts alike)" if apart.hosts > 1 else ""
    when = "within the window" if window_s else "at the same time"
    text = f"{host} has {apart.components} components, no two measured {when}{rest}: none has peers"
    proposed_s = _SLACK * apart.round_s
    if proposed_s <= window_s:
        return text
    unit, seconds = next(unit for unit in _UNITS if proposed_s >= unit[1] or unit[1] == 1)
    window = f"{ceil(proposed_s / seconds)}{unit}"
    return f"{text}; a round takes {format_duration(apart.round_s)}, try --together {window}"
