"""Findings, and the words for a measurement and its references."""

from __future__ import annotations

from math import exp
from typing import Iterable, Iterator, NamedTuple, Optional, Sequence

from plumbline.judge.measured import Measured
from plumbline.model.ages import NEW_S, age
from plumbline.model.evidence import Evidence
from plumbline.model.limits import Ceiling
from plumbline.model.names import several
from plumbline.model.record import Flag, Operation, Record, Scenario
from plumbline.model.verdict import Reason, State, worst


class Finding(NamedTuple):
    """The outcome of the first matching rule: state, reason and words.

    ``text`` starts with the operation; ``counts`` is False if the sample must not count against the
    component.
    """

    state: State
    reason: Reason
    text: str
    counts: bool = True


class Ruling(NamedTuple):
    """One operation with its finding; ``measured`` is None without a rate to judge."""

    operation: Operation
    scenario: Scenario
    record: Optional[Record]
    measured: Optional[Measured]
    finding: Finding


def deciding(rulings: Sequence[Ruling]) -> Ruling:
    """Return the deciding ruling: the worst one; among equals not a fine one, then the slowest.

    There must be at least one.  A rate below its floor needs no baseline: another operation without
    one does not hide it.
    """
    with_floors = _with_floors(rulings)
    state = worst(ruling.finding.state for ruling in with_floors)
    return min((ruling for ruling in with_floors if ruling.finding.state is state), key=_weight)


def _with_floors(rulings: Sequence[Ruling]) -> Sequence[Ruling]:
    """Return the rulings, less those without a reference if another is below its floor."""
    if not any(ruling.finding.reason.below_requirement for ruling in rulings):
        return rulings
    return [ruling for ruling in rulings if ruling.finding.reason is not Reason.NO_REFERENCE]


def _weight(ruling: Ruling) -> tuple[bool, float]:
    percent = ruling.measured.percent if ruling.measured else None
    return ruling.finding.reason.fine, float("inf") if percent is None else percent


_SEVERAL = 2

_NOTES = {
    Flag.SHORT: "cut short by the time limit",
    Flag.LINK_ERRORS: "error counters of its port rose",
}


def moment(epoch_s: float) -> str:
    """Return a time as ``2026-11-20 02:14 UTC``: nodes and console may be in different zones."""
    # a check without a date does not pay for the import
    from datetime import datetime, timezone

    return datetime.fromtimestamp(epoch_s, timezone.utc).strftime("%Y-%m-%d %H:%M UTC")


def measured_ago(rulings: Iterable[Ruling], now: float) -> str:
    """Return the age of the oldest figure of some rulings, empty if it is new."""
    ends = [
        ruling.record.finished_at
        for ruling in rulings
        # a floor covers many nights
        if ruling.measured and ruling.record and not ruling.finding.reason.below_requirement
    ]
    return f"; measured {age(min(ends), now)}" if ends and now - min(ends) > NEW_S else ""


def weighed(evidence: Optional[Evidence], *, services: bool = True) -> Iterator[str]:
    """Yield the evidence of the last runs, if it is worth a word.

    ``services`` is whether there are services that it may give an alarm.
    """
    if evidence and evidence.reportable and evidence.ratio is not None:
        yield f"{evidence.what} {over_runs(evidence)}{_needed(evidence, services)}"


def _needed(evidence: Evidence, services: bool) -> str:
    if not services:
        return ""
    # however slow a run is, it raises no alarm alone
    lone = evidence.moments == 1 and evidence.odds >= evidence.needed and not evidence.alarm
    return f", {odds(evidence.needed)}{' and a second run' * lone} for an alarm"


def over_runs(evidence: Evidence) -> str:
    """Return the loss over some runs, and its odds."""
    share = "" if evidence.ratio is None else f"{100 * evidence.ratio:.0f} % of {evidence.against} "
    runs = f"over {number(evidence.moments, 'run')}"
    if evidence.partial:
        runs = f"in {evidence.low} of {number(evidence.moments, 'run')}"
    return (
        f"{share}{runs} since {moment(evidence.since)}, odds "
        f"{odds(evidence.odds)} to 1 against chance"
    )


