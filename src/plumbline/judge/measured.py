"""A rate with its ceiling, baseline and peers, firm or provisional.

A target measured on demand has no peers in its run.  A provisional reference carries its error, so
that only a difference beyond that error decides.
"""

from __future__ import annotations

from math import inf, log, sqrt
from sys import intern
from typing import NamedTuple, Optional, Sequence

from plumbline.judge.operations import label
from plumbline.model.conditions import (
    SPECIFICATION,
    TERMS,
    Difference,
    differences,
    of_baseline,
    of_record,
)
from plumbline.model.errors import DocumentError
from plumbline.model.layers import LAYERS
from plumbline.model.limits import Baseline, Ceiling, Limits, Reference
from plumbline.model.record import Record
from plumbline.model.series import Sample, Series
from plumbline.model.units import DAY_S

CERTAIN = 4.5
"""Standard errors: of a thousand healthy measurements a night one passes in a year."""

_RUN_ERROR = 0.19
"""Spread of one healthy component's runs over a year of scheduled benchmarks
(simulate/fleet.py)."""

_VARIANCE_OF_A_MEDIAN = 1.57
"""Of n values, in units of their variance / n: pi / 2."""

_RECENT_S = 7 * DAY_S
"""Longer if results stay valid for longer: rare measurements have rare runs."""
_RECENT_RUNS = 5
"""Newest runs of a target itself, and newest ones with peers, which may lie before these."""
_MIN_PEERS = 2


class Provisional(NamedTuple):
    """A rate to compare with, and the standard error of the comparison.

    ``error`` is that of the logarithm of measured / reference; ``words`` name the reference.  Only
    a reference that ``clears`` can show that a component is healthy: its own runs may have been
    slow as well.  ``weakness`` is why it is no firm baseline, empty if it is no baseline at all.
    """

    rate: float
    error: float
    words: str
    clears: bool
    weakness: str = ""

    def certainly_low(self, rate: float) -> bool:
        """Return whether a rate is below the reference by more than the error explains."""
        return log(self.rate / rate) >= CERTAIN * self.error


def provisional(series: Series, weak: Optional[Baseline], limits: Limits) -> Optional[Provisional]:
    """Return the provisional reference of the latest run of a series, None without one.

    ``weak`` is a baseline under the same conditions that is not firm.
    """
    if not LAYERS[series.latest.layer].has_provisional:
        return None
    if weak is None:
        return _recent(series, limits)
    error = _error(max(weak.spread, _RUN_ERROR), max(1, weak.runs))
    weakness = limits.weakness(weak)
    words = f"its provisional baseline ({weakness})"
    return Provisional(weak.median, error, words, clears=True, weakness=weakness)


def _recent(series: Series, limits: Limits) -> Optional[Provisional]:
    """Return the recent runs as a reference, or the peers of recent runs if these were faster."""
    samples = _comparable((*series.samples[1:], *series.earlier), series.latest.started_at, limits)
    if not samples:
        return None
    runs = samples[:_RECENT_RUNS]
    own = _median([sample.rate for sample in runs if sample.rate])
    with_peers = list(filter(_has_peers, samples))[:_RECENT_RUNS]
    if with_peers:
        peers = _median([sample.peers_rate for sample in with_peers if sample.peers_rate])
        if peers >= own:
            noun = "run" if with_peers == samples[: len(with_peers)] else "run with peers"
            words = f"the median of its {with_peers[0].peers} peers in {_last(with_peers, noun)}"
            return Provisional(peers, _error(_RUN_ERROR, len(with_peers)), words, clears=True)
    count = _last(runs, "run")
    words = count if len(runs) == 1 else f"the median of {count}"
    return Provisional(own, _error(_RUN_ERROR, len(runs)), words, clears=bool(with_peers))


def _last(runs: Sequence[Sample], noun: str) -> str:
    """Return e.g. ``its last run`` or ``its last 3 runs with peers``."""
    number = "" if len(runs) == 1 else f"{len(runs)} "
    return f"its last {number}{noun.replace('run', 'runs') if number else noun}"


