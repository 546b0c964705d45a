"""``plumbline judge --replay``: judge a file of samples that were recorded elsewhere."""

from __future__ import annotations

import json
import sys
from collections import Counter
from math import ceil
from pathlib import Path

from plumbline.errors import DocumentError
from plumbline.judge.replay import Judged, default_limits, replay
from plumbline.judge.together import Apart, bring_together, never_together
from plumbline.model.state import State
from plumbline.output.table import render
from plumbline.store.sampled import read_samples
from plumbline.units import format_duration

_UNITS = (("h", 3600.0), ("min", 60.0), ("s", 1.0))
_SLACK = 1.25
"""Of the window that is proposed, times the usual round: some take longer."""


def judge_file(path: Path, *, window_s: float, as_json: bool) -> int:
    """Print a verdict for each component and day and return 0: the past asks for no action.

    Samples of one host within ``window_s`` seconds are one run.

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
    judged = replay(samples, default_limits(samples))
    if as_json:
        for one in judged:
            print(json.dumps(one.to_json(read.unit), allow_nan=False))
    else:
        _print(list(judged), read.unit)
    if read.without:
        print(
            f"plumbline: rows without a figure or a component, left out: {read.without}",
            file=sys.stderr,
        )
    apart = never_together(samples)
    if apart:
        print(f"plumbline: {_hint(apart, window_s)}", file=sys.stderr)
    return 0


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


def _print(judged: list[Judged], unit: str) -> None:
    """Print what is not OK for a reason of its own, then how often each state was."""
    bad = [one for one in judged if one.verdict.state.alarm]
    rows = [(one.day, one.host, one.verdict.state.name, one.sentence(unit)) for one in bad]
    print(render(("day", "host", "state", "verdict"), rows))
    counts = Counter(one.verdict.state for one in judged)
    summary = ", ".join(f"{counts[state]} {state.name}" for state in State if counts[state])
    components = len({(one.host, one.component) for one in judged})
    print(f"{components} components, {len(judged)} days of components: {summary}")
