"""Rules from a rate to a finding: levels, profile, contention, excuses; the first match wins."""

from __future__ import annotations

from math import isnan
from typing import Callable, NamedTuple, Optional, Sequence

from plumbline.judge.days import days_of
from plumbline.judge.floor import below_floor, below_goal, explain_floor, explain_goal
from plumbline.judge.measured import Measured
from plumbline.judge.phrases import (
    Finding,
    against_levels,
    figures,
    figures_and_ceiling,
    flags,
    limited,
    peers,
    provisionally,
    repeats,
    with_doubt,
)
from plumbline.judge.recurring import recurrence
from plumbline.model.errors import DocumentError
from plumbline.model.layers import LAYERS
from plumbline.model.profile import Distance
from plumbline.model.record import Flag, Record
from plumbline.model.series import Sample, column
from plumbline.model.validation import numbers
from plumbline.model.verdict import Reason, State
from plumbline.observe.coverage import Others, others_of


def profile_distance(measured: Measured) -> Optional[Distance]:
    """Return the distance of a run's profile from its baseline's; None if either has none.

    Raises:
        DocumentError: the record's profile is damaged.
    """
    profile = (measured.record.details or {}).get("form")
    if measured.baseline is None or not measured.baseline.profile or profile is None:
        return None
    from plumbline.model.profile import distance

    return distance(_sound(profile, measured.record), measured.baseline.profile)


def changed_profile(measured: Measured) -> Optional[Finding]:
    """Return a finding if the rate varied unlike the baseline's runs, whatever its mean."""
    if measured.contended:
        return None
    distance = profile_distance(measured)
    if distance is None or not distance.beyond(measured.limits.profile_distance):
        return None
    text = (
        f"{figures(measured)}: {distance.sentence}, {100 * distance.share:.0f} % apart "
        f"(limit {100 * measured.limits.profile_distance:g} %)"
    )
    return Finding(State.WARNING, Reason.PROFILE, text)


def profile_over_runs(measured: Measured) -> Optional[Finding]:
    """Return the finding on the profiles of the last runs; a single deviating one is watched."""
    last = changed_profile(measured)
    if last is None and all(map(isnan, column(measured.samples, "apart"))):
        # nearly all measurements: none has a profile
        return None
    limit = measured.limits.profile_distance
    shown = [
        (sample.started_at, sample.apart > limit)
        for sample in reversed(measured.samples)
        if sample.apart is not None and not measured.limits.contended(sample.coverage)
    ]
    recurring = recurrence(shown, measured.limits.alarm_odds)
    if recurring.alarm:
        text = last.text if last else f"{figures(measured)}: {profile_words(measured)}"
        return Finding(State.WARNING, Reason.PROFILE, f"{text}; {recurring.words}")
    if last is None:
        return None
    return Finding(State.OK, Reason.WATCHED, f"watching: {last.text}; {recurring.words}")


def profile_words(measured: Measured) -> str:
    """Return the distance from the baseline's profile, and the limit; empty without a profile."""
    distance = profile_distance(measured)
    if distance is None:
        return ""
    return (
        f"profile {100 * distance.share:.1f} % from the baseline's, limit "
        f"{100 * measured.limits.profile_distance:g} %, its scatter makes up to "
        f"{100 * distance.noise:.1f} %"
    )


def _explain_profile(measured: Measured) -> str:
    return profile_words(measured) or "no profile to compare, or none of its baseline"


def _sound(profile: Sequence[float], record: Record) -> Sequence[float]:
    try:
        for point in profile:
            numbers(form=point)
        if min(profile) < 0 or not sum(profile) > 0:
            raise TypeError("form has no rates")
    except (TypeError, ValueError) as error:
        raise DocumentError(
            f"the profile of {record.component} {record.operation.value} is damaged ({error}); "
            "run the probe again to rewrite it"
        ) from error
    return profile


def invalid(measured: Measured) -> Optional[Finding]:
    """Return a finding on a rate that is faster than the hardware allows."""
    ceiling = measured.ceiling
    if ceiling is None or measured.rate <= measured.limits.invalid_above * ceiling.rate:
        return None
    text = (
        f"{measured.what} {measured.shown(measured.rate)} is {measured.ratio_ceiling:.2f} times "
        f"the {limited(measured)}: cached, or the topology is wrong"
    )
    return Finding(State.UNKNOWN, Reason.INVALID, text)