def clearing(samples: Sequence[Sample], now: float, limits: Limits) -> bool:
    """Return whether a recent run had enough peers to clear a component at ``now``."""
    return any(map(_has_peers, _comparable(samples, now, limits)))


def _has_peers(sample: Sample) -> bool:
    return bool(sample.peers_rate) and sample.peers >= _MIN_PEERS


def _comparable(samples: Sequence[Sample], now: float, limits: Limits) -> list[Sample]:
    """Return the runs of the last days with a rate and without contention, newest first."""
    recent_s = max(_RECENT_S, limits.stale_after_s)
    return [
        sample
        for sample in samples
        if sample.rate
        and 0 <= now - sample.started_at <= recent_s
        and not limits.contended(sample.coverage)
    ]


def _error(spread: float, runs: int) -> float:
    return spread * sqrt(1 + _VARIANCE_OF_A_MEDIAN / runs)


def _median(values: Sequence[float]) -> float:
    # not from the module statistics, which loads slowly in a check
    ordered, middle = sorted(values), len(values) // 2
    return (ordered[middle] + ordered[~middle]) / 2


class Measured(NamedTuple):
    """One operation of one component in its latest run, which gave a rate.

    ``baseline`` is None unless it may be used; ``doubt`` is then the reason.  ``samples`` are
    newest first and begin with this run, in which ``peers`` others had the median ``peers_rate``.
    ``provisional`` replaces a missing baseline and missing peers; ``given`` are the references as
    the console gave them, usable or not.  ``requests`` are words on the time of its requests, empty
    if unknown.
    """

    record: Record
    rate: float
    samples: Sequence[Sample]
    ceiling: Optional[Ceiling]
    baseline: Optional[Baseline]
    doubt: str
    limits: Limits
    peers: int = 0
    peers_rate: Optional[float] = None
    provisional: Optional[Provisional] = None
    given: Reference = Reference(None, None)
    requests: str = ""

    @property
    def what(self) -> str:
        """Return the operation in words, e.g. ``read`` or ``read together``."""
        return label(self.record.operation, self.record.scenario)

    def shown(self, rate: float) -> str:
        """Return a rate in the unit of the operation, e.g. ``80.3 MB/s``."""
        return self.record.operation.quantity.format(rate)

    @property
    def reference_rate(self) -> Optional[float]:
        """Return the reference of percentages: the baseline, else the peers, else None."""
        return self.baseline.median if self.baseline else self.peers_rate

    @property
    def percent(self) -> Optional[float]:
        """Return the rate in percent of the reference."""
        return None if self.reference_rate is None else 100 * self.rate / self.reference_rate

    @property
    def provisional_percent(self) -> Optional[float]:
        """Return the rate in percent of the provisional reference, if there is no firm one."""
        reference = None if self.reference_rate is not None else self.provisional
        return 100 * self.rate / reference.rate if reference else None

    @property
    def ratio_ceiling(self) -> Optional[float]:
        """Return rate / ceiling."""
        return self.rate / self.ceiling.rate if self.ceiling else None

    @property
    def at_ceiling(self) -> bool:
        """Return whether it is about its ceiling: no healthy rate is notably higher.

        A rate far above shows that the ceiling is wrong, even if the site tolerates it.  With runs
        of its own before, it is enough that it is beyond no level even against the ceiling.
        """
        ratio = self.ratio_ceiling
        if ratio is None or ratio - 1 > self.limits.peer_loss:
            return False
        fine = self.provisional is not None and not self.low(100 * ratio)
        return fine or 1 - ratio <= self.limits.peer_loss

    @property
    def ratio_baseline(self) -> Optional[float]:
        """Return rate / baseline, if the baseline may be used."""
        return self.rate / self.baseline.median if self.baseline else None

    @property
    def ratio_peers(self) -> Optional[float]:
        """Return rate / median of the peers."""
        return self.rate / self.peers_rate if self.peers_rate else None

    @property
    def even(self) -> bool:
        """Return whether it ran together with others and got an even share of the total."""
        even = self.ceiling and self.ceiling.even
        return even is not None and self.rate >= (1 - self.limits.peer_loss) * even

    @property
    def repeats(self) -> tuple[float, ...]:
        """Return the rates of the repeats within the run, or the only one."""
        return self.record.repeats or (self.rate,)

    @property
    def contended(self) -> bool:
        """Return whether others are known to have moved much of the traffic meanwhile."""
        return self.limits.contended(self.record.coverage)

    def alerts(self, percent: float) -> bool:
        """Return whether a percentage of the reference is beyond any level."""
        return self.limits.alerts(percent)

    def low(self, percent: Optional[float]) -> bool:
        """Return whether a percentage is beyond a level and below the reference."""
        return percent is not None and percent < 100 and self.alerts(percent)

    @property
    def is_low(self) -> bool:
        """Return whether the rate is below a level: a level above it shows no loss."""
        return self.low(self.percent) or self.low(self.provisional_percent)


