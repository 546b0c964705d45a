"""Which accepted baselines are to be renewed: too old, of other conditions, or of nothing."""

from __future__ import annotations

from datetime import date
from typing import Any, Iterable, Mapping, NamedTuple, Optional

from plumbline.baseline.capture import Expected, key_of, unsound
from plumbline.baseline.document import Baselines, Key
from plumbline.model.conditions import Conditions, differences, of_baseline, of_record
from plumbline.model.expectation import Expectation
from plumbline.model.limits import Limits
from plumbline.model.record import Record
from plumbline.model.reference import Baseline
from plumbline.units import DAY_S, format_duration

RENEW = "measure, capture and accept again"
REMOVE = "remove its block from baselines.yml"


class Aged(NamedTuple):
    """One baseline that is to be renewed: its age in days, why in words, and the remedy."""

    key: Key
    baseline: Baseline
    age_days: int
    reasons: tuple[str, ...]
    remedy: str

    def to_json(self) -> dict[str, Any]:
        """Return the document form."""
        return {
            **self.key._asdict(),
            "last": self.baseline.last,
            "age_days": self.age_days,
            "reasons": list(self.reasons),
            "remedy": self.remedy,
        }


class Low(NamedTuple):
    """One baseline that was accepted below its floor: how far, by whom and why in ``text``."""

    key: Key
    text: str

    def to_json(self) -> dict[str, Any]:
        """Return the document form."""
        return {**self.key._asdict(), "text": self.text}


class Ages(NamedTuple):
    """The baselines to renew, and what is measured without any; ``total`` counts all accepted.

    ``below_floor`` are those that raise no alarm since a person accepted them so low.
    """

    total: int
    aged: tuple[Aged, ...]
    missing: tuple[Key, ...]
    below_floor: tuple[Low, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the document form."""
        return {
            "total": self.total,
            "aged": [one.to_json() for one in self.aged],
            "missing": [key._asdict() for key in self.missing],
            "below_floor": [one.to_json() for one in self.below_floor],
        }


Newest = Mapping[Key, Conditions]
"""The conditions of the newest sound record of each operation."""


def newest_conditions(records: Iterable[Record], expected: Expected) -> dict[Key, Conditions]:
    """Return under what each operation was measured last; unsound records say nothing of it."""
    newest: dict[Key, tuple[float, Conditions]] = {}
    for record in records:
        key = key_of(record)
        if key in newest and newest[key][0] >= record.started_at:
            continue
        if not unsound(record, expected):
            newest[key] = (record.started_at, of_record(record))
    return {key: conditions for key, (_, conditions) in newest.items()}


def ages(accepted: Baselines, expected: Expected, newest: Newest, today: date) -> Ages:
    """Return the state of all baselines of a site on a day, sorted.

    Without a newest record the conditions are compared with the policy's terms alone.
    """
    aged = []
    for key, baseline in sorted(accepted.items()):
        age_days = (today - date.fromisoformat(baseline.last)).days
        expectation = expected.get((key.layer, key.component))
        if expectation is None or key.reference not in expectation.references:
            aged.append(Aged(key, baseline, age_days, ("is not measured any more",), REMOVE))
            continue
        reasons = _reasons(baseline, age_days, expectation, newest.get(key))
        if reasons:
            aged.append(Aged(key, baseline, age_days, reasons, RENEW))
    low = tuple(
        Low(key, f"{one.below_floor}; accepted by {one.accepted_by}: {one.reason}")
        for key, one in sorted(accepted.items())
        if one.below_floor
    )
    return Ages(len(accepted), tuple(aged), _missing(accepted, expected), low)


def _reasons(
    baseline: Baseline, age_days: int, expectation: Expectation, now: Optional[Conditions]
) -> tuple[str, ...]:
    limits = expectation.limits
    return (*_dated(age_days, limits), *_changed(baseline, expectation, now))


def _dated(age_days: int, limits: Limits) -> tuple[str, ...]:
    if age_days < 0:
        return (f"dated {-age_days} d in the future",)
    if age_days * DAY_S > limits.max_age_s:
        return (f"{age_days} d old, limit {format_duration(limits.max_age_s)}",)
    return ()


def _changed(
    baseline: Baseline, expectation: Expectation, now: Optional[Conditions]
) -> tuple[str, ...]:
    then, spec = of_baseline(baseline), expectation.spec
    if now is None:
        now = Conditions(spec.hash(), spec.to_json(), then.settings, None)
    return tuple(map(str, differences(then, now, expectation.limits.fill_change)))


def _missing(accepted: Baselines, expected: Expected) -> tuple[Key, ...]:
    keys = (
        Key(layer, component, *reference.split("/"))
        for (layer, component), expectation in expected.items()
        for reference in expectation.references
    )
    return tuple(sorted(key for key in keys if key not in accepted))
