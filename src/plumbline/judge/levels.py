"""A rate against its ceiling and against the levels in percent of its reference."""

from __future__ import annotations

from typing import Optional

from plumbline.judge.finding import Finding, Rule
from plumbline.judge.floor import below_floor, below_goal
from plumbline.judge.measured import Measured
from plumbline.judge.phrases import (
    against_levels,
    figures,
    figures_and_ceiling,
    limited,
    peers,
    provisionally,
    repeats,
)
from plumbline.model.reason import Reason
from plumbline.model.state import State
from plumbline.units import format_rate


def invalid(measured: Measured) -> Optional[Finding]:
    """Faster than the hardware allows."""
    ceiling = measured.ceiling
    if ceiling is None or measured.rate_Bps <= measured.limits.invalid_above * ceiling.rate_Bps:
        return None
    text = (
        f"{measured.what} {format_rate(measured.rate_Bps)} is {measured.ratio_ceiling:.2f} times "
        f"the {limited(ceiling)}: cached, or the topology is wrong"
    )
    return Finding(State.UNKNOWN, Reason.INVALID, text)


def incomparable(measured: Measured) -> Optional[Finding]:
    """Without a firm reference: measured, but nobody knows for certain what it means.

    A floor needs none: below it, that is the finding.
    """
    if measured.reference_Bps is not None:
        return None
    if below_goal(measured) or below_floor(measured):
        return None
    if measured.provisional:
        text = (
            f"{figures(measured)}: too uncertain to judge; measure it together with its peers, or "
            "run plumbline baseline capture"
        )
    else:
        text = (
            f"{measured.what} measured {format_rate(measured.rate_Bps)} but nothing to compare "
            f"with: {measured.doubt}, no peers in the same run; run plumbline baseline capture"
        )
    return Finding(State.UNKNOWN, Reason.NO_REFERENCE, text)


def beside_provisional(measured: Measured) -> Optional[Finding]:
    """Without a firm reference: a provisional one decides what is beyond its error."""
    reference, percent = measured.provisional, measured.provisional_percent
    if reference is None or percent is None or measured.contended:
        return None
    if not measured.low(percent):
        return fine(measured) if reference.clears else None
    shares = [100 * rate / reference.rate_Bps for rate in measured.repeats_Bps]
    if not (reference.certainly_low(measured.rate_Bps) and all(map(measured.low, shares))):
        return None
    # one low run beside its own few is no reason to wake anybody
    gross = measured.limits.critical.alerts(percent) and reference.clears
    state = State.CRITICAL if gross else State.WARNING
    text = f"{measured.what} {format_rate(measured.rate_Bps)}, {provisionally(measured)}"
    text = f"{text}, {limited(measured.ceiling)}" if measured.ceiling else text
    return Finding(state, Reason.PROVISIONAL, text)


def beyond_level(measured: Measured) -> Optional[Finding]:
    """Beyond a level in percent of the reference; CRITICAL when the repeats confirm it."""
    percent, reference_Bps = measured.percent, measured.reference_Bps
    if percent is None or reference_Bps is None or not measured.alerts(percent):
        return None
    text = figures_and_ceiling(measured)
    confirmed = all(measured.alerts(100 * rate / reference_Bps) for rate in measured.repeats_Bps)
    if not confirmed:
        text += f"; not confirmed by the repeats {repeats(measured)}"
    if measured.limits.critical.alerts(percent):
        state = State.CRITICAL if confirmed else State.WARNING
    else:
        state = State.WARNING if confirmed else State.OK
    return Finding(state, Reason.BELOW_LEVEL, text)


def fine(measured: Measured) -> Finding:
    """Nothing to say against it."""
    return Finding(State.OK, Reason.FINE, figures(measured))


def _explain_invalid(measured: Measured) -> str:
    if measured.ceiling is None:
        return "no ceiling is known"
    limit = measured.limits.invalid_above
    return f"{measured.ratio_ceiling:.2f} of {limited(measured.ceiling)}, limit {limit:g}"


def _explain_reference(measured: Measured) -> str:
    if measured.baseline:
        return f"baseline {format_rate(measured.baseline.median_Bps)}"
    if measured.peers_Bps:
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


def _explain_fine(_of: Measured) -> str:
    return "no other rule applies"


INVALID = Rule(Reason.INVALID, invalid, _explain_invalid)
PROVISIONAL = Rule(Reason.PROVISIONAL, beside_provisional, _explain_provisional)
NO_REFERENCE = Rule(Reason.NO_REFERENCE, incomparable, _explain_reference)
BELOW_LEVEL = Rule(Reason.BELOW_LEVEL, beyond_level, _explain_level)
FINE = Rule(Reason.FINE, fine, _explain_fine)
