"""Why a verdict has its state: one reason for each finding that there can be."""

from __future__ import annotations

from enum import Enum


class Reason(str, Enum):
    """The finding that decides a verdict, in the order in which they are asked for.

    docs/verdicts.md says of each when it applies.
    """

    HANGS = "hangs"
    """A run has begun and does not end; HUNG is one that has ended so."""
    NEVER_MEASURED = "never_measured"
    AHEAD = "ahead"
    STALE = "stale"
    HUNG = "hung"
    BROKEN = "broken"
    UNREACHABLE = "unreachable"
    NO_MOUNT = "no_mount"
    UNANSWERED = "unanswered"
    FAILED = "failed"
    SKIPPED = "skipped"

    INVALID = "invalid"
    KNOWN_STATE = "known_state"
    EVEN_SHARE = "even_share"
    CONTENDED_FOR_DAYS = "contended_for_days"
    CONTENDED = "contended"
    SHARED_LOSS = "shared_loss"
    PROVISIONAL = "provisional"
    NO_REFERENCE = "no_reference"
    BELOW_LEVEL = "below_level"
    BELOW_GOAL = "below_goal"
    BELOW_FLOOR = "below_floor"
    PROFILE = "profile"
    FINE = "fine"

    SLOW = "slow"
    WATCHED = "watched"

    DAMAGED = "damaged"
    NO_PARTNER = "no_partner"
    RETRANSMITS = "retransmits"
    TOO_FEW_MEMBERS = "too_few_members"
    OTHER_TERMS = "other_terms"
    SUSPECT = "suspect"
    ALARM_ELSEWHERE = "alarm_elsewhere"
    SILENCED = "silenced"
    UNEXPLAINED = "unexplained"
    SYMPTOM = "symptom"
    NOT_JUDGED = "not_judged"

    @property
    def words(self) -> str:
        """Return the reason as people read it, e.g. ``below level``."""
        return self.value.replace("_", " ")

    @property
    def fine(self) -> bool:
        """Return whether there is nothing to say against what was measured."""
        return self in _FINE

    @property
    def measured(self) -> bool:
        """Return whether there is a rate that can be held against anybody."""
        return self not in _UNMEASURED

    @property
    def telling(self) -> bool:
        """Return whether the rate tells how fast the component is today, degraded by nothing."""
        return self.measured and self is not Reason.KNOWN_STATE

    @property
    def contention(self) -> bool:
        """Return whether others are known to have used the component meanwhile."""
        return self in _CONTENTION

    @property
    def slow(self) -> bool:
        """Return whether an alarm for this reason is about a rate that is too low."""
        return self in _SLOW

    @property
    def of_one_run(self) -> bool:
        """Return whether one slow run is all that is behind it."""
        return self in _OF_ONE_RUN

    @property
    def low_from_the_start(self) -> bool:
        """Return whether an alarm is about what was never given, which needs no baseline."""
        return self in _FLOORS

    @property
    def lasting(self) -> bool:
        """Return whether more than one run shows that the loss is more than noise."""
        return self in _LASTING


_FINE = frozenset({Reason.FINE, Reason.EVEN_SHARE})
_CONTENTION = frozenset({Reason.CONTENDED, Reason.CONTENDED_FOR_DAYS})
_OF_ONE_RUN = frozenset({Reason.BELOW_LEVEL, Reason.PROVISIONAL})
_LASTING = frozenset({Reason.SLOW, Reason.PROFILE})
_SLOW = _LASTING | {Reason.BELOW_LEVEL, Reason.PROVISIONAL}
_FLOORS = frozenset({Reason.BELOW_GOAL, Reason.BELOW_FLOOR})
_UNMEASURED = frozenset(
    {
        Reason.HANGS,
        Reason.NEVER_MEASURED,
        Reason.AHEAD,
        Reason.STALE,
        Reason.HUNG,
        Reason.BROKEN,
        Reason.UNREACHABLE,
        Reason.NO_MOUNT,
        Reason.UNANSWERED,
        Reason.FAILED,
        Reason.SKIPPED,
        Reason.INVALID,
        Reason.DAMAGED,
        Reason.NO_PARTNER,
        Reason.TOO_FEW_MEMBERS,
        Reason.OTHER_TERMS,
        Reason.SYMPTOM,
        Reason.NOT_JUDGED,
    }
)
