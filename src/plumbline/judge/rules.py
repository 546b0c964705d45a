"""Rules 2 to 7: from a rate and its references to a finding.  The first rule that applies decides.

Each rule takes a :class:`~plumbline.judge.measured.Measured` and gives a finding or None.
"""

from __future__ import annotations

from math import log

from plumbline.judge.course import other_course
from plumbline.judge.finding import RULE_FINE, Finding
from plumbline.judge.measured import contended as is_contended
from plumbline.judge.phrases import (
    figures,
    figures_and_ceiling,
    limited,
    moment,
    peers,
    provisionally,
    repeats,
)
from plumbline.judge.siblings import certain_loss, chance_loss, slower_each_day
from plumbline.judge.step import BEFORE
from plumbline.model.named_tuple import TYPE_CHECKING
from plumbline.model.record import Flag
from plumbline.model.state import State
from plumbline.units import format_rate

if TYPE_CHECKING:
    from typing import Callable, Optional, Sequence

    from plumbline.judge.measured import Measured
    from plumbline.model.series import Day, Sample

    Rule = Callable[[Measured], Optional[Finding]]

_DAY_S = 86400.0
_COVERAGE_HALVED = 0.5
_PEERS_TO_SPREAD = 2

_KNOWN_STATES = {
    Flag.DEGRADED: "degraded (rebuilding)",
    Flag.DRAINING: "draining (creates no objects; name it in retired of the topology)",
    Flag.FAILED_OVER: "failed over (its server carries another's targets too)",
}


def apply(of: Measured) -> Finding:
    """Return the finding of the first rule that applies; the last one always does."""
    for rule in RULES:
        found = rule(of)
        if found:
            return found
    return fine(of)


def invalid(of: Measured) -> Optional[Finding]:
    """Rule 2: faster than the hardware allows."""
    ceiling = of.ceiling
    if ceiling is None or of.rate_Bps <= of.limits.invalid_above * ceiling.rate_Bps:
        return None
    text = (
        f"{of.what} {format_rate(of.rate_Bps)} is {of.ratio_ceiling:.2f} times the "
        f"{limited(ceiling)}: cached, or the topology is wrong"
    )
    return Finding(State.UNKNOWN, 2, text)


def known_state(of: Measured) -> Optional[Finding]:
    """Rule 3: degraded or failed over, where slower is expected and never CRITICAL."""
    states = [words for flag, words in _KNOWN_STATES.items() if flag in of.record.flags]
    if not states:
        return None
    text = f"{figures_and_ceiling(of)}: {' and '.join(states)}, slower is expected"
    return Finding(State.WARNING, 3, text, counts=False)


def even_share(of: Measured) -> Optional[Finding]:
    """Rule 4 for one of several at once: an even share is fine; who got more, ended earlier."""
    return (other_course(of) or fine(of)) if of.even else None


def contended_for_days(of: Measured) -> Optional[Finding]:
    """Rule 4: low and contended, and so on each of the last days; no excuse lasts for ever."""
    if not (of.low(of.percent) and of.contended and _contended_each_day(of)):
        return None
    text = (
        f"{figures(of)}: cannot be judged, contended on each of the last "
        f"{of.limits.confirm_days} days; choose a quieter hour for the probe"
    )
    return Finding(State.UNKNOWN, 4, text, counts=False)


def contended(of: Measured) -> Optional[Finding]:
    """Rule 4: low while others used the component too; says nothing about it."""
    if not (of.low(of.percent) and of.contended):
        return None
    text = (
        f"{figures(of)}: contended (coverage {of.record.coverage:.2f}, "
        f"{of.limits.min_coverage:g} needed), does not count"
    )
    return Finding(State.OK, 4, text, counts=False)


def shared_loss(of: Measured) -> Optional[Finding]:
    """Rule 4: low against the baseline, but so are the peers; the group service has that alarm."""
    if of.baseline is None or of.peers_Bps is None or not of.low(of.percent):
        return None
    peers_low = of.low(100 * of.peers_Bps / of.baseline.median_Bps)
    if not peers_low or of.rate_Bps < (1 - of.limits.peer_loss) * of.peers_Bps:
        return None
    text = f"{figures(of)}: not slower than {peers(of)}, a shared cause; does not count"
    return Finding(State.OK, 4, text, counts=False)


def incomparable(of: Measured) -> Optional[Finding]:
    """Rule 5 without a firm reference: a provisional one decides what is beyond its error."""
    if of.reference_Bps is not None:
        return None
    found = beside_provisional(of)
    if found or of.step is not None:
        return found
    if of.provisional:
        text = (
            f"{figures(of)}: too uncertain to judge; measure it together with its peers, or run "
            "plumbline baseline capture"
        )
    else:
        text = (
            f"{of.what} measured {format_rate(of.rate_Bps)} but nothing to compare with: "
            f"{of.doubt}, no peers in the same run; run plumbline baseline capture"
        )
    return Finding(State.UNKNOWN, 5, text)


