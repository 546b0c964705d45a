"""Verdicts: state, reason, figures, sentence and evidence of one component or group."""

from __future__ import annotations

from enum import Enum, IntEnum

from plumbline.model.codec import read, write_fields
from plumbline.model.errors import DocumentError
from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any, Iterable, Mapping, Optional


class State(IntEnum):
    """Nagios plug-in states; the value is the exit code of a check."""

    OK = 0
    WARNING = 1
    CRITICAL = 2
    UNKNOWN = 3

    @property
    def alarm(self) -> bool:
        """Return whether this is WARNING or CRITICAL: something is wrong, and it was measured."""
        return self in (State.WARNING, State.CRITICAL)


# Nagios Core counts UNKNOWN above WARNING: what could not be measured outranks a mild loss,
# and never hides a gross one.
_SEVERITY = (State.OK, State.WARNING, State.UNKNOWN, State.CRITICAL)


def worst(states: Iterable[State]) -> State:
    """Return the most severe of ``states``; nothing judged is UNKNOWN, never OK."""
    return max(states, key=_SEVERITY.index, default=State.UNKNOWN)


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


class Figure(NamedTuple):
    """One performance datum; ``value`` None is Nagios's ``U``.  Levels are in the same unit."""

    label: str
    value: Optional[float]
    unit: str = ""
    warning: str = ""
    critical: str = ""
    maximum: Optional[float] = None


class Verdict(NamedTuple):
    """The judgement of one component in one layer, or of a ``group`` of them named so.

    ``reason`` is that of the finding that decided (docs/verdicts.md), ``sentence`` what is said on
    the first line, ``ratio_*`` are measured / reference of the deciding operation,
    ``ratio_runs`` the same of the runs that say most together, whatever their reference,
    ``counts`` is False where the sample must not count against the component, and for a group of
    which nothing is known but that its members are fine.
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
        """Return the document form; the state by name, the reason by value."""
        return write_fields(self)

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Verdict:
        """Build from the document form; raise DocumentError for missing or wrong values."""
        try:
            return read(cls, raw)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DocumentError(
                f"a verdict is damaged ({error!r}); judge again with plumbline judge --json"
            ) from error


class Judged(NamedTuple):
    """A verdict with the node that measured, and when it was judged, in seconds since the epoch."""

    node: str
    judged_at: float
    verdict: Verdict
