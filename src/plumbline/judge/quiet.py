"""What the runs say of claims of which not one speaks for a loss, as is true of nearly all.

It is what weighing them says, and takes a fraction of the time.
"""

from __future__ import annotations

from math import log
from typing import Optional, Sequence

from plumbline.judge.alarm import Claim, Question, Weight, middle_since, moments_of
from plumbline.judge.chance import is_unsurprising
from plumbline.judge.noise import IN_ONE_GO_S, Run


def quiet(alone: Sequence[Claim], question: Question) -> Optional[Weight]:
    """Return the weight of claims that cannot have an alarm nor odds, None where they may.

    The runs of the claims need not be told apart.
    """
    runs = [run for claim in alone for run in claim.runs]
    more = question.change.starts if question.change else 0.0
    # odds of nothing but how many starts there are are no alarm
    if not runs or question.min_odds <= 0 or log(len(runs) + more) >= question.needed:
        return None
    if not all(is_unsurprising(run, question.limit) for run in runs):
        return None
    since = _last_moment(alone)
    middles = tuple(middle_since(one.runs, since) for one in alone)
    return Weight(0.0, since, 1, middles, alarm=False)


def _last_moment(alone: Sequence[Claim]) -> float:
    """Return when the last moment began; a pause ends whatever was before it."""
    begin = _last_go(sorted([run.at for one in alone for run in one.runs], reverse=True))
    last = {
        Run(run.at, run.log_ratio, run.spread, number)
        for number, one in enumerate(alone)
        for run in one.runs
        if run.at >= begin
    }
    return moments_of(sorted(last))[-1]


def _last_go(moments: Sequence[float]) -> float:
    """Return the first of some moments, newest first, before which is a pause."""
    for at, before in zip(moments, moments[1:]):
        if at - before > IN_ONE_GO_S:
            return at
    return moments[-1]
