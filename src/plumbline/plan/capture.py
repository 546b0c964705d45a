"""Capture candidates for baselines from sound records, and find baselines to renew.

There may be hundreds of thousands of records, so only the rate of each is kept; equal conditions
share one object.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from datetime import date, datetime, timezone
from functools import lru_cache
from math import exp, inf
from statistics import median
from typing import Any, Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.model.conditions import (
    Conditions,
    differences,
    fill_differs,
    of_baseline,
    of_record,
)
from plumbline.model.expectation import Expectation
from plumbline.model.layers import LAYERS
from plumbline.model.limits import Baseline, Limits, Reference
from plumbline.model.profile import POINTS, form
from plumbline.model.quantity import BYTES_PER_S, Quantity
from plumbline.model.record import Flag, Operation, Outcome, Record, Scenario
from plumbline.model.spec import ProbeSpec, terms
from plumbline.model.statistics import error_of_median, median_without, summarize
from plumbline.model.trend import NOT_MEASURED
from plumbline.model.units import DAY_S, format_duration
from plumbline.plan.baseline import Baselines, Candidate, Key

Expected = Mapping[tuple[str, str], Expectation]
"""Expectations by layer and component."""

_ROUNDING = 1 - 1e-9
"""Tolerance for rounding: medians are computed from logarithms."""

Group = tuple[str, str, str, str]
"""Layer, group, operation and scenario of a goal for the sum."""


def with_floors(baselines: Baselines, expected: Expected) -> Baselines:
    """Add to each baseline the floor or goal that it misses, in words.

    A member below its part of a goal misses it only if all known members of the group miss the
    goal in sum.
    """
    sums: dict[Group, float] = {}
    for key, baseline in baselines.items():
        part_goal = _reference(key, expected).goal_part
        if part_goal is not None:
            group = _group(key, expected)
            sums[group] = sums.get(group, 0.0) + baseline.median - _ROUNDING * part_goal
    return {
        key: baseline._replace(
            below_floor=_below_goal(
                key.quantity,
                baseline.median,
                _reference(key, expected),
                missed=sums.get(_group(key, expected), 0.0) < 0,
            )
            or _below_floor(baseline.median, key, expected)
        )
        for key, baseline in baselines.items()
    }


def _group(key: Key, expected: Expected) -> Group:
    group = expected[key.layer, key.component].group
    return key.layer, group, key.operation, key.scenario


def _reference(key: Key, expected: Expected) -> Reference:
    step = Operation(key.operation), Scenario(key.scenario)
    return expected[key.layer, key.component].reference(*step)


def _below_goal(quantity: Quantity, median: float, reference: Reference, *, missed: bool) -> str:
    part_goal = reference.goal_part if missed else None
    goals = (("goal", reference.goal), ("part of the goal", part_goal))
    for name, goal in goals:
        if goal is not None and median < _ROUNDING * goal:
            return f"{_share(quantity, median, goal)} of its {name} {quantity.format(goal)}"
    return ""


def _below_floor(median: float, key: Key, expected: Expected) -> str:
    expectation, ceiling = expected[key.layer, key.component], _reference(key, expected).ceiling
    # components measured together share the capacity: only the whole has a floor
    if ceiling is None or ceiling.even is not None or key.quantity != BYTES_PER_S:
        return ""
    floor = expectation.limits.min_efficiency
    ceiling_rate = ceiling.demonstrable
    if median >= _ROUNDING * floor * _reachable(ceiling_rate, expectation.spec.rate_cap_Bps):
        return ""
    reference = "the ceiling" if ceiling.share is None else "its share"
    share = _share(key.quantity, median, ceiling_rate)
    return f"{share} of {reference} {key.quantity.format(ceiling_rate)}, floor {100 * floor:g} %"


def _reachable(ceiling_rate: float, cap_Bps: Optional[float]) -> float:
    return min(ceiling_rate, cap_Bps) if cap_Bps else ceiling_rate


def _share(quantity: Quantity, rate: float, reference: float) -> str:
    return f"{quantity.format(rate)} is {100 * rate / reference:.3g} %"


LAST_RUNS = 12
"""Default number of newest runs in a baseline."""

_TOLERANCE_ERRORS = 2.0
"""Standard errors of tolerance for a low median."""

_UNSOUND = (Flag.DEGRADED, Flag.DRAINING, Flag.FAILED_OVER, Flag.SHORT)


class CaptureResult(NamedTuple):
    """The candidates, and the number of records left out for each reason."""

    candidates: Mapping[Key, Candidate]
    left_out: Mapping[str, int]


class _Run(NamedTuple):
    """Figures and conditions of a record; runs with equal conditions, except fill, share them."""

    started_at: float
    rate: float
    fill: Optional[float]
    conditions: Conditions
    form: tuple[float, ...] = ()


def capture(
    records: Iterable[Record],
    expected: Expected,
    last: int = LAST_RUNS,
    accepted: Optional[Baselines] = None,
) -> CaptureResult:
    """Return a candidate for each operation with sound records, from its ``last`` runs.

    A candidate is compared with its peers' candidates, or with their ``accepted`` baselines if
    they have none.
    """
    left_out: Counter[str] = Counter()
    sound = _sound(records, expected, left_out)
    baselines = {}
    for key, runs in sorted(sound.items()):
        newest = _newest_conditions(runs, _limits(key, expected).fill_change)
        left_out["taken under earlier conditions"] += len(runs) - len(newest)
        left_out["older than the last runs"] += max(0, len(newest) - last)
        baselines[key] = _baseline(newest[-last:])
    groups = _groups({**(accepted or {}), **baselines}, expected)
    candidates = {
        key: Candidate(
            baseline,
            _outlier(key, baseline, groups[_peers(key, expected)], expected),
            _limits(key, expected).weakness(baseline),
        )
        for key, baseline in with_floors(baselines, expected).items()
    }
    return CaptureResult(candidates, {reason: count for reason, count in left_out.items() if count})


def key_of(record: Record) -> Key:
    """Return the key of a record's baseline."""
    return Key(record.layer, record.component, record.operation.value, record.scenario.value)


