"""Cases to weigh: the measurements of a component or group with their references, and the question.

A loss that may follow a change of software or settings is asked for from that change on.
"""

from __future__ import annotations

from math import log
from typing import Optional, Sequence

import numpy as np

from plumbline.judge.kinds import Measurement
from plumbline.judge.references import Comparison
from plumbline.judge.runs import (
    AT,
    NIGHT_S,
    NUMBER,
    RATIO,
    Case,
    Change,
    Claim,
    Noise,
    Question,
    Source,
    merge,
    moments_of,
    since,
)
from plumbline.model.limits import Limits
from plumbline.model.units import DAY_S

_MAX_FURTHER_RUNS = 9
"""Limit of hypothetical further runs: nobody measures more of them to see an alarm."""
_MIN_LIMIT = 0.01
"""Smaller losses, a logarithm, are below the error of any reference, whatever the policy asks."""

Compared = Sequence[Comparison]


def numbered(compared: Compared) -> Compared:
    """Return the same runs, numbered by operation."""
    operations = operations_in(compared)
    return [_with_number(item, operations.index(item.measurement.what)) for item in compared]


def operations_in(compared: Compared) -> list[str]:
    """Return the operations of some measurements in words, each once."""
    return list(dict.fromkeys(item.measurement.what for item in compared))


def _with_number(compared: Comparison, number: int) -> Comparison:
    if not number:
        # the number of all runs until then
        return compared
    runs = compared.source.runs.copy()
    runs[:, NUMBER] = number
    return compared.with_runs(runs)


def last_change(measurements: Sequence[Measurement]) -> Optional[float]:
    """Return when a change of software or settings was last seen, in epoch seconds.

    Each measurement sees it in its own turn.  The first of one night counts: the others are later
    than the start of their moment.
    """
    changes = [
        measurement.era.since
        for measurement in measurements
        if measurement.era and measurement.era.since is not None
    ]
    last = max(changes, default=0.0)
    return min((at for at in changes if last - at < NIGHT_S), default=None)


def further_runs(compared: Compared, question: Question, alarm: bool) -> list[Case]:
    """Return the same with one, two ... more runs like the last, if these may change the alarm.

    A low run ends no alarm and a good one raises none.  The further runs have the spacing of the
    last two.
    """
    limit = -question.limit
    if not alarm and not any((item.source.runs[:, RATIO] < limit).any() for item in compared):
        # nearly all components: no run to sort
        return []
    compared = numbered(compared)
    runs = merge([item.source.runs for item in compared])
    moments = moments_of(runs)
    low = bool((since(runs, moments[-1])[:, RATIO] < limit).any())
    if alarm is low:
        return []
    spacing_s = moments[-1] - moments[-2] if len(moments) > 1 else DAY_S
    return [
        case_of([_repeated(item, moments[-1], count, spacing_s) for item in compared], question)
        for count in range(1, _MAX_FURTHER_RUNS + 1)
    ]


def case_of(compared: Compared, question: Question) -> Case:
    """Return the claims and the question on some measurements, of a host with all partners.

    The claims are that one operation is slow and, of several operations, that all are.
    """
    of_operations: dict[str, list[Source]] = {}
    of_partners: dict[str, list[Source]] = {}
    for item in numbered(compared):
        of_operations.setdefault(item.measurement.what, []).append(item.source)
        of_partners.setdefault(item.measurement.partner, []).append(item.source)
    single = [Claim(tuple(sources)) for sources in of_operations.values()]
    joint = [Claim(tuple(map(_merged, of_partners.values())))] if len(single) > 1 else []
    return Case(single, joint, question)


def _repeated(compared: Comparison, moment: float, count: int, spacing_s: float) -> Comparison:
    """Return the same with ``count`` repetitions of the last moment's runs."""
    runs = compared.source.runs
    last = since(runs, moment)
    step = np.zeros(last.shape[1])
    step[AT] = spacing_s
    further = [last + number * step for number in range(1, count + 1)]
    return compared.with_runs(np.concatenate([runs, *further]))


def _merged(sources: Sequence[Source]) -> Source:
    """Return one source for several measurements, with the noise of the worst of them."""
    noise: Noise = max((source.noise for source in sources), key=lambda noise: noise.lower)
    runs = merge([source.runs for source in sources])
    off, least = (max(values) for values in zip(*((s.off, s.least) for s in sources)))
    return Source(runs, off, noise, least)


def question_of(limits: Limits, shared: Sequence[Measurement]) -> Question:
    """Return the question by a policy; only a change of ``shared`` measurements counts."""
    at = last_change(shared)
    return Question(
        max(_MIN_LIMIT, -log(1 - limits.peer_loss)),
        log(limits.alarm_odds),
        log(limits.end_odds),
        Change(at, limits.change_starts) if at is not None and limits.change_starts else None,
    )
