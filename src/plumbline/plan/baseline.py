"""Baselines: the document in the site's git, its comparison, review and acceptance.

The format is explained with an example in docs/baselines.md.
"""

from __future__ import annotations

from datetime import date
from itertools import count
from math import inf, log
from statistics import median
from typing import (
    Annotated,
    Any,
    Iterable,
    Iterator,
    Literal,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
)

from pydantic import AfterValidator, Field

from plumbline.model.conditions import FILL, Difference, differences, of_baseline
from plumbline.model.errors import DocumentError, UsageError
from plumbline.model.layers import layer_of
from plumbline.model.limits import Baseline
from plumbline.model.quantity import Quantity
from plumbline.model.record import Operation, Scenario, step_name
from plumbline.topology.strict import Percent, Spread, Strict, parse, with_unit

DOCUMENT = "plumbline_baselines"
CANDIDATES = "plumbline_candidates"


class Key(NamedTuple):
    """Key of a baseline; sorts by layer, component, operation and scenario."""

    layer: str
    component: str
    operation: str
    scenario: str

    @property
    def step(self) -> str:
        """The operation in words, ``read`` or ``read together``."""
        return step_name(self.operation, self.scenario)

    @property
    def reference(self) -> str:
        """The operation as a key in documents, ``read/single``."""
        return f"{self.operation}/{self.scenario}"

    @property
    def quantity(self) -> Quantity:
        """Return the measured quantity."""
        return Operation(self.operation).quantity

    def __str__(self) -> str:
        """Return e.g. ``ost scratch-OST0003 write``, with the scenario unless it is single."""
        return f"{self.layer} {self.component} {self.step}"


class Candidate(NamedTuple):
    """A captured baseline, accepted or not.

    ``outlier`` is the reason why it must be accepted by name, ``weak`` why it will not alarm.
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
    median: Annotated[str, with_unit(str, "200 MB/s")]
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


def _with_medians(steps: dict[str, _Entry]) -> dict[str, _Entry]:
    try:
        for step, entry in steps.items():
            Operation(step.partition("/")[0]).quantity.parse(entry.median)
    except DocumentError as error:
        raise ValueError(f"{step} median: {error}") from error
    return steps


_Steps = Annotated[
    dict[Annotated[str, AfterValidator(_step)], _Entry], AfterValidator(_with_medians)
]
_Layers = dict[Annotated[str, AfterValidator(_layer)], dict[str, _Steps]]


class _Accepted(Strict):
    schema_: Literal[1] = Field(alias="schema")
    accepted: _Layers


class _Captured(Strict):
    schema_: Literal[1] = Field(alias="schema")
    captured: _Layers


def read_baselines(raw: object) -> dict[Key, Baseline]:
    """Return the accepted baselines of a parsed YAML mapping, which may be empty.

    Raises:
        DocumentError: a key or value is not understood, or acceptor or reason is missing.
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
    return {key: _baseline(key, entry) for key, entry in entries.items()}


def read_candidates(raw: object) -> dict[Key, Candidate]:
    """Return the captured baselines of a parsed YAML mapping; raise DocumentError if invalid."""
    entries = _entries(parse(_Captured, raw, CANDIDATES).captured)
    return {
        key: Candidate(_baseline(key, entry), entry.outlier, entry.weak)
        for key, entry in entries.items()
    }


def _entries(layers: _Layers) -> dict[Key, _Entry]:
    return {
        Key(layer, component, *step.split("/")): entry
        for layer, components in layers.items()
        for component, steps in components.items()
        for step, entry in steps.items()
    }


def _baseline(key: Key, entry: _Entry) -> Baseline:
    values = dict(entry)
    values.update(
        median=key.quantity.parse(entry.median),
        spec_hash=values.pop("spec"),
        profile=tuple(int(point) / 100 for point in entry.profile.split()),
    )
    return Baseline(**{name: values[name] for name in Baseline._fields})


def write_baselines(baselines: Baselines) -> dict[str, Any]:
    """Return the document form of accepted baselines, sorted."""
    plain = {key: _plain(key, baseline) for key, baseline in baselines.items()}
    return {DOCUMENT: {"schema": 1, "accepted": _nested(plain)}}


