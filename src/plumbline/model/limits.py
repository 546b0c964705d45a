"""Limits and references of one component: Nagios ranges, ceilings and baselines."""

from __future__ import annotations

from math import inf
from typing import Annotated, Mapping, NamedTuple, Optional

from plumbline.model.codec import formerly, lenient
from plumbline.model.errors import DocumentError
from plumbline.model.units import DAY_S, LARGEST
from plumbline.model.validation import Within, amounts, counts, rates

_MAX_CHARACTERS = 64


class Range(NamedTuple):
    """Nagios range: alerts outside start..end, or within it if ``inside``; both ends included."""

    start: float
    end: float
    inside: bool = False

    @classmethod
    def parse(cls, text: str) -> Range:
        """Parse ``80:``, ``10``, ``~:5``, ``@10:20``; raise DocumentError for anything else."""
        body = text[1:] if text.startswith("@") else text
        start_text, colon, end_text = body.rpartition(":")
        try:
            if not colon:
                start, end = 0.0, _number(body)
            else:
                start = -inf if start_text == "~" else _number(start_text or "0")
                end = _number(end_text) if end_text else inf
        except ValueError:
            raise DocumentError(
                f"threshold {text[:_MAX_CHARACTERS]!r} is not a Nagios range; "
                "write for example 80: or 10:20"
            ) from None
        if not start <= end:
            raise DocumentError(f"threshold {text!r} starts above its end")
        return cls(start, end, text.startswith("@"))

    def alerts(self, value: float) -> bool:
        """Return True if ``value`` raises an alert."""
        return (self.start <= value <= self.end) is self.inside

    def scaled(self, factor: float) -> Range:
        """Return the range with both ends multiplied, e.g. from percent to bytes per second."""
        return Range(self.start * factor, self.end * factor, self.inside)

    def __str__(self) -> str:
        """Return the shortest Nagios form."""
        start = "~" if self.start == -inf else f"{self.start:.15g}"
        end = "" if self.end == inf else f"{self.end:.15g}"
        body = end if start == "0" and end else f"{start}:{end}"
        return f"@{body}" if self.inside else body


def _number(text: str) -> float:
    """Return a plausible number; raise ValueError for anything else."""
    value = float(text) if len(text) <= _MAX_CHARACTERS else inf
    if not -LARGEST <= value <= LARGEST:
        raise ValueError(text)
    return value


_WIDEST = 100.0
"""Largest spread of logarithms."""


def _rates_of_parts(profile: tuple[float, ...]) -> None:
    if profile and not sum(profile) > 0:
        raise TypeError(f"profile is {profile!r:.60}, which are no rates")


@formerly(rate_Bps="rate", even_Bps="even")
@lenient
class Ceiling(NamedTuple):
    """Theoretical rate of a path, in bytes per second, and the components that limit it.

    ``kinds`` has the kind of each component in ``limited_by``, if known.  ``even`` is set for one
    of several flows that run at once: its rate if all get the same.  ``share`` is set if only
    shared parts of the path have a rate: its share of these.
    """

    rate: Annotated[float, rates]
    limited_by: tuple[str, ...]
    kinds: tuple[str, ...] = ()
    even: Optional[Annotated[float, rates]] = None
    share: Optional[Annotated[float, rates]] = None

    @property
    def demonstrable(self) -> float:
        """Rate of which a healthy component demonstrates at least the floor."""
        return self.rate if self.share is None else self.share


DEMONSTRATED = "demonstrated"
"""Specification of a rate from a report or a vendor, which no probe has measured."""


@formerly(median_Bps="median")
class Baseline(NamedTuple):
    """Robust statistics of accepted measurements under stated conditions.

    ``median`` is in the unit of a rate; ``spread`` is the robust relative spread (1.4826 x MAD of
    the natural logarithms of the rates, a fraction); ``runs`` the number of runs from ``first`` to
    ``last`` (ISO dates).  Conditions, compared by model.conditions: ``spec_hash`` and its words
    ``terms``, ``versions`` of software and settings that matter, the measuring ``host``, the
    ``tool`` with its version, and the median ``fill`` (a fraction).  ``profile`` has the rates of
    equal parts of a parallel run's time, relative to their mean; it may be empty.  ``below_floor``
    is the floor that the median missed when a person accepted it, empty if it missed none.  With
    the specification DEMONSTRATED it is only shown and never a reference.
    """

    median: Annotated[float, rates]
    spread: Annotated[float, Within(0, _WIDEST)]
    runs: Annotated[int, counts]
    first: str
    last: str
    spec_hash: str
    versions: Mapping[str, str]
    accepted_by: str
    reason: str
    terms: str = ""
    host: str = ""
    tool: str = ""
    fill: Optional[Annotated[float, Within(0, 1)]] = None
    profile: Annotated[tuple[Annotated[float, amounts], ...], _rates_of_parts] = ()
    below_floor: str = ""

    @property
    def demonstrated(self) -> bool:
        """True if no probe has measured it, so no run is compared with it."""
        return self.spec_hash == DEMONSTRATED


