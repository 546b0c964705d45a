"""``plumbline judge --replay``: judge a file of samples that were recorded elsewhere."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from plumbline.judge.replay import Judged, replay
from plumbline.model.expectation import Limits
from plumbline.model.state import State
from plumbline.output.table import render
from plumbline.store.sampled import read_samples


def judge_file(path: Path, *, as_json: bool) -> int:
    """Print a verdict for each component and day and return 0: the past asks for no action.

    Raises:
        DocumentError: the file cannot be read or understood.
    """
    read = read_samples(path)
    judged = replay(read.samples, Limits())
    if as_json:
        for one in judged:
            print(json.dumps(one.to_json(read.unit), allow_nan=False))
    else:
        _print(list(judged), read.unit)
    if read.without:
        print(
            f"plumbline: rows that told nothing and were left out: {read.without}", file=sys.stderr
        )
    return 0


def _print(judged: list[Judged], unit: str) -> None:
    """Print what is not OK for a reason of its own, then how often each state was."""
    bad = [one for one in judged if one.verdict.state in (State.WARNING, State.CRITICAL)]
    rows = [(one.day, one.host, one.verdict.state.name, one.sentence(unit)) for one in bad]
    print(render(("day", "host", "state", "verdict"), rows))
    counts = Counter(one.verdict.state for one in judged)
    summary = ", ".join(f"{counts[state]} {state.name}" for state in State if counts[state])
    components = len({(one.host, one.component) for one in judged})
    print(f"{components} components, {len(judged)} days of components: {summary}")
