"""Limits of the policy for one component, written as Nagios ranges."""

from __future__ import annotations

from math import inf

from plumbline.model.codec import formerly, lenient
from plumbline.model.errors import DocumentError
from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple
from plumbline.model.units import DAY_S, LARGEST
from plumbline.model.validation import Within, amounts, counts, rates

if TYPE_CHECKING:
    from typing import Annotated, Mapping, Optional


_LONGEST = 64


class Range(NamedTuple):
    """A range that alerts outside (or, with ``inside``, within) start..end, both included."""

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
                f"threshold {text[:_LONGEST]!r} is not a Nagios range; "
                "write for example 80: or 10:20"
            ) from None
        if not start <= end:
            raise DocumentError(f"threshold {text!r} starts above its end")
        return cls(start, end, text.startswith("@"))

    def alerts(self, value: float) -> bool:
        """Return whether ``value`` raises the alert."""
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
    value = float(text) if len(text) <= _LONGEST else inf
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
    """The theoretical rate of a path, in bytes per second, and the component(s) that set it.

    ``kinds`` says of each in ``limited_by`` what it is, where that is known.  ``even`` is set
    for one of several that run at once: what it gets where all of them get alike.  ``share`` is
    set where no part of its own has a rate: what is left of the parts that several share.
    """

    rate: Annotated[float, rates]
    limited_by: tuple[str, ...]
    kinds: tuple[str, ...] = ()
    even: Optional[Annotated[float, rates]] = None
    share: Optional[Annotated[float, rates]] = None

    @property
    def demonstrable(self) -> float:
        """Return the rate whose least part a healthy component demonstrates."""
        return self.rate if self.share is None else self.share


DEMONSTRATED = "demonstrated"
"""The specification of a rate that no probe has measured: a figure of a report, or of a vendor."""


@formerly(median_Bps="median")
class Baseline(NamedTuple):
    """Robust statistics of accepted measurements under stated conditions.

    ``median`` is the median; ``spread`` the robust relative spread (1.4826 x MAD of the natural
    logarithms of the rates, a fraction); ``runs`` how many runs on ``first``..``last`` (ISO dates).
    The conditions, of which model.conditions says when they differ: ``spec_hash`` and the same in
    words as ``terms``, ``versions`` of the software with the settings that matter, the measuring
    ``host``, the ``tool`` with its version, and the median ``fill`` (a fraction).  ``profile`` are
    the rates of equal parts of a parallel run's time, relative to their mean; empty where none is
    kept.  ``below_floor`` says below which floor the median was when a person accepted it, empty
    where it was not.  With the specification DEMONSTRATED it is shown and never a reference.
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
        """Return whether no probe has measured it, so that no run is held against it."""
        return self.spec_hash == DEMONSTRATED


@formerly(goal_Bps="goal", goal_part_Bps="goal_part")
@lenient
class Reference(NamedTuple):
    """The references of one operation in one scenario; each may be absent.

    ``goal`` is the rate that was promised for it, ``goal_part`` its part of what was
    promised for its group; both in bytes per second.
    """

    ceiling: Optional[Ceiling]
    baseline: Optional[Baseline]
    goal: Optional[Annotated[float, rates]] = None
    goal_part: Optional[Annotated[float, rates]] = None


class Limits(NamedTuple):
    """Limits beyond which a verdict is bad; the policy's numbers that apply to one component.

    ``warning`` and ``critical`` are ranges in percent of the baseline; ``peer_loss`` and
    ``min_coverage`` are fractions; ``invalid_above`` is a factor of the ceiling and
    ``min_efficiency`` the fraction of it that a healthy system demonstrates at least, 0 where
    nothing is asked;
    ``retransmit_share`` is the fraction of segments retransmitted that warns; ``fill_limit`` is
    the fraction above which a target is not written; a baseline alarms from ``min_runs`` runs
    and up to ``max_spread`` on; it holds while the target's fill differs by no more than
    ``fill_change``, a fraction of the target, and is to be renewed at an age of ``max_age_s``.
    ``profile_distance`` is the fraction of its bytes that a run may have moved earlier or later
    than the baseline's profile has them. ``stale_after_s``: age at which the last record is too
    old. ``hung_after_s``: a run that lasts longer hangs. ``alarm_odds`` are the odds against
    chance that an alarm takes, from the site's budget of false alarms, ``end_odds`` the odds for
    health that end it; ``change_starts`` is for how many nights a change of versions counts as the
    start of a loss that all share.
    """

    warning: Range = Range(80, float("inf"))
    critical: Range = Range(50, float("inf"))
    # a loss of all would be infinite on the scale of logarithms
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

    def alerts(self, percent: float) -> bool:
        """Return whether a percentage of the reference is beyond any level."""
        return self.warning.alerts(percent) or self.critical.alerts(percent)

    def weakness(self, baseline: Baseline) -> str:
        """Return why a baseline is not firm enough to alarm anybody; empty when it is."""
        if baseline.runs < self.min_runs:
            return f"rests on {baseline.runs} runs of {self.min_runs} needed"
        if baseline.spread > self.max_spread:
            return (
                f"spreads by {100 * baseline.spread:.0f} %, more than {100 * self.max_spread:.0f} %"
            )
        return ""