def beside_provisional(of: Measured) -> Optional[Finding]:
    """Return what a provisional reference shows beyond its error, None where it shows nothing."""
    reference, percent = of.provisional, of.provisional_percent
    if reference is None or percent is None or of.contended:
        return None
    if not of.low(percent):
        return fine(of) if reference.clears else None
    shares = [100 * rate / reference.rate_Bps for rate in of.repeats_Bps]
    if not (reference.certainly_low(of.rate_Bps) and all(map(of.low, shares))):
        return None
    # one low run beside its own few is no reason to wake anybody
    gross = of.limits.critical.alerts(percent) and reference.clears
    state = State.CRITICAL if gross else State.WARNING
    text = f"{of.what} {format_rate(of.rate_Bps)}, {provisionally(of)}"
    return Finding(state, 5, f"{text}, {limited(of.ceiling)}" if of.ceiling else text)


def beyond_level(of: Measured) -> Optional[Finding]:
    """Rule 5: beyond a level in percent of the reference; CRITICAL when the repeats confirm it."""
    percent, reference_Bps = of.percent, of.reference_Bps
    if percent is None or reference_Bps is None or not of.alerts(percent) or within_noise(of):
        return None
    text = figures_and_ceiling(of)
    confirmed = all(of.alerts(100 * rate / reference_Bps) for rate in of.repeats_Bps)
    if not confirmed:
        text += f"; not confirmed by the repeats {repeats(of)}"
    if of.limits.critical.alerts(percent):
        return Finding(State.CRITICAL if confirmed else State.WARNING, 5, text)
    return Finding(State.WARNING if confirmed else State.OK, 5, text)


def within_noise(of: Measured) -> bool:
    """Return whether siblings differ so much in single runs that this one tells nothing.

    A component with a baseline is excused only while its siblings are below it as well: on a busy
    day all are low, each by another amount, but siblings at their best make it no less slow.
    """
    if not of.days or of.peers < _PEERS_TO_SPREAD or not of.low(of.percent):
        return False
    assert of.peers_Bps is not None
    assert of.ratio_peers is not None
    if of.baseline and of.peers_Bps > (1 - of.limits.peer_loss / 2) * of.baseline.median_Bps:
        return False
    gross = of.limits.critical.alerts(100 * of.ratio_peers)
    return -log(of.ratio_peers) < chance_loss(of.days, of.limits, gross=gross)


def uncertain(of: Measured) -> Optional[Finding]:
    """Rule 5, where only the next days can tell."""
    if not within_noise(of):
        return None
    text = f"{figures(of)}, within what its siblings differ by among themselves"
    return Finding(State.OK, 5, text)


def lasting_loss(of: Measured) -> Optional[Finding]:
    """Rule 6: slower than its siblings on each of the last days, beyond doubt."""
    recent = of.days[: of.limits.confirm_days]
    if not fresh(of, recent) or of.accepted or not slower_each_day(recent, of.limits):
        return None
    loss = certain_loss(of.days, of.limits)
    if loss is None:
        return None
    text = (
        f"{figures(of)}: slower than its {recent[0].peers} siblings on each of the last "
        f"{len(recent)} days, {loss.percent:.0f} % over {loss.days} days "
        f"(limit {100 * of.limits.peer_loss:g} %), fail-slow"
    )
    return Finding(State.WARNING, 6, text)


def fresh(of: Measured, recent: Sequence[Day]) -> bool:
    """Return whether there are as many days with siblings as it takes, and the newest is new."""
    today = int(of.record.started_at // _DAY_S)
    wanted = of.limits.confirm_days
    return len(recent) == wanted and today - recent[0].day < wanted


def step_down(of: Measured) -> Optional[Finding]:
    """Rule 6: the middle of the last runs is beyond a level of the runs before, and all are below.

    Where coverage has halved meanwhile, others explain the loss.
    """
    step = of.step
    if step is None or not of.low(100 * step.ratio) or of.accepted:
        return None
    if step.highest > 1 - of.limits.peer_loss or step.coverage < _COVERAGE_HALVED:
        return None
    text = (
        f"{figures(of)}: stepped down on {moment(step.since)}, to {100 * step.ratio:.0f} % of the "
        f"{BEFORE} runs before"
    )
    return Finding(State.WARNING, 6, text)


def fine(of: Measured) -> Finding:
    """Rule 7: nothing to say against it."""
    return Finding(State.OK, RULE_FINE, figures(of))


RULES: tuple[Rule, ...] = (
    invalid,
    known_state,
    even_share,
    contended_for_days,
    contended,
    shared_loss,
    incomparable,
    beyond_level,
    lasting_loss,
    step_down,
    uncertain,
    other_course,
)


def _contended_each_day(of: Measured) -> bool:
    days: dict[int, bool] = {}
    for sample in of.samples:
        if sample.rate_Bps is not None:
            day = int(sample.started_at // _DAY_S)
            days[day] = days.get(day, True) and _low_and_contended(of, sample)
    latest = sorted(days, reverse=True)[: of.limits.confirm_days]
    return len(latest) == of.limits.confirm_days and all(days[day] for day in latest)


def _low_and_contended(of: Measured, sample: Sample) -> bool:
    reference_Bps = of.baseline.median_Bps if of.baseline else sample.peers_Bps
    if not reference_Bps or sample.rate_Bps is None:
        return False
    low = of.low(100 * sample.rate_Bps / reference_Bps)
    return low and is_contended(sample.coverage, of.limits)
