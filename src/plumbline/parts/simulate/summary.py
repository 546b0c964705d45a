"""An outcome in figures: alarms a month, and how soon faults of each size were found."""

from __future__ import annotations

from math import ceil, exp, inf, lgamma, log
from typing import Any, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.parts.simulate.score import Outcome, Source, Trial

SCHEMA = 3
MONTH_DAYS = 30.44
WITHIN_DAYS = (1, 3, 7, 14, 30)

_MAX_SIZES = 10
"""More different losses than this are grouped by tens of percent."""


class Alarms(NamedTuple):
    """False alarms of one source.

    ``a_month`` is of one fleet; ``per_thousand`` of 1,000 healthy components in a month;
    ``standing`` the share of the healthy components' days on which an alarm stood.
    """

    source: Source
    number: int
    a_month: float
    per_thousand: float
    standing: float


class Size(NamedTuple):
    """Faults of about one size: the part's loss as a fraction, from ``least`` to ``most``.

    Of those that slow a measurement, ``found`` raised an alarm; ``within`` are the shares found in
    so many days, of the faults followed as long; ``median`` and ``most_days`` (nine of ten) are
    days, None if fewer were found.
    """

    least: float
    most: float
    faults: int
    identifiable: int
    found: int
    within: tuple[Optional[float], ...]
    median: Optional[int]
    most_days: Optional[int]


def false_alarms(outcome: Outcome) -> tuple[Alarms, ...]:
    """Return the alarms without a cause, source by source."""
    months = outcome.fleets * outcome.days / MONTH_DAYS
    component_months = outcome.healthy_days / MONTH_DAYS
    return tuple(
        Alarms(
            source,
            outcome.raised[source],
            outcome.raised[source] / months,
            1000 * outcome.raised[source] / component_months if component_months else 0.0,
            outcome.standing[source] / max(1, outcome.healthy_days),
        )
        for source in sorted({*outcome.raised, *outcome.standing})
    )


class FalseAlarmRate(NamedTuple):
    """False alarms of one fleet in a month, and the share of bad days.

    ``number`` and ``months`` are of all fleets; ``days_share`` is of the days on which a false
    alarm stood, ``days`` their number.
    """

    number: int
    months: float
    days: int
    days_share: float

    @property
    def a_month(self) -> float:
        """Return the false alarms of one fleet in a month."""
        return self.number / self.months

    def exceeds(self, budget: float) -> Optional[bool]:
        """Return whether more alarms than ``budget`` a month are certain; None if too few to tell.

        Certain is a number that a Poisson process of the budget's rate reaches, or stays at or
        below, in one of 20 simulations.
        """
        allowed = budget * self.months
        if _at_most(self.number, allowed) <= _RARE:
            return False
        return True if 1 - _at_most(self.number - 1, allowed) <= _RARE else None


_RARE = 0.05


def _at_most(number: int, mean: float) -> float:
    """Return the probability of at most ``number`` events of a Poisson process."""
    return sum(exp(count * log(mean) - mean - lgamma(count + 1)) for count in range(number + 1))


def false_alarm_rate(outcome: Outcome) -> FalseAlarmRate:
    """Return the false alarms of a fleet."""
    fleet_days = outcome.fleets * outcome.days
    return FalseAlarmRate(
        sum(outcome.raised.values()),
        fleet_days / MONTH_DAYS,
        outcome.false_days,
        outcome.false_days / fleet_days,
    )


def alarms_a_fault(outcome: Outcome) -> Optional[float]:
    """Return the mean number of services that notified of a fault, None if none did."""
    alarms = [
        trial.notifications
        for trial in outcome.trials
        if trial.identifiable and trial.notifications
    ]
    return sum(alarms) / len(alarms) if alarms else None


def silent_faults(outcome: Outcome) -> int:
    """Return the number of faults found but not notified, because another one's alarm stood."""
    return sum(bool(trial.services and not trial.notifications) for trial in outcome.trials)