def incomparable(measured: Measured) -> Optional[Finding]:
    """Return the finding on a rate without a firm reference.

    A floor and the ceiling need no reference: a rate below the one has that finding instead, and a
    rate at the other is fine.
    """
    if measured.reference_rate is not None or measured.at_ceiling:
        return None
    if below_goal(measured) or below_floor(measured):
        return None
    if measured.provisional and measured.contended and measured.low(measured.provisional_percent):
        text = f"{figures(measured)}: {_contention(measured)}; measure it at a quieter hour"
        return Finding(State.UNKNOWN, Reason.NO_REFERENCE, text)
    if measured.provisional:
        text = f"{figures(measured)}: too uncertain to judge"
    else:
        text = (
            f"{measured.what} measured {measured.shown(measured.rate)} but nothing to compare "
            f"with: {with_doubt(measured, 'no peers in the same run')}"
        )
    capture = ", or run plumbline baseline capture" if measured.limits.baselines else ""
    # metadata targets are mostly too few to be peers
    more = LAYERS[measured.record.layer].of_metadata
    remedy = f"measure it {'in more nights' if more else 'together with others'}{capture}"
    return Finding(State.UNKNOWN, Reason.NO_REFERENCE, f"{text}; {remedy}")


def provisional_loss(measured: Measured) -> Optional[Finding]:
    """Return a finding if the loss against a provisional reference is beyond its error."""
    reference = measured.provisional
    percent = reference and measured.provisional_percent
    if reference is None or percent is None:
        return None
    # as fast as others in spite of other traffic: healthy
    if not measured.low(percent):
        return fine(measured) if reference.clears else None
    if measured.contended:
        return None
    shares = [100 * rate / reference.rate for rate in measured.repeats]
    if not (reference.certainly_low(measured.rate) and all(map(measured.low, shares))):
        return None
    # one low run among a few of its own is no reason to wake anybody
    gross = measured.limits.critical.alerts(percent) and reference.clears
    state = State.CRITICAL if gross else State.WARNING
    text = f"{measured.what} {measured.shown(measured.rate)}, {provisionally(measured)}"
    text = f"{text}, {limited(measured)}" if measured.ceiling else text
    return Finding(state, Reason.PROVISIONAL, text)


def beyond_level(measured: Measured) -> Optional[Finding]:
    """Return a finding on a rate beyond a level; CRITICAL if the repeats confirm it."""
    percent, reference_rate = measured.percent, measured.reference_rate
    if percent is None or reference_rate is None or not measured.alerts(percent):
        return None
    text = figures_and_ceiling(measured)
    confirmed = all(measured.alerts(100 * rate / reference_rate) for rate in measured.repeats)
    if not confirmed:
        text += f"; not confirmed by the repeats {repeats(measured)}"
    if measured.limits.critical.alerts(percent):
        state = State.CRITICAL if confirmed else State.WARNING
    else:
        state = State.WARNING if confirmed else State.OK
    return Finding(state, Reason.BELOW_LEVEL, text)


def fine(measured: Measured) -> Finding:
    """Return the finding on a rate without fault."""
    return Finding(State.OK, Reason.FINE, figures(measured))


def _explain_invalid(measured: Measured) -> str:
    if measured.ceiling is None:
        return "no ceiling is known"
    limit = measured.limits.invalid_above
    return f"{measured.ratio_ceiling:.2f} of {limited(measured)}, limit {limit:g}"


def _explain_reference(measured: Measured) -> str:
    if measured.baseline:
        return f"baseline {measured.shown(measured.baseline.median)}"
    if measured.peers_rate:
        return f"{measured.doubt}; {peers(measured)}"
    if measured.provisional:
        return f"{measured.doubt}; no peers; {provisionally(measured)}"
    return f"{measured.doubt}; no peers"


def _explain_provisional(measured: Measured) -> str:
    if measured.provisional_percent is None:
        return "has a firm reference, or no provisional one"
    return f"{provisionally(measured)}; repeats {repeats(measured)}"


def _explain_level(measured: Measured) -> str:
    return f"{against_levels(measured)}; repeats {repeats(measured)}"


