"""Under what a rate was measured; two rates are comparable only where that is the same.

The one place that compares conditions: captures, reviews, ages and verdicts all ask here.
"""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Optional, Union

from plumbline.model.limits import Baseline
from plumbline.model.record import Record
from plumbline.model.spec import terms

TERMS = "terms"
"""Names the difference between two specifications of a probe, in words."""

SPECIFICATION = "specification"
"""Names the same where only the hashes are known."""

FILL = "fill"
"""Names the difference between two fill levels of a target."""

UNKNOWN = "unknown"

_MAY_BE_UNSAID = frozenset(("host", "tool"))
"""Conditions that a baseline may leave out; they are then not compared."""


class Difference(NamedTuple):
    """One condition that is not the same: its name, what it was, what it is ``now``, in words."""

    name: str
    then: str
    now: str

    def __str__(self) -> str:
        """Return e.g. ``client 2.15.5 -> 2.17.0``."""
        return f"{self.name} {self.then} -> {self.now}"


class Conditions(NamedTuple):
    """Conditions that must be the same.

    ``spec`` holds the terms of the probe, as a document or in words; ``settings`` are versions,
    settings that matter, ``host`` and ``tool``; ``fill`` is a fraction, None where it is not known.
    """

    spec_hash: str
    spec: Union[Mapping[str, Any], str]
    settings: Mapping[str, str]
    fill: Optional[float]


def of_record(record: Record) -> Conditions:
    """Return under what a record was made."""
    settings = {**(record.versions or {}), "host": record.host}
    if record.tool:
        settings["tool"] = f"{record.tool.name} {record.tool.version}"
    return Conditions(record.spec_hash, record.spec or "", settings, record.fill)


def of_baseline(baseline: Baseline) -> Conditions:
    """Return under what the runs of a baseline were made."""
    own = {"host": baseline.host, "tool": baseline.tool}
    settings = {**baseline.versions, **{name: text for name, text in own.items() if text}}
    return Conditions(baseline.spec_hash, baseline.terms, settings, baseline.fill)


def differences(then: Conditions, now: Conditions, fill_change: float) -> tuple[Difference, ...]:
    """Return what makes two conditions incomparable, the terms of the probe first.

    The fill may differ by ``fill_change``, a fraction of the target.
    """
    changes = []
    if then.spec_hash != now.spec_hash:
        changes.append(_terms(then, now))
    if then.settings != now.settings:
        changes += _settings(then.settings, now.settings)
    if filled_otherwise(then.fill, now.fill, fill_change):
        changes.append(Difference(FILL, _percent(then.fill), _percent(now.fill)))
    return tuple(changes)


def filled_otherwise(then: Optional[float], now: Optional[float], fill_change: float) -> bool:
    """Return whether two known fractions differ by more than ``fill_change``."""
    return then is not None and now is not None and abs(then - now) > fill_change


def _percent(share: Optional[float]) -> str:
    return UNKNOWN if share is None else f"{100 * share:.0f} %"


def _settings(then: Mapping[str, str], now: Mapping[str, str]) -> list[Difference]:
    return [
        Difference(name, then.get(name, UNKNOWN), now.get(name, UNKNOWN))
        for name in sorted({*then, *now})
        if then.get(name) != now.get(name)
        and not (name in _MAY_BE_UNSAID and (name not in then or name not in now))
    ]


def _terms(then: Conditions, now: Conditions) -> Difference:
    """Return the words that differ; the hashes where the words are not known."""
    before, after = _words(then), _words(now)
    gone = [word for word in before if word not in after]
    come = [word for word in after if word not in before]
    if not before or not after or not gone + come:
        return Difference(SPECIFICATION, then.spec_hash or UNKNOWN, now.spec_hash or UNKNOWN)
    return Difference(TERMS, ", ".join(gone) or "without", ", ".join(come) or "without")


def _words(conditions: Conditions) -> list[str]:
    text = conditions.spec if isinstance(conditions.spec, str) else terms(conditions.spec)
    return text.split(", ") if text else []