def unknown_share(outcome: Outcome) -> float:
    """Return the share of healthy components' days that could not be judged."""
    days = sum(count for source, count in outcome.unknown.items() if not source.group)
    return days / max(1, outcome.healthy_days)


class Traffic(NamedTuple):
    """The mean traffic of one fleet on a day, in bytes: of planned runs, and of confirmations."""

    planned: float
    confirmed: float


def daily_traffic(outcome: Outcome) -> Traffic:
    """Return the traffic of the probes."""
    fleet_days = outcome.fleets * outcome.days
    return Traffic(outcome.planned_bytes / fleet_days, outcome.confirmed_bytes / fleet_days)


def sizes(trials: Sequence[Trial]) -> Iterator[Size]:
    """Yield the results of faults, the small ones first."""
    losses = {round(trial.fault.loss, 6) for trial in trials}
    groups: dict[tuple[float, float], list[Trial]] = {}
    for trial in trials:
        loss = round(trial.fault.loss, 6)
        tens = ceil(round(loss * 10, 6)) / 10
        place = (loss, loss) if len(losses) <= _MAX_SIZES else (round(tens - 0.1, 1), tens)
        groups.setdefault(place, []).append(trial)
    for place, of_size in sorted(groups.items()):
        yield _size(place, of_size)


def _size(place: tuple[float, float], trials: Sequence[Trial]) -> Size:
    identifiable = [trial for trial in trials if trial.identifiable]
    days = sorted(inf if trial.found is None else trial.found for trial in identifiable)
    return Size(
        *place,
        len(trials),
        len(identifiable),
        sum(trial.found is not None for trial in identifiable),
        tuple(_within(identifiable, limit) for limit in WITHIN_DAYS),
        _quantile(days, 0.5),
        _quantile(days, 0.9),
    )


def _within(trials: Sequence[Trial], limit: int) -> Optional[float]:
    followed = [trial for trial in trials if trial.followed >= limit]
    if not followed:
        return None
    return sum(t.found is not None and t.found <= limit for t in followed) / len(followed)


def _quantile(ordered: Sequence[float], share: float) -> Optional[int]:
    """Return the smallest value that ``share`` of all do not exceed; None if it is infinite."""
    if not ordered:
        return None
    value = ordered[ceil(share * len(ordered)) - 1]
    return None if value == inf else int(value)


def to_json(outcome: Outcome, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document form; the ``options`` of the command come first."""
    rate, traffic = false_alarm_rate(outcome), daily_traffic(outcome)
    return {
        "schema": SCHEMA,
        **options,
        "false_alarms_a_month": rate.a_month,
        "false_alarm_days_share": rate.days_share,
        "alarms_a_fault": alarms_a_fault(outcome),
        "silent_faults": silent_faults(outcome),
        "planned_bytes_a_day": traffic.planned,
        "confirmed_bytes_a_day": traffic.confirmed,
        "healthy_component_days": outcome.healthy_days,
        "false_alarms": [_alarms(false_alarm) for false_alarm in false_alarms(outcome)],
        "unknown_share": unknown_share(outcome),
        "detection": [_size_in_json(size) for size in sizes(outcome.trials)],
        "chance": [_size_in_json(size) for size in sizes(outcome.chance)],
        "faults": [_fault(trial) for trial in outcome.trials],
    }


def _size_in_json(size: Size) -> dict[str, Any]:
    return {**size._asdict(), "within": dict(zip(map(str, WITHIN_DAYS), size.within))}


def _alarms(alarms: Alarms) -> dict[str, Any]:
    source, figures = alarms.source._asdict(), alarms._asdict()
    del figures["source"]
    return {**source, "reason": alarms.source.reason.value, **figures}


def _fault(trial: Trial) -> dict[str, Any]:
    service, sentence = trial.by or (None, None)
    return {
        **trial.fault._asdict(),
        "kind": trial.kind,
        "identifiable": trial.identifiable,
        "slows": trial.slows,
        "followed_days": trial.followed,
        "found_days": trial.found,
        "found_by": service,
        "services": trial.services,
        "notifications": trial.notifications,
        "sentence": sentence,
    }
