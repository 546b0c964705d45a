"""Accepted baselines beside candidates: what changed, by how much, and under which conditions."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Optional

from plumbline.baseline.document import Baselines, Candidates, Key
from plumbline.model.reference import Baseline


class Change(NamedTuple):
    """One operation of one component: its baseline, its candidate, and what is to be known.

    ``conditions`` are sentences; ``outlier`` is set where the candidate must be accepted by name.
    """

    key: Key
    old: Optional[Baseline]
    new: Baseline
    conditions: tuple[str, ...]
    outlier: str

    @property
    def ratio(self) -> Optional[float]:
        """New / old median; None where there is no old one."""
        return self.new.median_Bps / self.old.median_Bps if self.old else None

    def to_json(self) -> dict[str, Any]:
        """Return the document form."""
        return {
            **self.key._asdict(),
            "old": self.old and self.old._asdict(),
            "new": self.new._asdict(),
            "ratio": self.ratio,
            "conditions": list(self.conditions),
            "outlier": self.outlier,
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
        )
        for key, candidate in sorted(candidates.items())
    )


def _conditions(old: Optional[Baseline], new: Baseline) -> tuple[str, ...]:
    if old is None:
        return ()
    terms = ("other terms of the probe",) if old.spec_hash != new.spec_hash else ()
    return terms + _versions(old.versions, new.versions)


def _versions(old: Mapping[str, str], new: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(
        f"{name} {old.get(name, 'unknown')} -> {new.get(name, 'unknown')}"
        for name in sorted({*old, *new})
        if old.get(name) != new.get(name)
    )
