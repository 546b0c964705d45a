"""Verdicts: state, reason, sentence, evidence and figures of one component or group."""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import Any, Iterable, Mapping, NamedTuple, Optional

from plumbline.model.codec import read, write_fields
from plumbline.model.errors import DocumentError


class State(IntEnum):
    """Nagios plug-in state; its value is the exit code of a check."""

    OK = 0
    WARNING = 1
    CRITICAL = 2
    UNKNOWN = 3

    @property
    def alarm(self) -> bool:
        """True for WARNING and CRITICAL: a measured fault."""
        return self in (State.WARNING, State.CRITICAL)


# As in Nagios Core UNKNOWN is above WARNING: a missing measurement outranks a mild loss, but never
# hides a severe one.
_SEVERITY = (State.OK, State.WARNING, State.UNKNOWN, State.CRITICAL)


def worst(states: Iterable[State]) -> State:
    """Return the most severe state; UNKNOWN, never OK, without any state."""
    return max(states, key=_SEVERITY.index, default=State.UNKNOWN)


class Reason(str, Enum):
    """Finding that decides a verdict, roughly in the order of their examination.

    docs/verdicts.md explains when each one applies.
    """

    HANGS = "hangs"
    """A run is in progress and does not end; HUNG is a past run that hung."""
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
    UNRECORDED = "unrecorded"
    """The last run could not be recorded, so that everything known is from before."""
    NO_PARTNER = "no_partner"
    RETRANSMITS = "retransmits"
    TOO_FEW_MEMBERS = "too_few_members"
    OTHER_TERMS = "other_terms"
    SUSPECT = "suspect"
    ALARM_ELSEWHERE = "alarm_elsewhere"
    SILENCED = "silenced"
    UNEXPLAINED = "unexplained"
    SYMPTOM = "symptom"
    FILLING = "filling"
    NOT_JUDGED = "not_judged"

    @property
    def words(self) -> str:
        """Reason in words, e.g. ``below level``."""
        return self.value.replace("_", " ")

    @property
    def fine(self) -> bool:
        """True if the measurement shows no fault."""
        return self in _FINE

    @property
    def measured(self) -> bool:
        """True if there is a valid rate."""
        return self not in _UNMEASURED

    @property
    def telling(self) -> bool:
        """True if the rate shows the component's own speed, not reduced by a known state."""
        return self.measured and self is not Reason.KNOWN_STATE

    @property
    def contention(self) -> bool:
        """True if others used the component during the measurement."""
        return self in _CONTENTION

    @property
    def slow(self) -> bool:
        """True if an alarm for this reason means a rate that is too low."""
        return self in _SLOW

    @property
    def single_run(self) -> bool:
        """True if the reason rests on a single slow run."""
        return self in _SINGLE_RUN

    @property
    def below_requirement(self) -> bool:
        """True if the component never reached the required rate, which needs no baseline."""
        return self in _FLOORS

    @property
    def lasting(self) -> bool:
        """True if several runs prove that the loss is more than noise."""
        return self in _LASTING


_FINE = frozenset({Reason.FINE, Reason.EVEN_SHARE})
_CONTENTION = frozenset({Reason.CONTENDED, Reason.CONTENDED_FOR_DAYS})
_SINGLE_RUN = frozenset({Reason.BELOW_LEVEL, Reason.PROVISIONAL})
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
        Reason.UNRECORDED,
        Reason.NO_PARTNER,
        Reason.TOO_FEW_MEMBERS,
        Reason.OTHER_TERMS,
        Reason.SYMPTOM,
        Reason.FILLING,
        Reason.NOT_JUDGED,
    }
)


class Figure(NamedTuple):
    """One item of performance data, levels in the same unit; a ``value`` of None is ``U``."""

    label: str
    value: Optional[float]
    unit: str = ""
    warning: str = ""
    critical: str = ""
    maximum: Optional[float] = None


class Verdict(NamedTuple):
    """Verdict on one component in one layer, or on a ``group`` of that name.

    ``reason`` is the deciding finding (docs/verdicts.md), ``sentence`` the first line of output.
    ``ratio_*`` are measured / reference of the deciding operation; ``ratio_runs`` is the same over
    the runs with the strongest evidence, for any reference.  ``counts`` is False if the sample must
    not count against the component, or if all that is known of a group is that its members are
    fine.
    """

    layer: str
    component: str
    state: State
    reason: Reason
    sentence: str
    ratio_ceiling: Optional[float] = None
    ratio_baseline: Optional[float] = None
    ratio_peers: Optional[float] = None
    ratio_runs: Optional[float] = None
    counts: bool = True
    evidence: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    group: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the document form, with the state's name and the reason's value."""
        return write_fields(self)

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Verdict:
        """Build from the document form; raise DocumentError for missing or invalid values."""
        try:
            return read(cls, raw)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DocumentError(
                f"a verdict is damaged ({error!r}); judge again with plumbline judge --json"
            ) from error


class Judged(NamedTuple):
    """Verdict with the node that measured, and the time of judging in seconds since the epoch."""

    node: str
    judged_at: float
    verdict: Verdict