@formerly(goal_Bps="goal", goal_part_Bps="goal_part")
@lenient
class Reference(NamedTuple):
    """References of one operation in one scenario; each may be missing.

    ``goal`` is the promised rate of the component, ``goal_part`` its share of the rate promised
    for its group; both in bytes per second.
    """

    ceiling: Optional[Ceiling]
    baseline: Optional[Baseline]
    goal: Optional[Annotated[float, rates]] = None
    goal_part: Optional[Annotated[float, rates]] = None


class Limits(NamedTuple):
    """Limits of the policy for one component.

    ``warning`` and ``critical`` are ranges in percent of the baseline; ``peer_loss`` and
    ``min_coverage`` are fractions; ``invalid_above`` is a factor of the ceiling and
    ``min_efficiency`` the floor, the least fraction of it that a healthy system demonstrates, 0 for
    none; ``retransmit_share`` is the fraction of retransmitted segments that warns; ``fill_limit``
    is the fill fraction above which a target is not written.  A baseline can raise alarms with at
    least ``min_runs`` runs and at most ``max_spread``; it applies while the target's fill differs
    by no more than ``fill_change``, a fraction of the target, and is due for renewal at the age
    ``max_age_s``.  ``profile_distance`` is the fraction of its bytes that a run may move earlier or
    later than the baseline's profile.  ``stale_after_s`` is the age at which the last record is
    stale; a run longer than ``hung_after_s`` hangs.  ``alarm_odds`` are the odds against chance
    that raise an alarm, from the site's alarm budget, ``end_odds`` the odds for health that end it;
    ``change_starts`` is the number of nights during which a change of versions counts as the start
    of a shared loss.  ``baselines`` is False for directories without an inventory, which never have
    one.
    """

    warning: Range = Range(80, float("inf"))
    critical: Range = Range(50, float("inf"))
    # the logarithm of a total loss would be infinite
    peer_loss: Annotated[float, Within(0, 0.99)] = 0.10
    min_coverage: Annotated[float, Within(0, 1)] = 0.9
    invalid_above: Annotated[float, Within(1, 1000)] = 1.05
    min_efficiency: Annotated[float, Within(0, 1)] = 0.0
    retransmit_share: Annotated[float, Within(0, 1)] = 0.005
    fill_limit: Annotated[float, Within(0, 1)] = 0.90
    min_runs: Annotated[int, Within(1, 1_000_000)] = 5
    max_spread: Annotated[float, Within(0, 1)] = 0.10
    fill_change: Annotated[float, Within(0, 1)] = 0.20
    max_age_s: Annotated[float, amounts] = 180 * DAY_S
    profile_distance: Annotated[float, Within(0, 1)] = 0.10
    stale_after_s: Annotated[float, amounts] = 129600.0
    hung_after_s: Annotated[float, amounts] = 900.0
    alarm_odds: Annotated[float, Within(1, LARGEST)] = 10_000.0
    end_odds: Annotated[float, Within(1, LARGEST)] = 100.0
    change_starts: Annotated[float, amounts] = 100.0
    baselines: bool = True

    def alerts(self, percent: float) -> bool:
        """Return True if a percentage of the reference is beyond any level."""
        return self.warning.alerts(percent) or self.critical.alerts(percent)

    def contended(self, coverage: Optional[float]) -> bool:
        """Return True if a known coverage is too low."""
        return coverage is not None and coverage < self.min_coverage

    def weakness(self, baseline: Baseline) -> str:
        """Return the reason why a baseline cannot raise alarms; empty if it can."""
        if baseline.runs < self.min_runs:
            return f"rests on {baseline.runs} runs of {self.min_runs} needed"
        if baseline.spread > self.max_spread:
            return (
                f"spreads by {100 * baseline.spread:.0f} %, more than {100 * self.max_spread:.0f} %"
            )
        return ""