def unsound(record: Record, expected: Expected) -> str:
    """Return why a record cannot be part of a baseline, empty if it can."""
    expectation = expected.get((record.layer, record.component))
    if expectation is None:
        return "of a component that the topology does not have"
    if record.operation.of and key_of(record).reference not in expectation.references:
        return "of a quantity that is not judged"
    if record.outcome is not Outcome.OK or record.rate is None:
        return "without a rate"
    if record.spec_hash != _hash(expectation.spec_of(record.operation)):
        return "taken on other terms than the policy's"
    flags = [flag.value for flag in record.flags if flag in _UNSOUND]
    if flags:
        return f"flagged {flags[0]}"
    if expectation.limits.contended(record.coverage):
        return "contended"
    if _above_ceiling(record.rate, record, expectation):
        return "above the ceiling"
    return ""


def _sound(
    records: Iterable[Record], expected: Expected, left_out: Counter[str]
) -> dict[Key, list[_Run]]:
    """Return the runs of sound records by key; count the others in ``left_out``."""
    seen: set[str] = set()
    shared: dict[Any, Conditions] = {}
    sound: dict[Key, list[_Run]] = {}
    for record in _with_quantities(records, expected):
        if record.id in seen or record.layer in NOT_MEASURED:
            continue
        seen.add(record.id)
        reason = unsound(record, expected)
        if reason:
            left_out[reason] += 1
        elif record.rate is not None:
            conditions = _shared_conditions(record, shared)
            profile_form = form(record.profile, POINTS) if LAYERS[record.layer].by_ranks else ()
            run = _Run(record.started_at, record.rate, record.fill, conditions, profile_form)
            sound.setdefault(key_of(record), []).append(run)
    return sound


def _with_quantities(records: Iterable[Record], expected: Expected) -> Iterator[Record]:
    """Yield records and the quantities to judge, also those of runs before they were judged."""
    for record in records:
        yield record
        expectation = expected.get((record.layer, record.component))
        if expectation:
            yield from record.quantity_records(expectation.references)


