"""Tables of a simulation's result."""

from __future__ import annotations

from math import ceil
from typing import Iterator, NamedTuple, Optional, Sequence

from plumbline.doors.table import render
from plumbline.judge.phrases import number
from plumbline.model.units import format_bytes, format_duration
from plumbline.parts.simulate.fleet import Longest
from plumbline.parts.simulate.score import Outcome, Trial
from plumbline.parts.simulate.summary import (
    MONTH_DAYS,
    WITHIN_DAYS,
    Alarms,
    Size,
    alarms_a_fault,
    daily_traffic,
    false_alarm_rate,
    false_alarms,
    silent_faults,
    sizes,
    unknown_share,
)

_TELLING_ALARMS = 10
_MAX_FAULTS = 20
"""Maximum number of faults shown one by one; more are shown by size only."""


class Setup(NamedTuple):
    """Setup of a simulation; ``budget`` is the site's false alarms a month.

    ``longest`` is, for each layer, the node with the longest run; ``healthy`` is the source of the
    rates of healthy components.
    """

    site: str
    components: int
    noise: str
    seed: int
    budget: float
    longest: tuple[Longest, ...] = ()
    healthy: str = "ceilings"


def tables(setup: Setup, outcome: Outcome) -> Iterator[str]:
    """Yield the lines of the answer, false alarms first; an empty line divides paragraphs."""
    first, *rest = _paragraphs(setup, outcome)
    yield from first
    for paragraph in rest:
        yield from ("", *paragraph)


def _paragraphs(setup: Setup, outcome: Outcome) -> Iterator[Sequence[str]]:
    yield list(_summary(setup, outcome))
    alarms = false_alarms(outcome)
    if any(alarm.number or alarm.standing for alarm in alarms):
        yield [_false_alarms(alarms)]
    yield [f"Not judged (UNKNOWN): {_percent(unknown_share(outcome))} of all healthy days."]
    if outcome.trials:
        yield [_detection(outcome)]
        yield from _notifications(outcome)
        if len(outcome.trials) <= _MAX_FAULTS:
            yield [_faults(outcome.trials)]
        yield from _hidden(outcome.trials)


def _summary(setup: Setup, outcome: Outcome) -> Iterator[str]:
    alarms, days = false_alarm_rate(outcome), outcome.fleets * outcome.days
    share = f"on {alarms.days} of {days} days ({100 * alarms.days_share:.1f} %)"
    counted = f"{alarms.number} in {alarms.months:.1f} months"
    above = alarms.exceeds(setup.budget)
    if above is None:
        yield (
            f"false alarms: {counted}, {share}; the budget allows "
            f"{setup.budget * alarms.months:.2g}; too few to tell, "
            f"try --fleets {_telling_fleets(setup, outcome)}"
        )
    else:
        side = "above" if above else "within"
        yield (
            f"{alarms.a_month:.2f} false alarms a month, {side} the budget of {setup.budget:g}: "
            f"{counted}, {share}"
        )
    later = all(trial.fault.day for trial in outcome.trials)
    begin = "after those for baselines" if later else "from the installation on"
    yield (
        f"{setup.site}: {setup.components} components, {outcome.days} days of "
        f"{number(outcome.fleets, 'fleet')} {begin}, noise {setup.noise}, seed {setup.seed}, "
        f"healthy rates by {setup.healthy}"
    )
    longest = [
        f"{layer.layer} {format_duration(layer.seconds)} on {layer.node}" for layer in setup.longest
    ]
    if longest:
        yield f"a run takes at most, while everything is healthy: {', '.join(longest)}"
    moved = daily_traffic(outcome)
    if moved.planned:
        planned, confirmed = map(format_bytes, moved)
        yield f"planned runs move {planned} a day on average, confirmation {confirmed}"