def also(evidence: Evidence) -> str:
    """Return the losses of other operations of a group, empty if there are none."""
    return "".join(f"; {what} {100 * ratio:.0f} %" for what, ratio in evidence.also)


def elsewhere(evidence: Evidence) -> str:
    """Return that the alarm is another one's."""
    return f"; its alarm is that of {evidence.borne_by}"


def likewise(evidence: Evidence) -> str:
    """Return the names of those that one change has slowed as much, empty if there are none."""
    return f"; likewise {several(evidence.bears)}" if evidence.bears else ""


def slow_nights(evidence: Optional[Evidence]) -> str:
    """Return a note on a component that was slow in some nights and good after; empty for others.

    One such night is chance.
    """
    if evidence is None or evidence.slow_nights < _SEVERAL:
        return ""
    return f"; slow on {evidence.slow_nights} of {evidence.nights} nights"


def so_far(evidence: Optional[Evidence]) -> str:
    """Return why a slow run is no alarm yet."""
    if evidence is None:
        return "too few runs to tell it from chance"
    if evidence.shared:
        return "its group has lost as much and has the alarm"
    if evidence.reportable and evidence.ratio is not None:
        return f"{over_runs(evidence)}{_needed(evidence, services=True)}{more(evidence)}"
    return f"{'one run is ' if evidence.moments == 1 else ''}no evidence yet{more(evidence)}"


def more(evidence: Evidence) -> str:
    """Return the number of runs that would raise or end the alarm, empty if unknown."""
    if not evidence.more:
        return ""
    does = ("end" if evidence.alarm else "raise") + "s" * (evidence.more == 1)
    which = "the" if evidence.alarm else "an"
    return f"; {number(evidence.more, 'more run')} like this one {does} {which} alarm"


def within_chance(evidence: Evidence) -> bool:
    """Return whether a slow run is too weak as evidence to measure again for it."""
    return not (evidence.shared or evidence.in_question)


def odds_of_run(evidence: Optional[Evidence], *, services: bool) -> str:
    """Return the odds that a slow run is not chance."""
    if evidence is None or evidence.shared:
        return so_far(evidence)
    needed = _needed(evidence, services)
    if within_chance(evidence):
        return f"within chance, odds of {odds(evidence.odds)} to 1{needed}"
    return f"odds {odds(evidence.odds)} to 1 against chance{needed}"


