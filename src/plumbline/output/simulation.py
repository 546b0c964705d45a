"""What a simulation came to, as tables for people."""

from __future__ import annotations

from typing import Iterator, NamedTuple, Optional

from plumbline.output.table import render
from plumbline.simulate.score import Outcome, Source, Trial
from plumbline.simulate.summary import (
    WITHIN_DAYS,
    Alarms,
    Size,
    false_alarms,
    sizes,
    unknown_share,
)

_MOST_FAULTS = 20
"""More than these are shown by size alone."""


class Asked(NamedTuple):
    """What was simulated, for the first line."""

    site: str
    components: int
    noise: str
    seed: int


def tables(asked: Asked, outcome: Outcome) -> Iterator[str]:
    """Yield the paragraphs of the answer."""
    fleets = f"{outcome.fleets} fleets" if outcome.fleets > 1 else "1 fleet"
    yield (
        f"{asked.site}: {asked.components} components, {outcome.days} days of {fleets} after "
        f"those for baselines, noise {asked.noise}, seed {asked.seed}"
    )
    alarms = false_alarms(outcome)
    if any(one.number or one.standing for one in alarms):
        yield _false_alarms(alarms)
    else:
        yield "No false alarm."
    yield f"Not judged (UNKNOWN): {_percent(unknown_share(outcome))} of all healthy days."
    if outcome.trials:
        yield _detection(tuple(sizes(outcome)))
        if len(outcome.trials) <= _MOST_FAULTS:
            yield _faults(outcome.trials)
        yield from _hidden(outcome.trials)


def _false_alarms(alarms: tuple[Alarms, ...]) -> str:
    headers = ("false alarms", "by", "number", "a month", "per 1,000", "standing")
    shown = [one for one in alarms if one.number or one.standing]
    rows = [
        (
            _where(one.source),
            one.source.reason.words,
            str(one.number),
            f"{one.a_month:.2f}",
            f"{one.per_thousand:.1f}",
            _percent(one.standing),
        )
        for one in shown
    ]
    if len(shown) > 1:
        total = (
            str(sum(one.number for one in shown)),
            f"{sum(one.a_month for one in shown):.2f}",
            f"{sum(one.per_thousand for one in shown):.1f}",
            _percent(sum(one.standing for one in shown)),
        )
        rows.append(("all", "", *total))
    return render(headers, rows)


def _where(source: Source) -> str:
    return f"{source.layer} groups" if source.group else source.layer


def _detection(found: tuple[Size, ...]) -> str:
    within = [f"in {days} d" for days in WITHIN_DAYS]
    headers = ("loss", "faults", "seen", "found", *within, "median", "9 of 10")
    return render(headers, [_size(one) for one in found])


def _size(one: Size) -> tuple[str, ...]:
    loss = f"{100 * one.most:g} %"
    if one.least != one.most:
        loss = f"{100 * one.least:g}-{loss}"
    shares = ["-" if share is None else f"{100 * share:.0f} %" for share in one.within]
    counts = (str(one.faults), str(one.identifiable), str(one.found))
    return (loss, *counts, *shares, _days(one.median), _days(one.most_days))


def _days(days: Optional[int]) -> str:
    return "-" if days is None else f"{days} d"


def _faults(trials: tuple[Trial, ...]) -> str:
    headers = ("fault", "kind", "loss", "from", "slows by", "found", "first alarm")
    return render(headers, [_fault(trial) for trial in trials])


def _fault(trial: Trial) -> tuple[str, ...]:
    fault = trial.fault
    first = trial.by[0] if trial.by else "none"
    if not trial.identifiable:
        first = "none possible: the part has slack"
    return (
        fault.component,
        trial.kind,
        f"{100 * fault.loss:.0f} %",
        f"day {fault.day}",
        f"{100 * trial.slows:.0f} %",
        _days(trial.found),
        first,
    )


def _hidden(trials: tuple[Trial, ...]) -> Iterator[str]:
    hidden = sum(not trial.identifiable for trial in trials)
    if hidden:
        yield (
            f"{hidden} of {len(trials)} faults slow no measurement: what is left of these parts is "
            "enough for all that the probes ask of them.\nNo policy finds them; a probe that runs "
            "more of what the part carries together would."
        )


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"
