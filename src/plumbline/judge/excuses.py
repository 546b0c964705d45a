"""Rates that have a cause outside of the component: its known state, or what all have in common."""

from __future__ import annotations

from typing import Optional

from plumbline.judge.finding import Finding, Rule
from plumbline.judge.measured import Measured
from plumbline.judge.phrases import figures, figures_and_ceiling, flags, peers
from plumbline.judge.profile import other_course
from plumbline.model.reason import Reason
from plumbline.model.record import Flag
from plumbline.model.state import State
from plumbline.units import format_rate

_KNOWN_STATES = {
    Flag.DEGRADED: "degraded (rebuilding)",
    Flag.DRAINING: "draining (creates no objects; name it in retired of the topology)",
    Flag.FAILED_OVER: "failed over (its server carries another's targets too)",
}


def known_state(of: Measured) -> Optional[Finding]:
    """Degraded or failed over, where slower is expected and never CRITICAL."""
    states = [words for flag, words in _KNOWN_STATES.items() if flag in of.record.flags]
    if not states:
        return None
    text = f"{figures_and_ceiling(of)}: {' and '.join(states)}, slower is expected"
    return Finding(State.WARNING, Reason.KNOWN_STATE, text, counts=False)


def even_share(of: Measured) -> Optional[Finding]:
    """Of several at once an even share is fine but for its profile; who got more, ended earlier."""
    if not of.even:
        return None
    return other_course(of) or Finding(State.OK, Reason.EVEN_SHARE, figures(of))


def shared_loss(of: Measured) -> Optional[Finding]:
    """Low against the baseline, but so are the peers; the group service has that alarm."""
    if of.baseline is None or of.peers_Bps is None or not of.low(of.percent):
        return None
    peers_low = of.low(100 * of.peers_Bps / of.baseline.median_Bps)
    if not peers_low or of.rate_Bps < (1 - of.limits.peer_loss) * of.peers_Bps:
        return None
    text = f"{figures(of)}: not slower than {peers(of)}, a shared cause; excluded"
    return Finding(State.OK, Reason.SHARED_LOSS, text, counts=False)


def _explain_even(of: Measured) -> str:
    if of.ceiling is None or of.ceiling.even_Bps is None:
        return "is not one of several that share what is there"
    even_Bps = of.ceiling.even_Bps
    return f"{100 * of.rate_Bps / even_Bps:.0f} % of the even share {format_rate(even_Bps)}"


def _explain_shared(of: Measured) -> str:
    if of.baseline is None or of.peers_Bps is None:
        return "needs a baseline and peers"
    share = 100 * of.peers_Bps / of.baseline.median_Bps
    own = 100 * (of.ratio_peers or 0)
    return f"{peers(of)} is {share:.0f} % of this baseline; this {own:.0f} % of it"


KNOWN_STATE = Rule(Reason.KNOWN_STATE, known_state, flags)
EVEN_SHARE = Rule(Reason.EVEN_SHARE, even_share, _explain_even)
SHARED_LOSS = Rule(Reason.SHARED_LOSS, shared_loss, _explain_shared)