def number(count: int, noun: str) -> str:
    """Return e.g. ``1 run`` or ``3 runs``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


_MAX_SHOWN = 13.8
"""A million to one; nobody knows the tails of noise that well."""


def odds(logarithm: float) -> str:
    """Return odds, given by their natural logarithm, in readable form."""
    return f"{exp(logarithm):,.0f}" if logarithm <= _MAX_SHOWN else "over 1,000,000"


def date_of(epoch_s: float) -> str:
    """Return a day as ``2026-11-20``, in UTC."""
    return moment(epoch_s).partition(" ")[0]


def limited(measured: Measured) -> str:
    """Return ``ceiling 250.0 MB/s by disk oss2-disk1``; there must be a ceiling."""
    ceiling = measured.ceiling
    assert ceiling is not None
    return f"ceiling {measured.shown(ceiling.rate)} by {limited_by(ceiling)}"


def limited_by(ceiling: Ceiling) -> str:
    """Return the limiting parts, ``disk oss2-disk1``, the name alone if no kind is known."""
    parts = [" ".join(part) for part in zip(ceiling.kinds, ceiling.limited_by)]
    return several(parts or ceiling.limited_by)


def compared(measured: Measured) -> str:
    """Return a rate in percent of its reference; without one, the reason."""
    if measured.baseline:
        return (
            f"{_share(measured, measured.percent)} baseline "
            f"{measured.shown(measured.baseline.median)} "
            f"({measured.baseline.runs} runs to {measured.baseline.last})"
        )
    if measured.peers_rate:
        return with_doubt(measured, f"{_share(measured, measured.percent)} {peers(measured)}")
    # a rate near the ceiling is fine whatever its own runs were
    doubtful = measured.provisional and not measured.provisional.clears
    if measured.provisional and not (doubtful and measured.at_ceiling):
        return provisionally(measured)
    if not measured.at_ceiling:
        return measured.doubt
    assert measured.ratio_ceiling is not None
    return with_doubt(measured, f"{100 * measured.ratio_ceiling:.0f} % of the {limited(measured)}")


def _share(measured: Measured, percent: Optional[float]) -> str:
    """Return ``40 % of``, or ``2.5 times`` for a time, which is longer the slower it is."""
    assert percent is not None
    if not measured.record.operation.quantity.less_is_better:
        return f"{percent:.0f} % of"
    return multiple(percent)


def multiple(percent: float) -> str:
    """Return how many times as long it takes at so many percent of the speed, ``2.5 times``."""
    times = 100 / percent
    return f"{times:.0f} times" if times >= 10 else f"{times:.1f} times"


def provisionally(measured: Measured) -> str:
    """Return a rate in percent of its provisional reference, which must exist."""
    reference = measured.provisional
    assert reference is not None
    rate = measured.shown(reference.rate)
    text = f"{_share(measured, measured.provisional_percent)} {reference.words} {rate}"
    return text if reference.weakness else with_doubt(measured, text)


def with_doubt(measured: Measured, text: str) -> str:
    """Return a text after the reason why the baseline is not used, if there is one."""
    return f"{measured.doubt}, {text}" if measured.doubt else text


def peers(measured: Measured) -> str:
    """Return ``its 5 peers' median 201.0 MB/s``; the peers must have been measured."""
    assert measured.peers_rate is not None
    owners = "peer's" if measured.peers == 1 else f"{measured.peers} peers' median"
    return f"its {owners} {measured.shown(measured.peers_rate)}"


def figures(measured: Measured) -> str:
    """Return operation, rate with its notes, and comparison."""
    texts = [text for flag, text in _NOTES.items() if flag in measured.record.flags]
    notes = "".join(f" ({text})" for text in (*texts, measured.requests) if text)
    return f"{measured.what} {measured.shown(measured.rate)}{notes}, {compared(measured)}"


def figures_and_ceiling(measured: Measured) -> str:
    """Return operation, rate, comparison, and the ceiling with the limiting part."""
    return f"{figures(measured)}, {limited(measured)}" if measured.ceiling else figures(measured)


def repeats(measured: Measured) -> str:
    """Return the rates of the repeats within the run."""
    return ", ".join(map(measured.shown, measured.repeats))


def flags(measured: Measured) -> str:
    """Return the known states during the measurement."""
    return ", ".join(flag.value for flag in measured.record.flags) or "no flag"


def against_levels(measured: Measured) -> str:
    """Return the percentage of the reference, and the levels."""
    percent = (
        "nothing to compare with"
        if measured.percent is None
        else f"{measured.percent:.1f} % of reference"
    )
    return f"{percent}, levels {measured.limits.warning} and {measured.limits.critical}"


def summary(fine: Sequence[Measured]) -> str:
    """Return all rates and then all percentages if every rate has its baseline and none is a time.

    For example ``write 114.8 MB/s, read 115.1 MB/s, 99 % and 100 % of baseline``.
    """
    times = any(measured.record.operation.quantity.less_is_better for measured in fine)
    if times or not all(measured.baseline for measured in fine):
        return "; ".join(figures(measured) for measured in fine)
    rates = ", ".join(f"{measured.what} {measured.shown(measured.rate)}" for measured in fine)
    return f"{rates}, {' and '.join(f'{measured.percent:.0f} %' for measured in fine)} of baseline"