def _explain_fine(_measured: Measured) -> str:
    return "no other rule applies"


_DAYS = 3
"""Days in a row: an excuse that comes back each night is a wrong hour for the probe."""
_SERVER = "server"


def contended_for_days(measured: Measured) -> Optional[Finding]:
    """Return a finding if a rate is low and contended day after day: no excuse lasts forever."""
    if not (
        measured.low(measured.percent) and measured.contended and _contended_each_day(measured)
    ):
        return None
    text = (
        f"{figures(measured)}: cannot be judged, contended on each of the last "
        f"{_DAYS} days{job_words(measured.record)}; choose a quieter hour for the probe"
    )
    return Finding(State.UNKNOWN, Reason.CONTENDED_FOR_DAYS, text, counts=False)


def contended_finding(measured: Measured) -> Optional[Finding]:
    """Return the finding on a low rate while others used the component; it is no evidence."""
    if not (measured.low(measured.percent) and measured.contended):
        return None
    text = f"{figures(measured)}: {_contention(measured)}; excluded"
    return Finding(State.OK, Reason.CONTENDED, text, counts=False)


def _contention(measured: Measured) -> str:
    least = measured.limits.min_coverage
    coverage = _below(measured.record.coverage or 0.0, least)
    return f"contended: coverage {coverage} ({least:g} needed){job_words(measured.record)}"


def _below(coverage: float, least: float) -> str:
    """Return a coverage with as many digits, two at least, as show it below the least one."""
    shown = (f"{coverage:.{digits}f}" for digits in range(2, 7))
    return next((text for text in shown if float(text) < least), repr(coverage))


def job_words(record: Record) -> str:
    """Return the job that moved most meanwhile, after a comma; empty if none is known.

    Raises:
        DocumentError: the record's use by others is damaged.
    """
    others = others_of(record)
    return f", {others.job}" if others and others.job else ""


def coverage_words(record: Record) -> str:
    """Return the coverage of a run and the server that counted it, or why it is unknown.

    Raises:
        DocumentError: the record's use by others is damaged.
    """
    others = others_of(record)
    if record.coverage is None:
        return _no_coverage(record, others)
    words = f"coverage {record.coverage:.2f}"
    if others is None:
        return words
    bounds = (bound for bound in (others.least, others.most) if bound is not None)
    range_text = " to ".join(f"{bound:.2f}" for bound in bounds)
    return f"{words} ({range_text}) by the counters of {others.server}{job_words(record)}"


def _no_coverage(record: Record, others: Optional[Others]) -> str:
    if others is not None:
        return f"contention unknown: {others.in_doubt()}{job_words(record)}"
    # a Lustre client knows the server's version, and cannot see the server's traffic
    if _SERVER in (record.versions or {}):
        return "contention unknown: no counters of its server"
    return "coverage unknown"


def _contended_each_day(measured: Measured) -> bool:
    rated = [sample for sample in measured.samples if sample.rate is not None]
    days: dict[int, bool] = {}
    for day, sample in zip(days_of([sample.started_at for sample in rated]).tolist(), rated):
        days[day] = days.get(day, True) and _low_and_contended(measured, sample)
    latest = sorted(days, reverse=True)[:_DAYS]
    return len(latest) == _DAYS and all(days[day] for day in latest)


def _low_and_contended(measured: Measured, sample: Sample) -> bool:
    reference_rate = measured.baseline.median if measured.baseline else sample.peers_rate
    if not reference_rate or sample.rate is None:
        return False
    low = measured.low(100 * sample.rate / reference_rate)
    return low and measured.limits.contended(sample.coverage)


def _explain(measured: Measured) -> str:
    least = f"contended below {measured.limits.min_coverage:g}"
    return f"{coverage_words(measured.record)}, {least}; {against_levels(measured)}"


def _explain_days(measured: Measured) -> str:
    return f"{_explain(measured)}; on each of {_DAYS} days"


_KNOWN_STATES = {
    Flag.DEGRADED: "degraded (rebuilding)",
    Flag.DRAINING: "draining (creates no objects; name it in retired of the topology)",
    Flag.FAILED_OVER: "failed over (its server carries another's targets too)",
}


