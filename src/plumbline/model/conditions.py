"""Conditions of a measurement: two rates are comparable only under equal conditions.

Captures, reviews and verdicts all compare conditions with this module.
"""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Optional, Union

from plumbline.model.limits import Baseline
from plumbline.model.record import Record
from plumbline.model.spec import terms

TERMS = "terms"
"""Name of a difference between the words of two probe specifications."""

SPECIFICATION = "specification"
"""Name of a difference between two specifications of which only hashes are known."""

FILL = "fill"
"""Name of a difference between two fill levels of a target."""

UNKNOWN = "unknown"

_OPTIONAL = frozenset(("host", "tool"))
"""Conditions that are compared only if both sides have them."""


class Difference(NamedTuple):
    """A condition that changed: its name, and its value ``then`` and ``now``, in words."""

    name: str
    then: str
    now: str

    def __str__(self) -> str:
        """Return e.g. ``client 2.15.5 -> 2.17.0``."""
        return f"{self.name} {self.then} -> {self.now}"


class Conditions(NamedTuple):
    """Conditions of a rate.

    ``spec`` is the specification of the probe, as a document or in words; ``settings`` has
    versions, settings that matter, ``host`` and ``tool``; ``fill`` is a fraction, None if unknown.
    """

    spec_hash: str
    spec: Union[Mapping[str, Any], str]
    settings: Mapping[str, str]
    fill: Optional[float]


def of_record(record: Record) -> Conditions:
    """Return the conditions of a record."""
    settings = {**(record.versions or {}), "host": record.host}
    if record.tool:
        settings["tool"] = f"{record.tool.name} {record.tool.version}"
    return Conditions(record.spec_hash, record.spec or "", settings, record.fill)


def of_baseline(baseline: Baseline) -> Conditions:
    """Return the conditions of the runs of a baseline."""
    optional = {"host": baseline.host, "tool": baseline.tool}
    settings = {**baseline.versions, **{name: text for name, text in optional.items() if text}}
    return Conditions(baseline.spec_hash, baseline.terms, settings, baseline.fill)


def differences(then: Conditions, now: Conditions, fill_change: float) -> tuple[Difference, ...]:
    """Return the differences that make rates incomparable, those of the specification first.

    The fill may differ by ``fill_change``, a fraction of the target.
    """
    changes = []
    if then.spec_hash != now.spec_hash:
        changes.append(_terms(then, now))
    if then.settings != now.settings:
        changes += _settings(then.settings, now.settings)
    if fill_differs(then.fill, now.fill, fill_change):
        changes.append(Difference(FILL, _percent(then.fill), _percent(now.fill)))
    return tuple(changes)


def fill_differs(then: Optional[float], now: Optional[float], fill_change: float) -> bool:
    """Return True if two known fill fractions differ by more than ``fill_change``."""
    return then is not None and now is not None and abs(then - now) > fill_change


def _percent(share: Optional[float]) -> str:
    return UNKNOWN if share is None else f"{100 * share:.0f} %"


def _settings(then: Mapping[str, str], now: Mapping[str, str]) -> list[Difference]:
    return [
        Difference(name, then.get(name, UNKNOWN), now.get(name, UNKNOWN))
        for name in sorted({*then, *now})
        if then.get(name) != now.get(name)
        and not (name in _OPTIONAL and (name not in then or name not in now))
    ]


def _terms(then: Conditions, now: Conditions) -> Difference:
    """Return the words that differ; the hashes if the words are unknown or equal."""
    before, after = _words(then), _words(now)
    removed = [word for word in before if word not in after]
    added = [word for word in after if word not in before]
    if not before or not after or not removed + added:
        return Difference(SPECIFICATION, then.spec_hash or UNKNOWN, now.spec_hash or UNKNOWN)
    return Difference(TERMS, ", ".join(removed) or "without", ", ".join(added) or "without")


def _words(conditions: Conditions) -> list[str]:
    text = conditions.spec if isinstance(conditions.spec, str) else terms(conditions.spec)
    return text.split(", ") if text else []
