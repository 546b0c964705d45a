"""``plumbline judge --replay``: judge a file of samples that were recorded elsewhere."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Sequence

from plumbline.judge.replay import Judged
from plumbline.model.state import State
from plumbline.output.table import render
from plumbline.site.replay import replay_file


def judge_file(path: Path, *, window_s: float, as_json: bool) -> int:
    """Print a verdict for each component and day and return 0: the past asks for no action.

    Samples of one host within ``window_s`` seconds are one run.

    Raises:
        DocumentError: the file cannot be read or understood, or no row has a figure.
    """
    found = replay_file(path, window_s)
    if as_json:
        for one in found.judged:
            print(json.dumps(one.to_json(found.unit), allow_nan=False))
    else:
        _print(found.judged, found.unit)
    if found.without:
        print(
            f"plumbline: rows without a figure or a component, left out: {found.without}",
            file=sys.stderr,
        )
    if found.hint:
        print(f"plumbline: {found.hint}", file=sys.stderr)
    return 0


def _print(judged: Sequence[Judged], unit: str) -> None:
    """Print what is not OK for a reason of its own, then how often each state was."""
    bad = [one for one in judged if one.verdict.state.alarm]
    rows = [(one.day, one.host, one.verdict.state.name, one.sentence(unit)) for one in bad]
    print(render(("day", "host", "state", "verdict"), rows))
    counts = Counter(one.verdict.state for one in judged)
    summary = ", ".join(f"{counts[state]} {state.name}" for state in State if counts[state])
    components = len({(one.host, one.component) for one in judged})
    print(f"{components} components, {len(judged)} days of components: {summary}")
