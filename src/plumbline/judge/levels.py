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


def invalid(of: Measured) -> Optional[Finding]:
    """Faster than the hardware allows."""
    ceiling = of.ceiling
    if ceiling is None or of.rate_Bps <= of.limits.invalid_above * ceiling.rate_Bps:
        return None
    text = (
        f"{of.what} {format_rate(of.rate_Bps)} is {of.ratio_ceiling:.2f} times the "
        f"{limited(ceiling)}: cached, or the topology is wrong"
    )
    return Finding(State.UNKNOWN, Reason.INVALID, text)


def incomparable(of: Measured) -> Optional[Finding]:
    """Without a firm reference: measured, but nobody knows for certain what it means.

    A floor needs none: below it, that is the finding.
    """
    if of.reference_Bps is not None:
        return None
    if below_goal(of) or below_floor(of):
        return None
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
    return Finding(State.UNKNOWN, Reason.NO_REFERENCE, text)


def beside_provisional(of: Measured) -> Optional[Finding]:
    """Without a firm reference: a provisional one decides what is beyond its error."""
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
    text = f"{text}, {limited(of.ceiling)}" if of.ceiling else text
    return Finding(state, Reason.PROVISIONAL, text)


def beyond_level(of: Measured) -> Optional[Finding]:
    """Beyond a level in percent of the reference; CRITICAL when the repeats confirm it."""
    percent, reference_Bps = of.percent, of.reference_Bps
    if percent is None or reference_Bps is None or not of.alerts(percent):
        return None
    text = figures_and_ceiling(of)
    confirmed = all(of.alerts(100 * rate / reference_Bps) for rate in of.repeats_Bps)
    if not confirmed:
        text += f"; not confirmed by the repeats {repeats(of)}"
    if of.limits.critical.alerts(percent):
        state = State.CRITICAL if confirmed else State.WARNING
    else:
        state = State.WARNING if confirmed else State.OK
    return Finding(state, Reason.BELOW_LEVEL, text)


def fine(of: Measured) -> Finding:
    """Nothing to say against it."""
    return Finding(State.OK, Reason.FINE, figures(of))


def _explain_invalid(of: Measured) -> str:
    if of.ceiling is None:
        return "no ceiling is known"
    return f"{of.ratio_ceiling:.2f} of {limited(of.ceiling)}, limit {of.limits.invalid_above:g}"


def _explain_reference(of: Measured) -> str:
    if of.baseline:
        return f"baseline {format_rate(of.baseline.median_Bps)}"
    if of.peers_Bps:
        return f"{of.doubt}; {peers(of)}"
    if of.provisional:
        return f"{of.doubt}; no peers; {provisionally(of)}"
    return f"{of.doubt}; no peers"


def _explain_provisional(of: Measured) -> str:
    if of.provisional_percent is None:
        return "has a firm reference, or no provisional one"
    return f"{provisionally(of)}; repeats {repeats(of)}"


def _explain_level(of: Measured) -> str:
    return f"{against_levels(of)}; repeats {repeats(of)}"


def _explain_fine(_of: Measured) -> str:
    return "no other rule applies"


INVALID = Rule(Reason.INVALID, invalid, _explain_invalid)
PROVISIONAL = Rule(Reason.PROVISIONAL, beside_provisional, _explain_provisional)
NO_REFERENCE = Rule(Reason.NO_REFERENCE, incomparable, _explain_reference)
BELOW_LEVEL = Rule(Reason.BELOW_LEVEL, beyond_level, _explain_level)
FINE = Rule(Reason.FINE, fine, _explain_fine)
