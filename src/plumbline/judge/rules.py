"""From a rate and its references to a finding: the first rule that applies decides."""

from __future__ import annotations

from plumbline.judge.contention import CONTENDED, CONTENDED_FOR_DAYS
from plumbline.judge.excuses import EVEN_SHARE, KNOWN_STATE, SHARED_LOSS
from plumbline.judge.finding import Finding, Rule
from plumbline.judge.floor import BELOW_FLOOR, BELOW_GOAL
from plumbline.judge.levels import BELOW_LEVEL, FINE, INVALID, NO_REFERENCE, PROVISIONAL
from plumbline.judge.measured import Measured
from plumbline.judge.profile import PROFILE

RULES: tuple[Rule, ...] = (
    INVALID,
    KNOWN_STATE,
    EVEN_SHARE,
    CONTENDED_FOR_DAYS,
    CONTENDED,
    SHARED_LOSS,
    PROVISIONAL,
    NO_REFERENCE,
    BELOW_LEVEL,
    BELOW_GOAL,
    BELOW_FLOOR,
    PROFILE,
    FINE,
)
"""In the order in which they are asked; the last one always applies."""


def apply(measured: Measured) -> Finding:
    """Return the finding of the first rule that applies."""
    return next(found for rule in RULES if (found := rule.applies(measured)))
