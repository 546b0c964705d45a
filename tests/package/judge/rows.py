"""Rows of the judge written as named tuples."""

from __future__ import annotations

from typing import Iterable, NamedTuple

import numpy as np

from plumbline.judge.runs import Rows, Source


class Run(NamedTuple):
    """One run: its start, the logarithm of measured / reference, its spread, its source."""

    at: float
    log_ratio: float
    spread: float
    source: int = 0


def rows(runs: Iterable[Run]) -> Rows:
    """Return runs as the judge's array."""
    return np.array(list(runs), float).reshape(-1, len(Run._fields))


def runs_of(source: Source) -> list[Run]:
    """Return the runs of a source as tuples."""
    return [
        Run(at, ratio, spread, int(number)) for at, ratio, spread, number in source.runs.tolist()
    ]
