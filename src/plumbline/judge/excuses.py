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


def known_state(measured: Measured) -> Optional[Finding]:
    """Degraded or failed over, where slower is expected and never CRITICAL."""
    states = [words for flag, words in _KNOWN_STATES.items() if flag in measured.record.flags]
    if not states:
        return None
    text = f"{figures_and_ceiling(measured)}: {' and '.join(states)}, slower is expected"
    return Finding(State.WARNING, Reason.KNOWN_STATE, text, counts=False)


def even_share(measured: Measured) -> Optional[Finding]:
    """Of several at once an even share is fine but for its profile; who got more, ended earlier."""
    if not measured.even:
        return None
    return other_course(measured) or Finding(State.OK, Reason.EVEN_SHARE, figures(measured))


def shared_loss(measured: Measured) -> Optional[Finding]:
    """Low against the baseline, but so are the peers; the group service has that alarm."""
    if (
        measured.baseline is None
        or measured.peers_Bps is None
        or not measured.low(measured.percent)
    ):
        return None
    peers_low = measured.low(100 * measured.peers_Bps / measured.baseline.median_Bps)
    if not peers_low or measured.rate_Bps < (1 - measured.limits.peer_loss) * measured.peers_Bps:
        return None
    text = f"{figures(measured)}: not slower than {peers(measured)}, a shared cause; excluded"
    return Finding(State.OK, Reason.SHARED_LOSS, text, counts=False)


def _explain_even(measured: Measured) -> str:
    if measured.ceiling is None or measured.ceiling.even_Bps is None:
        return "is not one of several that share what is there"
    even_Bps = measured.ceiling.even_Bps
    return f"{100 * measured.rate_Bps / even_Bps:.0f} % of the even share {format_rate(even_Bps)}"


def _explain_shared(measured: Measured) -> str:
    if measured.baseline is None or measured.peers_Bps is None:
        return "needs a baseline and peers"
    share = 100 * measured.peers_Bps / measured.baseline.median_Bps
    own = 100 * (measured.ratio_peers or 0)
    return f"{peers(measured)} is {share:.0f} % of this baseline; this {own:.0f} % of it"


KNOWN_STATE = Rule(Reason.KNOWN_STATE, known_state, flags)
EVEN_SHARE = Rule(Reason.EVEN_SHARE, even_share, _explain_even)
SHARED_LOSS = Rule(Reason.SHARED_LOSS, shared_loss, _explain_shared)