def write_candidates(candidates: Candidates) -> dict[str, Any]:
    """Return the document form of captured baselines, sorted."""
    plain = {
        key: {
            **_plain(key, candidate.baseline),
            **_nonempty(outlier=candidate.outlier, weak=candidate.weak),
        }
        for key, candidate in candidates.items()
    }
    return {CANDIDATES: {"schema": 1, "captured": _nested(plain)}}


def _nested(entries: Mapping[Key, dict[str, Any]]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for key in sorted(entries):
        steps = nested.setdefault(key.layer, {}).setdefault(key.component, {})
        steps[key.reference] = entries[key]
    return nested


def _plain(key: Key, baseline: Baseline) -> dict[str, Any]:
    fill = "" if baseline.fill is None else f"{100 * baseline.fill:.0f} %"
    profile = " ".join(f"{100 * point:.0f}" for point in baseline.profile)
    return {
        "median": key.quantity.text(baseline.median),
        "spread": f"{100 * baseline.spread:.2f} %",
        "runs": baseline.runs,
        "first": baseline.first,
        "last": baseline.last,
        "spec": baseline.spec_hash,
        **_nonempty(terms=baseline.terms, host=baseline.host, tool=baseline.tool, fill=fill),
        **_nonempty(profile=profile),
        "versions": dict(sorted(baseline.versions.items())),
        **_nonempty(accepted_by=baseline.accepted_by, reason=baseline.reason),
        **_nonempty(below_floor=baseline.below_floor),
    }


def _nonempty(**texts: str) -> dict[str, str]:
    return {name: text for name, text in texts.items() if text}


_SHOWN_FILL = 0.05
"""Least change of fill shown in a review; the policy decides whether rates still compare."""


class Change(NamedTuple):
    """Baseline and candidate of one operation of a component.

    ``outlier`` is set if the candidate must be accepted by name, ``weak`` if it will not alarm.
    """

    key: Key
    old: Optional[Baseline]
    new: Baseline
    conditions: tuple[Difference, ...]
    outlier: str
    weak: str = ""

    @property
    def ratio(self) -> Optional[float]:
        """New / old median, None without an old one."""
        return self.new.median / self.old.median if self.old else None

    @property
    def size(self) -> float:
        """Size of the change, up or down; smallest for a new baseline."""
        return -inf if self.ratio is None else abs(log(self.ratio))

    def to_json(self) -> dict[str, Any]:
        """Return the document form."""
        return {
            **self.key._asdict(),
            "old": self.old and self.old._asdict(),
            "new": self.new._asdict(),
            "ratio": self.ratio,
            "conditions": [difference._asdict() for difference in self.conditions],
            "outlier": self.outlier,
            "weak": self.weak,
        }


def compare(accepted: Baselines, candidates: Candidates) -> tuple[Change, ...]:
    """Return the change for each candidate, sorted by layer, component and operation."""
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
    """Sort changes for a review: outliers first, then by size, new baselines last."""
    return sorted(changes, key=lambda change: (not change.outlier, -change.size, change.key))


def _conditions(old: Optional[Baseline], new: Baseline) -> tuple[Difference, ...]:
    if old is None:
        return ()
    return differences(of_baseline(old), of_baseline(new), _SHOWN_FILL)


_SHOWN_APART = 4
"""Beyond this number of different changes of a condition, e.g. addresses, one line is shown."""


class OperationSummary(NamedTuple):
    """One operation of a layer: number of changes, median ratio, and both extremes."""

    layer: str
    operation: str
    number: int
    ratio: float
    least: Change
    most: Change


class Condition(NamedTuple):
    """One changed condition: the ``mark`` of its rows, its text, the number of baselines."""

    mark: str
    text: str
    number: int


class Review(NamedTuple):
    """Summary of changes, and the marks of conditions by baseline."""

    moved: tuple[OperationSummary, ...]
    conditions: tuple[Condition, ...]
    marks: Mapping[Key, str]


def review(changes: Sequence[Change]) -> Review:
    """Return the summary of changes."""
    by_name: dict[str, dict[Difference, list[Key]]] = {}
    for change in changes:
        for difference in change.conditions:
            by_name.setdefault(difference.name, {}).setdefault(difference, []).append(change.key)
    conditions, marks = [], dict[Key, list[str]]()
    for mark, (text, keys) in zip(_marks(), _lines(by_name)):
        conditions.append(Condition(mark, text, len(keys)))
        for key in keys:
            marks.setdefault(key, []).append(mark)
    joined = {key: " ".join(letters) for key, letters in marks.items()}
    return Review(tuple(_operation_summaries(changes)), tuple(conditions), joined)


def _marks() -> Iterator[str]:
    """Yield a to z, a1 to z1, and so on."""
    for number in count():
        for letter in "abcdefghijklmnopqrstuvwxyz":
            yield f"{letter}{number or ''}"


def _lines(
    by_name: Mapping[str, Mapping[Difference, list[Key]]],
) -> Iterator[tuple[str, list[Key]]]:
    """Yield the text of each changed condition and its baselines."""
    for name, steps in sorted(by_name.items()):
        if len(steps) <= _SHOWN_APART:
            yield from ((str(difference), keys) for difference, keys in sorted(steps.items()))
            continue
        rows = [key for keys in steps.values() for key in keys]
        yield (_fills(steps) if name == FILL else f"{name}: {len(steps)} different changes"), rows


def _fills(changes: Mapping[Difference, list[Key]]) -> str:
    steps = sorted(_points(difference.now) - _points(difference.then) for difference in changes)
    return f"{FILL} by {steps[0]:+d} to {steps[-1]:+d} % of the target"


def _points(text: str) -> int:
    return int(text.partition(" ")[0])


def _operation_summaries(changes: Sequence[Change]) -> Iterator[OperationSummary]:
    groups: dict[tuple[str, str], list[tuple[float, Change]]] = {}
    for change in changes:
        if change.ratio is not None:
            group = (change.key.layer, change.key.step)
            groups.setdefault(group, []).append((change.ratio, change))
    for (layer, step), ratios in sorted(groups.items()):
        ratios.sort(key=lambda pair: pair[0])
        middle = median(ratio for ratio, _ in ratios)
        yield OperationSummary(layer, step, len(ratios), middle, ratios[0][1], ratios[-1][1])


def refuse_below_floor(candidates: Candidates, named: Sequence[str]) -> None:
    """Refuse candidates below their floor, of the ``named`` components or of all.

    Raises:
        DocumentError: there is one, and nobody confirmed that it is expected to be so low.
    """
    low = {
        key: candidate.baseline.below_floor
        for key, candidate in sorted(candidates.items())
        if candidate.baseline.below_floor and (not named or key.component in named)
    }
    for key, shortfall in low.items():
        more = f" (and {len(low) - 1} more)" if len(low) > 1 else ""
        raise DocumentError(
            f"{key}: {shortfall}{more}; mend what limits it or correct the topology, or accept it "
            "with --below-floor and a --reason that says why so little is right"
        )


def accept(
    accepted: Baselines, candidates: Candidates, named: Sequence[str], accepted_by: str, reason: str
) -> dict[Key, Baseline]:
    """Return the baselines, replaced by the accepted candidates.

    ``named`` are the components to accept, all of them if empty.

    Raises:
        UsageError: reason or person is missing, or a name has no candidate.
        DocumentError: a candidate is far below its peers and not named; nothing is accepted.
    """
    if not reason.strip() or not accepted_by.strip():
        raise UsageError("accepting a baseline needs a reason and a person: give --reason and --by")
    unknown = sorted(set(named) - {key.component for key in candidates})
    if unknown:
        raise UsageError(f"there is no candidate of {unknown[0]}; capture one first")
    chosen = {
        key: candidate
        for key, candidate in candidates.items()
        if not named or key.component in named
    }
    for key, candidate in sorted(chosen.items()):
        if candidate.outlier and key.component not in named:
            raise DocumentError(
                f"{key}: {candidate.outlier}; a slow part must not become the reference: repair "
                f"it, or accept it by name with --component {key.component}"
            )
    replaced = {
        key: candidate.baseline._replace(accepted_by=accepted_by.strip(), reason=reason.strip())
        for key, candidate in chosen.items()
    }
    return {**accepted, **replaced}
