"""When a verdict is bad: the numbers of the policy that apply to one component."""

from __future__ import annotations

from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple
from plumbline.model.threshold import Range
from plumbline.model.validation import counts, texts, within
from plumbline.units import DAY_S, LARGEST

if TYPE_CHECKING:
    from typing import Any, Mapping

    from plumbline.model.reference import Baseline


class Limits(NamedTuple):
    """When a verdict is bad; the policy's numbers that apply to one component.

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
    chance that an alarm takes, from the site's budget of false alarms.
    """

    warning: Range = Range(80, float("inf"))
    critical: Range = Range(50, float("inf"))
    peer_loss: float = 0.10
    min_coverage: float = 0.9
    invalid_above: float = 1.05
    min_efficiency: float = 0.0
    retransmit_share: float = 0.005
    fill_limit: float = 0.90
    min_runs: int = 5
    max_spread: float = 0.10
    fill_change: float = 0.20
    max_age_s: float = 180 * DAY_S
    profile_distance: float = 0.10
    stale_after_s: float = 129600.0
    hung_after_s: float = 900.0
    alarm_odds: float = 10_000.0

    def weakness(self, baseline: Baseline) -> str:
        """Return why a baseline is not firm enough to alarm anybody; empty when it is."""
        if baseline.runs < self.min_runs:
            return f"rests on {baseline.runs} runs of {self.min_runs} needed"
        if baseline.spread > self.max_spread:
            return (
                f"spreads by {100 * baseline.spread:.0f} %, more than {100 * self.max_spread:.0f} %"
            )
        return ""

    def to_json(self) -> dict[str, Any]:
        """Return the document form, ranges as text."""
        raw = self._asdict()
        raw["warning"], raw["critical"] = str(self.warning), str(self.critical)
        return raw

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Limits:
        """Build from the document form; raise TypeError or DocumentError for wrong values."""
        values = dict(raw)
        for key in ("warning", "critical"):
            if key in values:
                texts(key, (values[key],))
                values[key] = Range.parse(values[key])
        limits = cls(**values)
        limits.refuse_impossible()
        return limits

    def refuse_impossible(self) -> None:
        """Raise TypeError for a number with which nothing could be judged."""
        for key, (least, most) in _LIMITS.items():
            within(least, most, **{key: getattr(self, key)})
        counts(min_runs=self.min_runs)


_LIMITS = {
    # a loss of all would be infinite on the scale of logarithms
    "peer_loss": (0.0, 0.99),
    "min_coverage": (0.0, 1.0),
    "invalid_above": (1.0, 1000.0),
    "min_efficiency": (0.0, 1.0),
    "retransmit_share": (0.0, 1.0),
    "fill_limit": (0.0, 1.0),
    "min_runs": (1, 1_000_000),
    "max_spread": (0.0, 1.0),
    "fill_change": (0.0, 1.0),
    "max_age_s": (0.0, LARGEST),
    "profile_distance": (0.0, 1.0),
    "stale_after_s": (0.0, LARGEST),
    "hung_after_s": (0.0, LARGEST),
    "alarm_odds": (1.0, LARGEST),
}
"""From where to where each number of Limits makes sense."""
