"""Judge samples that were recorded elsewhere, day by day as they came."""

from __future__ import annotations

from math import ceil
from pathlib import Path
from typing import NamedTuple

from plumbline.judge.replay import (
    Apart,
    Judged,
    bring_together,
    default_limits,
    never_together,
    replay,
)
from plumbline.model.errors import DocumentError
from plumbline.model.units import format_duration
from plumbline.store.samples import read_samples

_UNITS = (("h", 3600.0), ("min", 60.0), ("s", 1.0))
_SLACK = 1.25
"""Of the window that is proposed, times the usual round: some take longer."""


class Replayed(NamedTuple):
    """Verdicts on a file in the ``unit`` of its figures, and what is odd about it.

    ``without`` is the number of rows without a figure; ``hint`` says what to do where no component
    has peers, and is empty where some have.
    """

    judged: tuple[Judged, ...]
    unit: str
    without: int
    hint: str


def replay_file(path: Path, window_s: float) -> Replayed:
    """Judge a file; samples of one host within ``window_s`` seconds are one run.

    Raises:
        DocumentError: the file cannot be read or understood, or no row has a figure.
    """
    read = read_samples(path)
    if not read.samples:
        raise DocumentError(
            f"{path} has no row with a figure and the name of a component "
            f"({read.without} rows without); nothing can be judged"
        )
    samples = bring_together(read.samples, window_s) if window_s else read.samples
    judged = tuple(replay(samples, default_limits(samples)))
    apart = never_together(samples)
    hint = _hint(apart, window_s) if apart else ""
    return Replayed(judged, read.unit, read.without, hint)


def _hint(apart: Apart, window_s: float) -> str:
    """Return what to do where no component has peers."""
    host = f"host {apart.host}" if apart.host else "the file"
    more = f" (and {apart.hosts - 1} more hosts alike)" if apart.hosts > 1 else ""
    when = "within the window" if window_s else "at the same time"
    text = f"{host} has {apart.components} components, no two measured {when}{more}: none has peers"
    wanted_s = _SLACK * apart.round_s
    if wanted_s <= window_s:
        return text
    unit, seconds = next(each for each in _UNITS if wanted_s >= each[1] or each[1] == 1)
    window = f"{ceil(wanted_s / seconds)}{unit}"
    return f"{text}; a round takes {format_duration(apart.round_s)}, try --together {window}"
