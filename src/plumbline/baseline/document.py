"""The baselines as they lie in the site's git: read by people in a review, written by ``accept``.

The form is explained with an example in docs/baselines.md.
"""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal, Mapping, NamedTuple, Optional

from pydantic import AfterValidator, Field

from plumbline.errors import DocumentError
from plumbline.layers import layer_of
from plumbline.model.record import Operation, Scenario
from plumbline.model.reference import Baseline
from plumbline.topology.strict import Percent, Rate, Spread, Strict, parse

DOCUMENT = "plumbline_baselines"
CANDIDATES = "plumbline_candidates"


class Key(NamedTuple):
    """What a baseline is of; sorts by layer, component, operation and scenario."""

    layer: str
    component: str
    operation: str
    scenario: str

    @property
    def step(self) -> str:
        """The operation in words: ``read`` or ``read together``."""
        scenario = "" if self.scenario == Scenario.SINGLE.value else f" {self.scenario}"
        return f"{self.operation}{scenario}"

    @property
    def reference(self) -> str:
        """The operation as documents key it: ``read/single``."""
        return f"{self.operation}/{self.scenario}"

    def __str__(self) -> str:
        """Return e.g. ``ost scratch-OST0003 write``; the scenario only where it is not single."""
        return f"{self.layer} {self.component} {self.step}"


class Candidate(NamedTuple):
    """A captured baseline, accepted or not.

    ``outlier`` says in a sentence why it must be accepted by name, ``weak`` why it will not alarm.
    """

    baseline: Baseline
    outlier: str = ""
    weak: str = ""


Baselines = Mapping[Key, Baseline]
Candidates = Mapping[Key, Candidate]


def _layer(text: str) -> str:
    try:
        return layer_of(text).name
    except DocumentError as error:
        raise ValueError(str(error)) from None


def _step(text: str) -> str:
    operation, _, scenario = text.partition("/")
    try:
        Operation(operation), Scenario(scenario)
    except ValueError:
        raise ValueError(
            f"{text!r:.60} is no operation and scenario; write for example write/single"
        ) from None
    return text


def _date(text: str) -> str:
    try:
        date.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"{text!r:.60} is no date; write for example '2026-11-20', quoted"
        ) from None
    return text


def _profile(text: str) -> str:
    points = text.split()
    digits = all(point.isdecimal() and point.isascii() and len(point) < 6 for point in points)
    if text and not (digits and any(map(int, points))):
        raise ValueError(
            f"{text!r:.60} is no profile; write percents of the mean, for example '120 95 95 90'"
        )
    return text


_Profile = Annotated[str, AfterValidator(_profile)]
_Date = Annotated[str, AfterValidator(_date)]


class _Entry(Strict):
    median: Rate
    spread: Spread
    runs: Annotated[int, Field(ge=1, le=1_000_000)]
    first: _Date
    last: _Date
    spec: str
    terms: str = ""
    host: str = ""
    tool: str = ""
    fill: Optional[Percent] = None
    profile: _Profile = ""
    versions: dict[str, str]
    accepted_by: str = ""
    reason: str = ""
    outlier: str = ""
    weak: str = ""
    below_floor: str = ""


_Steps = dict[Annotated[str, AfterValidator(_step)], _Entry]
_Layers = dict[Annotated[str, AfterValidator(_layer)], dict[str, _Steps]]


class _Accepted(Strict):
    schema_: Literal[1] = Field(alias="schema")
    accepted: _Layers


class _Captured(Strict):
    schema_: Literal[1] = Field(alias="schema")
    captured: _Layers


def read_baselines(raw: object) -> dict[Key, Baseline]:
    """Return the accepted baselines of a parsed YAML mapping; none where it is empty.

    Raises:
        DocumentError: a key or value that is not understood, or nobody who accepted.
    """
    if raw is None or raw == {}:
        return {}
    entries = _entries(parse(_Accepted, raw, DOCUMENT).accepted)
    for key, entry in entries.items():
        if not entry.accepted_by or not entry.reason:
            raise DocumentError(
                f"{DOCUMENT}: {key}: accepted_by and reason are missing; "
                "let `plumbline baseline accept` write this file"
            )
    return {key: _baseline(entry) for key, entry in entries.items()}


def read_candidates(raw: object) -> dict[Key, Candidate]:
    """Return the captured baselines of a parsed YAML mapping; raise DocumentError as above."""
    entries = _entries(parse(_Captured, raw, CANDIDATES).captured)
    return {
        key: Candidate(_baseline(entry), entry.outlier, entry.weak)
        for key, entry in entries.items()
    }


def _entries(layers: _Layers) -> dict[Key, _Entry]:
    return {
        Key(layer, component, *step.split("/")): entry
        for layer, components in layers.items()
        for component, steps in components.items()
        for step, entry in steps.items()
    }


def _baseline(entry: _Entry) -> Baseline:
    return Baseline(
        entry.median,
        entry.spread,
        entry.runs,
        entry.first,
        entry.last,
        entry.spec,
        entry.versions,
        entry.accepted_by,
        entry.reason,
        entry.terms,
        entry.host,
        entry.tool,
        entry.fill,
        tuple(int(point) / 100 for point in entry.profile.split()),
        entry.below_floor,
    )


def write_baselines(baselines: Baselines) -> dict[str, Any]:
    """Return the document form of accepted baselines, sorted."""
    plain = {key: _plain(baseline) for key, baseline in baselines.items()}
    return {DOCUMENT: {"schema": 1, "accepted": _nested(plain)}}


def write_candidates(candidates: Candidates) -> dict[str, Any]:
    """Return the document form of captured baselines, sorted."""
    plain = {
        key: {**_plain(one.baseline), **_said(outlier=one.outlier, weak=one.weak)}
        for key, one in candidates.items()
    }
    return {CANDIDATES: {"schema": 1, "captured": _nested(plain)}}


def _nested(entries: Mapping[Key, dict[str, Any]]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for key in sorted(entries):
        steps = nested.setdefault(key.layer, {}).setdefault(key.component, {})
        steps[key.reference] = entries[key]
    return nested


def _plain(baseline: Baseline) -> dict[str, Any]:
    fill = "" if baseline.fill is None else f"{100 * baseline.fill:.0f} %"
    profile = " ".join(f"{100 * point:.0f}" for point in baseline.profile)
    return {
        "median": rate_text(baseline.median_Bps),
        "spread": f"{100 * baseline.spread:.2f} %",
        "runs": baseline.runs,
        "first": baseline.first,
        "last": baseline.last,
        "spec": baseline.spec_hash,
        **_said(terms=baseline.terms, host=baseline.host, tool=baseline.tool, fill=fill),
        **_said(profile=profile),
        "versions": dict(sorted(baseline.versions.items())),
        **_said(accepted_by=baseline.accepted_by, reason=baseline.reason),
        **_said(below_floor=baseline.below_floor),
    }


def _said(**texts: str) -> dict[str, str]:
    """Return those that say something."""
    return {name: text for name, text in texts.items() if text}


def rate_text(rate_Bps: float) -> str:
    """Return a rate as the document keeps it, exact to a part in ten thousand: ``115.2 MB/s``."""
    for prefix, factor in (("G", 1e10), ("M", 1e5), ("k", 1e2)):
        if rate_Bps >= factor:
            unit = {"G": 1e9, "M": 1e6, "k": 1e3}[prefix]
            return f"{rate_Bps / unit:.5g} {prefix}B/s"
    return f"{rate_Bps:.5g} B/s"
