"""Accepted baselines beside candidates: what changed, by how much, and under which conditions."""

from __future__ import annotations

from math import inf, log
from typing import Any, Iterable, NamedTuple, Optional

from plumbline.baseline.document import Baselines, Candidates, Key
from plumbline.model.conditions import Difference, differences, of_baseline
from plumbline.model.reference import Baseline

_SHOWN_FILL = 0.05
"""A review tells a fill that changed by more; whether it still compares is the policy's matter."""


class Change(NamedTuple):
    """One operation of one component: its baseline, its candidate, and what is to be known.

    ``outlier`` is set where the candidate must be accepted by name, ``weak`` where it will not
    alarm.
    """

    key: Key
    old: Optional[Baseline]
    new: Baseline
    conditions: tuple[Difference, ...]
    outlier: str
    weak: str = ""

    @property
    def ratio(self) -> Optional[float]:
        """New / old median; None where there is no old one."""
        return self.new.median_Bps / self.old.median_Bps if self.old else None

    @property
    def size(self) -> float:
        """How much it changed, up or down alike; what is new counts least."""
        return -inf if self.ratio is None else abs(log(self.ratio))

    def to_json(self) -> dict[str, Any]:
        """Return the document form."""
        return {
            **self.key._asdict(),
            "old": self.old and self.old._asdict(),
            "new": self.new._asdict(),
            "ratio": self.ratio,
            "conditions": [one._asdict() for one in self.conditions],
            "outlier": self.outlier,
            "weak": self.weak,
        }


def compare(accepted: Baselines, candidates: Candidates) -> tuple[Change, ...]:
    """Return one change for each candidate, sorted by layer, component and operation."""
    return tuple(
        Change(
            key,
            accepted.get(key),
            candidate.baseline,
            _conditions(accepted.get(key), candidate.baseline),
            candidate.outlier,
            candidate.weak,
        )
        for key, candidate in sorted(candidates.items())
    )


def biggest_first(changes: Iterable[Change]) -> list[Change]:
    """Return changes for a reviewer: what needs a name, then by size, what is new last."""
    return sorted(changes, key=lambda change: (not change.outlier, -change.size, change.key))


def _conditions(old: Optional[Baseline], new: Baseline) -> tuple[Difference, ...]:
    if old is None:
        return ()
    return differences(of_baseline(old), of_baseline(new), _SHOWN_FILL)