def _shared_conditions(record: Record, shared: dict[Any, Conditions]) -> Conditions:
    """Return the conditions of a record without fill, as one shared object if equal."""
    versions = tuple(sorted((record.versions or {}).items()))
    tool = record.tool and (record.tool.name, record.tool.version)
    key = (record.spec_hash, record.host, tool, versions)
    if key not in shared:
        conditions = of_record(record)
        shared[key] = conditions._replace(spec=terms(record.spec or {}), fill=None)
    return shared[key]


@lru_cache(maxsize=1024)
def _hash(spec: ProbeSpec) -> str:
    return spec.hash()


def _above_ceiling(rate: float, record: Record, expectation: Expectation) -> bool:
    ceiling = expectation.reference(record.operation, record.scenario).ceiling
    return ceiling is not None and rate > expectation.limits.invalid_above * ceiling.rate


def _limits(key: Key, expected: Expected) -> Limits:
    return expected[key.layer, key.component].limits


def _newest_conditions(runs: Sequence[_Run], fill_change: float) -> list[_Run]:
    """Return the runs with the conditions of the newest run, oldest first."""
    ordered = sorted(runs, key=lambda run: run.started_at)
    newest = ordered[-1]
    return [
        run
        for run in ordered
        if run.conditions is newest.conditions
        and not fill_differs(run.fill, newest.fill, fill_change)
    ]


def _baseline(runs: Sequence[_Run]) -> Baseline:
    """Return the baseline of runs with equal conditions, which are sorted oldest first."""
    summary = summarize([run.rate for run in runs])
    conditions = runs[-1].conditions
    versions = dict(conditions.settings)
    host, tool = versions.pop("host"), versions.pop("tool", "")
    fills = [run.fill for run in runs if run.fill is not None]
    return Baseline(
        summary.median,
        summary.spread,
        summary.runs,
        _date(runs[0].started_at),
        _date(runs[-1].started_at),
        conditions.spec_hash,
        versions,
        accepted_by="",
        reason="",
        terms=str(conditions.spec),
        host=host,
        tool=tool,
        fill=median(fills) if fills else None,
        profile=_profile([run.form for run in runs if run.form]),
    )


def _profile(forms: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    """Return the median form of the profiles, relative to its mean."""
    medians = [median(parts) for parts in zip(*forms)]
    total = sum(medians)
    return tuple(len(medians) * part_median / total for part_median in medians) if total else ()


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).date().isoformat()


Peers = tuple[str, str, str, str, str]
"""Layer, group, operation, scenario and ceiling, which are equal for peers."""


def _peers(key: Key, expected: Expected) -> Peers:
    """Return the peer group of a baseline; hardware with another ceiling is no peer."""
    ceiling = _reference(key, expected).ceiling
    rate = key.quantity.text(ceiling.rate) if ceiling else "unknown"
    group = expected[key.layer, key.component].group
    return (key.layer, group, key.operation, key.scenario, rate)


def _groups(baselines: Mapping[Key, Baseline], expected: Expected) -> dict[Peers, list[float]]:
    """Return the sorted medians of all peers with baselines on the current terms."""
    groups: dict[Peers, list[float]] = {}
    for key, baseline in baselines.items():
        expectation = expected.get((key.layer, key.component))
        terms = expectation and expectation.spec_of(Operation(key.operation))
        if terms and baseline.spec_hash == _hash(terms):
            groups.setdefault(_peers(key, expected), []).append(baseline.median)
    return {peers: sorted(medians) for peers, medians in groups.items()}


def _even(key: Key, expected: Expected) -> float:
    """Return the even share of a component measured together with others, else infinity."""
    ceiling = _reference(key, expected).ceiling
    return inf if ceiling is None or ceiling.even is None else ceiling.even


