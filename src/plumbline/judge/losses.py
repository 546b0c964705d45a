"""Evidence in terms of the site: which operation has lost how much, since when, against what."""

from __future__ import annotations

from bisect import bisect_right
from itertools import compress
from math import exp, isnan, log
from typing import Optional

import numpy as np

from plumbline.judge.cases import Compared, numbered, operations_in
from plumbline.judge.days import days_of
from plumbline.judge.kinds import FORMS, Table
from plumbline.judge.references import Comparison
from plumbline.judge.runs import (
    AT,
    RATIO,
    Question,
    Weight,
    merge,
    moments_of,
    since,
)
from plumbline.model.evidence import REPORTED_ODDS, Evidence
from plumbline.model.series import column
from plumbline.model.units import DAY_S

_A_DAY_APART_S = 0.9 * DAY_S
"""Between the nightly runs of a timer that is late by an hour or two."""
_SEVERAL = 2
_SAME_RUN = " in the same run"
_AMONG_PEERS = {form.value for form in FORMS}


def evidence_of(
    compared: Compared, question: Question, weight: Weight, more: Optional[int]
) -> Evidence:
    """Return the evidence on some measurements; ``more`` runs may change the alarm."""
    operations = operations_in(compared)
    low, middles = weight.low, weight.middles
    if low and (weight.alarm or weight.odds >= REPORTED_ODDS):
        low, middles = _slow_moments(compared, weight, question.limit)
    losses = [(middle, number) for number, middle in enumerate(middles) if middle]
    lowest, number = min(losses, default=(0.0, 0))
    also = [(operations[index], exp(middle)) for middle, index in losses if index != number]
    item = next(item for item in compared if item.measurement.what == operations[number])
    against = _against(item, weight.since)
    slow_nights, nights = _slow_nights(compared, operations[number], question.limit)
    return Evidence(
        weight.odds,
        question.needed,
        weight.alarm,
        weight.since,
        weight.moments,
        operations[number],
        exp(lowest) if losses else None,
        against,
        also=tuple(loss for loss in also if -log(loss[1]) >= question.limit),
        more=more,
        low=low,
        gross_since=_gross_since(compared, operations[number]),
        slow_nights=slow_nights,
        nights=nights,
    )


def best_of(compared: Compared, evidence: Evidence) -> float:
    """Return the best ratio since a loss with a ratio began, of its operation.

    Of a loss in some of the runs it is the middle of those.
    """
    if evidence.partial and evidence.ratio is not None:
        return evidence.ratio
    runs = merge([item.source.runs for item in compared if item.measurement.what == evidence.what])
    return exp(float(since(runs, evidence.since)[:, RATIO].max()))


def _slow_moments(
    compared: Compared, weight: Weight, limit: float
) -> tuple[int, tuple[Optional[float], ...]]:
    """Return the number of slow moments of a loss, and the middle of each operation's runs.

    A slow run has lost the limit and is nearer to the loss than to health.  If at most half of the
    moments of an alarm are slow, the middle is that of the slow runs.
    """
    items = numbered(compared)
    starts = moments_of(since(merge([item.source.runs for item in items]), weight.since))
    slow: set[int] = set()
    middles: list[Optional[float]] = []
    for what, middle in zip(operations_in(compared), weight.middles):
        runs = merge([item.source.runs for item in items if item.measurement.what == what])
        runs = since(runs, weight.since)
        low = runs[runs[:, RATIO] <= -limit]
        if len(low):
            low = low[low[:, RATIO] <= float(np.median(low[:, RATIO])) / 2]
        slow.update(bisect_right(starts, at) for at in low[:, AT].tolist())
        middles.append(float(np.median(low[:, RATIO])) if len(low) else middle)
    few = weight.alarm and 2 * len(slow) <= weight.moments
    return len(slow), tuple(middles) if few else weight.middles


def _against(compared: Comparison, begin: float) -> str:
    """Return the words for a reference; a run by name since ``begin`` has no peers in its run."""
    samples = compared.measurement.samples
    runs = zip(*(column(samples, field) for field in ("started_at", "rate", "peers")))
    by_name = any(at >= begin and not (isnan(rate) or peers) for at, rate, peers in runs)
    return compared.against.removesuffix(_SAME_RUN) if by_name else compared.against


def _slow_nights(compared: Compared, operation: str, limit: float) -> tuple[int, int]:
    """Return the number of nights with several runs of an operation, all slow, and of all.

    Both are 0 with fewer than two slow runs, as at most components: to find days takes time.
    """
    runs = next(item.source.runs for item in compared if item.measurement.what == operation)
    is_slow: list[bool] = (runs[:, RATIO] <= -limit).tolist()
    if sum(is_slow) < _SEVERAL:
        return 0, 0
    days = days_of(runs[:, AT]).tolist()
    slow = list(compress(days, is_slow))
    nights = sum(days.count(day) == slow.count(day) >= _SEVERAL for day in set(slow))
    return nights, len(set(days))


def _gross_since(compared: Compared, operation: str) -> Optional[float]:
    """Return the start of an operation's last runs if all were gross, and a day apart at least.

    That is compared with the few peers of the same run, even a single one: a busy file system takes
    as much from each of two days.  Among more peers the spread is known, and the odds decide.
    """
    for item in compared:
        runs, critical = item.source.runs, item.measurement.limits.critical
        if item.measurement.what != operation or item.against in _AMONG_PEERS:
            continue
        if not critical.alerts(100 * exp(runs[-1, RATIO])):
            continue
        table = Table([item.measurement])
        start = last = None
        for at, ratio in zip(table.at[::-1].tolist(), (table.rates - table.peers_rates)[::-1]):
            if isnan(ratio) or not critical.alerts(100 * exp(ratio)):
                break
            start, last = at, last or at
        if start is not None and last - start >= _A_DAY_APART_S:
            return float(start)
    return None