def known_states(record: Record) -> Sequence[str]:
    """Return the states of a part in words in which it may be slow, such as a rebuild."""
    flags = record.flags
    return [words for flag, words in _KNOWN_STATES.items() if flag in flags] if flags else ()


def known_state(measured: Measured) -> Optional[Finding]:
    """Return a finding on a degraded or failed-over part, which may be slow: never CRITICAL."""
    states = known_states(measured.record)
    if not states:
        return None
    text = f"{figures_and_ceiling(measured)}: {' and '.join(states)}, slower is expected"
    return Finding(State.WARNING, Reason.KNOWN_STATE, text, counts=False)


def even_share(measured: Measured) -> Optional[Finding]:
    """Pass an even share of a joint run, except for its profile: a larger share ends earlier."""
    if not measured.even:
        return None
    return changed_profile(measured) or Finding(State.OK, Reason.EVEN_SHARE, figures(measured))


def shared_loss(measured: Measured) -> Optional[Finding]:
    """Excuse a loss against the baseline that the peers share; the group service alarms."""
    if (
        measured.baseline is None
        or measured.peers_rate is None
        or not measured.low(measured.percent)
    ):
        return None
    peers_low = measured.low(100 * measured.peers_rate / measured.baseline.median)
    if not peers_low or measured.rate < (1 - measured.limits.peer_loss) * measured.peers_rate:
        return None
    text = f"{figures(measured)}: not slower than {peers(measured)}, a shared cause; excluded"
    return Finding(State.OK, Reason.SHARED_LOSS, text, counts=False)


def _explain_even(measured: Measured) -> str:
    if measured.ceiling is None or measured.ceiling.even is None:
        return "is not one of several that share what is there"
    even = measured.ceiling.even
    return f"{100 * measured.rate / even:.0f} % of the even share {measured.shown(even)}"


def _explain_shared(measured: Measured) -> str:
    if measured.baseline is None or measured.peers_rate is None:
        return "needs a baseline and peers"
    share = 100 * measured.peers_rate / measured.baseline.median
    own = 100 * measured.rate / measured.peers_rate
    return f"{peers(measured)} is {share:.0f} % of this baseline; this {own:.0f} % of it"


class Rule(NamedTuple):
    """A possible finding on a rate: reason, condition and explanation.

    ``applies`` gives the finding, None if the rule does not match; ``explain`` puts the figures of
    the rule into words, whether or not it matches.  A rule ``of_low`` rates matches no other.
    """

    reason: Reason
    applies: Callable[[Measured], Optional[Finding]]
    explain: Callable[[Measured], str]
    of_low: bool = False


RULES = (
    Rule(Reason.INVALID, invalid, _explain_invalid),
    Rule(Reason.KNOWN_STATE, known_state, flags),
    Rule(Reason.EVEN_SHARE, even_share, _explain_even),
    Rule(Reason.CONTENDED_FOR_DAYS, contended_for_days, _explain_days, of_low=True),
    Rule(Reason.CONTENDED, contended_finding, _explain, of_low=True),
    Rule(Reason.SHARED_LOSS, shared_loss, _explain_shared, of_low=True),
    Rule(Reason.PROVISIONAL, provisional_loss, _explain_provisional),
    Rule(Reason.NO_REFERENCE, incomparable, _explain_reference),
    Rule(Reason.BELOW_LEVEL, beyond_level, _explain_level),
    Rule(Reason.BELOW_GOAL, below_goal, explain_goal),
    Rule(Reason.BELOW_FLOOR, below_floor, explain_floor),
    Rule(Reason.PROFILE, changed_profile, _explain_profile),
    Rule(Reason.FINE, fine, _explain_fine),
)
"""In the order of evaluation; the last one always applies."""
_OF_OTHERS = tuple(rule for rule in RULES if not rule.of_low)
"""The rules of nearly all rates."""
_BARE = Finding(State.OK, Reason.FINE, "")


def apply(measured: Measured, *, in_words: bool = True) -> Finding:
    """Return the finding of the first rule that applies; if not ``in_words`` a fine one is bare."""
    rules = RULES if measured.low(measured.percent) else _OF_OTHERS
    for rule in rules[:-1]:
        finding = rule.applies(measured)
        if finding:
            return finding
    return fine(measured) if in_words else _BARE