def _telling_fleets(setup: Setup, outcome: Outcome) -> int:
    """Return fleets in which the budget allows ten alarms, at least twice as many as now, in tens.

    A rate of twice the budget or half of it shows then.
    """
    of_one = setup.budget * outcome.days / MONTH_DAYS
    return 10 * ceil(max(_TELLING_ALARMS / of_one, 2 * outcome.fleets) / 10)


def _false_alarms(alarms: tuple[Alarms, ...]) -> str:
    headers = ("false alarms", "by", "number", "a month", "per 1,000", "standing")
    shown = [alarm for alarm in alarms if alarm.number or alarm.standing]
    rows = [
        (
            f"{alarm.source.layer} groups" if alarm.source.group else alarm.source.layer,
            alarm.source.reason.words,
            str(alarm.number),
            f"{alarm.a_month:.2f}",
            f"{alarm.per_thousand:.1f}",
            _percent(alarm.standing),
        )
        for alarm in shown
    ]
    if len(shown) > 1:
        total = (
            str(sum(alarm.number for alarm in shown)),
            f"{sum(alarm.a_month for alarm in shown):.2f}",
            f"{sum(alarm.per_thousand for alarm in shown):.1f}",
            _percent(sum(alarm.standing for alarm in shown)),
        )
        rows.append(("all", "", *total))
    return render(headers, rows)


def _detection(outcome: Outcome) -> str:
    within_headers = [f"in {days} d" for days in WITHIN_DAYS]
    headers = ("loss", "faults", "seen", "found", *within_headers, "median", "9 of 10")
    rows = []
    for size, chance in zip(sizes(outcome.trials), sizes(outcome.chance)):
        rows += [_size(size), ("by chance", "", "", *_size(chance)[3:])]
    return render(headers, rows)


def _notifications(outcome: Outcome) -> Iterator[Sequence[str]]:
    number = alarms_a_fault(outcome)
    if number is None:
        return
    silenced = silent_faults(outcome)
    suffix = f"; {silenced} of them silent behind the alarm of another fault" if silenced else ""
    yield [f"Alarms a fault: {number:.1f} notifications on average{suffix}."]


def _size(size: Size) -> tuple[str, ...]:
    loss = f"{100 * size.most:g} %"
    if size.least != size.most:
        loss = f"{100 * size.least:g}-{loss}"
    shares = ["-" if share is None else f"{100 * share:.0f} %" for share in size.within]
    counts = (str(size.faults), str(size.identifiable), str(size.found))
    return (loss, *counts, *shares, _days(size.median), _days(size.most_days))


def _days(days: Optional[int]) -> str:
    return "-" if days is None else f"{days} d"


def _faults(trials: tuple[Trial, ...]) -> str:
    headers = ("fault", "kind", "loss", "from", "slows by", "found", "alarms", "first alarm")
    return render(headers, [_fault(trial) for trial in trials])


def _from(day: int) -> str:
    if day < 0:
        return "before the baselines"
    return f"day {day}" if day else "installation"


def _fault(trial: Trial) -> tuple[str, ...]:
    fault = trial.fault
    first = trial.by[0] if trial.by else "none"
    if not trial.identifiable:
        first = "none possible: it slows nothing"
    return (
        fault.component,
        trial.kind,
        f"{100 * fault.loss:.0f} %{f' {fault.operation}' if fault.operation else ''}",
        _from(fault.day),
        f"{100 * trial.slows:.0f} %",
        _days(trial.found),
        str(trial.notifications),
        first,
    )


def _hidden(trials: tuple[Trial, ...]) -> Iterator[Sequence[str]]:
    hidden = sum(not trial.identifiable for trial in trials)
    if hidden:
        faults = f"{hidden} of {len(trials)} faults slow no measurement"
        remedy = "a probe that runs more of what a part carries together would"
        yield [
            f"{faults}: what is left of these parts is enough for all that the probes ask of them,",
            f"or an earlier fault takes more. No policy finds them; {remedy}.",
        ]


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"