def _outlier(key: Key, baseline: Baseline, medians: Sequence[float], expected: Expected) -> str:
    """Return how far a baseline is below its peers' ascending ``medians``, empty if it is not.

    One that is slower by more than ``peer_loss`` is an outlier: a slow disk, not a reference.
    With an even share of the whole it is not slow, even if others finished earlier.
    A median of few scattered runs is not certain enough to be called low.
    """
    if len(medians) < 2:
        return ""
    own = baseline.median
    peer_median = median_without(medians, bisect_left(medians, own))
    error = error_of_median(baseline.spread, baseline.runs)
    least_rate = (1 - _limits(key, expected).peer_loss) * min(peer_median, _even(key, expected))
    if own * exp(_TOLERANCE_ERRORS * error) >= least_rate:
        return ""
    share = f"{100 * own / peer_median:.0f} %"
    return f"{key.quantity.format(own)} is {share} of its peers' {key.quantity.format(peer_median)}"


RENEW = "measure, capture and accept again"
REMOVE = "remove its block from baselines.yml"


class Aged(NamedTuple):
    """A baseline to renew: its age in days, the reasons, and the remedy."""

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
    """A baseline accepted below its floor; ``text`` has shortfall, person and reason."""

    key: Key
    text: str

    def to_json(self) -> dict[str, Any]:
        """Return the document form."""
        return {**self.key._asdict(), "text": self.text}


class Ages(NamedTuple):
    """The baselines to renew, and the operations without one; ``total`` counts all accepted.

    ``below_floor`` are baselines that raise no alarm because a person accepted them so low.
    """

    total: int
    aged: tuple[Aged, ...]
    missing: tuple[Key, ...]
    below_floor: tuple[Low, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the document form."""
        return {
            "total": self.total,
            "aged": [entry.to_json() for entry in self.aged],
            "missing": [key._asdict() for key in self.missing],
            "below_floor": [entry.to_json() for entry in self.below_floor],
        }


Newest = Mapping[Key, Conditions]
"""The conditions of the newest sound record of each operation."""


def newest_conditions(records: Iterable[Record], expected: Expected) -> dict[Key, Conditions]:
    """Return the conditions of the newest sound record of each operation."""
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

    Without a sound record only the terms are compared, with those of the policy.
    """
    aged = []
    for key, baseline in sorted(accepted.items()):
        if baseline.demonstrated:
            continue
        age_days = (today - date.fromisoformat(baseline.last)).days
        expectation = expected.get((key.layer, key.component))
        if expectation is None or key.reference not in expectation.references:
            aged.append(Aged(key, baseline, age_days, ("is not measured any more",), REMOVE))
            continue
        terms = expectation.spec_of(Operation(key.operation))
        reasons = _reasons(baseline, age_days, expectation.limits, terms, newest.get(key))
        if reasons:
            aged.append(Aged(key, baseline, age_days, reasons, RENEW))
    low = tuple(
        Low(key, f"{current.below_floor}; accepted by {current.accepted_by}: {current.reason}")
        for key, current in sorted(accepted.items())
        if current.below_floor
    )
    return Ages(len(accepted), tuple(aged), _missing(accepted, expected), low)


def _reasons(
    baseline: Baseline, age_days: int, limits: Limits, spec: ProbeSpec, now: Optional[Conditions]
) -> tuple[str, ...]:
    then = of_baseline(baseline)
    current = now or Conditions(spec.hash(), spec.to_json(), then.settings, None)
    changes = map(str, differences(then, current, limits.fill_change))
    return (*_dated(age_days, limits), *changes)


def _dated(age_days: int, limits: Limits) -> tuple[str, ...]:
    if age_days < 0:
        return (f"dated {-age_days} d in the future",)
    if age_days * DAY_S > limits.max_age_s:
        return (f"{age_days} d old, limit {format_duration(limits.max_age_s)}",)
    return ()


def _missing(accepted: Baselines, expected: Expected) -> tuple[Key, ...]:
    keys = (
        Key(layer, component, *reference.split("/"))
        for (layer, component), expectation in expected.items()
        for reference in expectation.references
    )
    return tuple(sorted(key for key in keys if key not in accepted or accepted[key].demonstrated))
