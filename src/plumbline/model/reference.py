"""The two references of a measurement: what the hardware should give, what it has given."""

from __future__ import annotations

from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple
from plumbline.model.validation import all_within, counts, rates, rates_or_none, texts, within
from plumbline.units import LARGEST

if TYPE_CHECKING:
    from typing import Any, Mapping, Optional


_WIDEST = 100.0
"""Of a spread of logarithms."""


class Ceiling(NamedTuple):
    """The theoretical rate of a path, in bytes per second, and the component(s) that set it.

    ``kinds`` says of each in ``limited_by`` what it is, where that is known.  ``even_Bps`` is set
    for one of several that run at once: what it gets where all of them get alike.
    """

    rate_Bps: float
    limited_by: tuple[str, ...]
    kinds: tuple[str, ...] = ()
    even_Bps: Optional[float] = None

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Ceiling:
        """Build from the document form; raise KeyError or TypeError for wrong keys or values."""
        parts, kinds = tuple(raw["limited_by"]), tuple(raw["kinds"])
        ceiling = cls(raw["rate_Bps"], parts, kinds, raw.get("even_Bps"))
        rates(rate_Bps=ceiling.rate_Bps)
        rates_or_none(even_Bps=ceiling.even_Bps)
        texts("limited_by", ceiling.limited_by + ceiling.kinds)
        return ceiling


class Baseline(NamedTuple):
    """Robust statistics of accepted measurements under stated conditions.

    ``median_Bps`` is the median; ``spread`` the robust relative spread (1.4826 x MAD of the natural
    logarithms of the rates, a fraction); ``runs`` how many runs on ``first``..``last`` (ISO dates).
    The conditions, of which model.conditions says when they differ: ``spec_hash`` and the same in
    words as ``terms``, ``versions`` of the software with the settings that matter, the measuring
    ``host``, the ``tool`` with its version, and the median ``fill`` (a fraction).  ``profile`` are
    the rates of equal parts of a parallel run's time, relative to their mean; empty where none is
    kept.  ``below_floor`` says below which floor the median was when a person accepted it, empty
    where it was not.
    """

    median_Bps: float
    spread: float
    runs: int
    first: str
    last: str
    spec_hash: str
    versions: Mapping[str, str]
    accepted_by: str
    reason: str
    terms: str = ""
    host: str = ""
    tool: str = ""
    fill: Optional[float] = None
    profile: tuple[float, ...] = ()
    below_floor: str = ""


class Reference(NamedTuple):
    """The references of one operation in one scenario; each may be absent.

    ``goal_Bps`` is the rate that was promised for it, ``goal_part_Bps`` its part of what was
    promised for its group; both in bytes per second.
    """

    ceiling: Optional[Ceiling]
    baseline: Optional[Baseline]
    goal_Bps: Optional[float] = None
    goal_part_Bps: Optional[float] = None

    def to_json(self) -> dict[str, Any]:
        """Return the document form."""
        return {
            "ceiling": self.ceiling and self.ceiling._asdict(),
            "baseline": self.baseline and self.baseline._asdict(),
            "goal_Bps": self.goal_Bps,
            "goal_part_Bps": self.goal_part_Bps,
        }

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Reference:
        """Build from the document form; raise KeyError or TypeError for wrong keys or values."""
        ceiling, baseline = raw["ceiling"], raw["baseline"]
        goals = {key: raw.get(key) for key in ("goal_Bps", "goal_part_Bps")}
        rates_or_none(**goals)
        return cls(
            ceiling=None if ceiling is None else Ceiling.from_json(ceiling),
            baseline=None if baseline is None else _baseline(baseline),
            **goals,
        )


def _baseline(raw: Mapping[str, Any]) -> Baseline:
    baseline = Baseline(**{**raw, "profile": tuple(raw.get("profile", ()))})
    rates(median_Bps=baseline.median_Bps)
    within(0, _WIDEST, spread=baseline.spread)
    counts(runs=baseline.runs)
    if baseline.fill is not None:
        within(0, 1, fill=baseline.fill)
    texts("baseline", (*baseline[3:6], *baseline[7:12], baseline.below_floor))
    texts("versions", (part for pair in baseline.versions.items() for part in pair))
    _refuse_no_profile(baseline.profile)
    return baseline


def _refuse_no_profile(profile: tuple[float, ...]) -> None:
    all_within(0, LARGEST, "profile", profile)
    if profile and not sum(profile) > 0:
        raise TypeError(f"profile is {profile!r:.60}, which are no rates")