def measured(series: Series, reference: Reference, limits: Limits) -> Measured:
    """Return the latest record of a series, which must have a rate, with its references.

    Raises:
        DocumentError: a reference is no rate.
    """
    record = series.latest
    assert record.rate is not None
    _refuse_impossible(record, reference)
    doubt = doubt_about(reference.baseline, record, limits)
    run = series.samples[0] if series.samples else None
    current = Measured(
        record=record,
        rate=record.rate,
        samples=series.samples,
        ceiling=reference.ceiling,
        baseline=None if doubt else reference.baseline,
        doubt=doubt,
        limits=limits,
        peers=run.peers if run else 0,
        peers_rate=run.peers_rate if run else None,
        given=reference,
    )
    if current.reference_rate is not None:
        return current
    any_strength = limits._replace(min_runs=0, max_spread=inf)
    weak = None if doubt_about(reference.baseline, record, any_strength) else reference.baseline
    return current._replace(provisional=provisional(series, weak, limits))


def doubt_about(baseline: Optional[Baseline], record: Record, limits: Limits) -> str:
    """Return why a record cannot be compared with a baseline, empty if it can or never will."""
    if baseline is None:
        return "no baseline yet" if limits.baselines else ""
    if baseline.demonstrated:
        rate = record.operation.quantity.format(baseline.median)
        return f"{rate} were demonstrated with {baseline.terms}, by no probe"
    weakness = limits.weakness(baseline)
    if weakness:
        return f"its baseline {weakness}"
    changes = differences(of_baseline(baseline), of_record(record), limits.fill_change)
    # after an upgrade nearly all components have the same text
    words = "; ".join(map(_change_words, changes))
    return intern(f"its baseline was taken {words}") if changes else ""


def era_of(baseline: Optional[Baseline], record: Record, limits: Limits) -> str:
    """Return the versions that changed since a baseline, empty if anything else changed too.

    For example ``client 2.3.0 -> 2.4.0``.
    """
    if baseline is None or baseline.demonstrated or limits.weakness(baseline):
        return ""
    changes = differences(of_baseline(baseline), of_record(record), limits.fill_change)
    names = {*(record.versions or {}), *baseline.versions}
    same = all(change.name in names for change in changes)
    return intern(", ".join(map(str, changes))) if same else ""


def _change_words(change: Difference) -> str:
    if change.name == SPECIFICATION:
        return "with another probe specification"
    how = "with" if change.name == TERMS else f"under {change.name}"
    return f"{how} {change.then}, now {change.now}"


def _refuse_impossible(record: Record, reference: Reference) -> None:
    for name, rate in (
        ("ceiling", reference.ceiling and reference.ceiling.rate),
        ("baseline", reference.baseline and reference.baseline.median),
        ("goal", reference.goal),
        ("part of the goal", reference.goal_part),
    ):
        if rate is not None and not rate > 0:
            raise DocumentError(
                f"expectations give {record.component} {record.operation.value} the {name} "
                f"{rate!r}, which is no rate; correct it in the inventory and deploy the "
                "role agent again"
            )
