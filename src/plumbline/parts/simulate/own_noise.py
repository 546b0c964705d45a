"""Noise of a site's own records, in the terms of the simulation.

Members of a group are compared in each of their runs: what they have in common is of the day, what
the members of a host have in common is of the host, and the rest is of the run.  Traffic of others
is part of it, so no run is contended beyond that.  How long a disturbance lasts is taken from the
year of benchmarks.
"""

from __future__ import annotations

from collections import defaultdict
from math import log, sqrt
from typing import Any, Hashable, Iterable, Mapping, NamedTuple, Optional, Sequence

import numpy as np

from plumbline.model.errors import DocumentError
from plumbline.model.layers import LAYERS
from plumbline.model.record import Outcome, Record, Scenario
from plumbline.model.statistics import deviation
from plumbline.parts.simulate.fleet import MIN_SPELL_LOSS, MIN_TAIL_LOSS, YEAR, Fleet, Noise

_Array = Any
"""A numpy array; a node's Python cannot name its types."""

_MIN_VALUES = 5
"""Members of a group whose median is that of a run, and tests of a pair that show its spread."""
_MIN_RUNS = 20
"""Runs of a group that show how often one is disturbed."""
_COMMON = 3.0
"""Spreads beyond which a residual counts as this far: the tail has a share of its own."""

_SHARES = ("tail_share", "spell_begins", "spell_goes_on")


class _Group(NamedTuple):
    """Losses of the members of a group, runs x members, nan without a rate; their hosts."""

    losses: _Array
    hosts: Sequence[str]


def own_noise(fleet: Fleet, records: Iterable[Record]) -> Noise:
    """Return the noise of a fleet's records.

    Raises:
        DocumentError: they are too few.
    """
    kept = [record for record in records if record.outcome is Outcome.OK and not record.flags]
    groups = [*_groups(fleet, kept)]
    if not groups:
        raise DocumentError(
            f"the history has no group of {_MIN_VALUES} members with {_MIN_RUNS} runs of all of "
            "them; simulate with --noise year until it has"
        )
    parts = [_of_group(group) for group in groups]
    middle = {name: _middle(name, [part[name] for part in parts]) for name in parts[0]}
    return Noise(
        **middle,
        repeat=_repeats(kept),
        network=_network(kept),
        goes_on=YEAR.goes_on,
        alike=YEAR.alike,
    )


def _groups(fleet: Fleet, records: Iterable[Record]) -> Iterable[_Group]:
    """Yield the groups with enough runs of enough members, for each operation."""
    members = {member.key: member.expectation for member in fleet.members}
    runs: dict[Hashable, dict[str, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    hosts: dict[str, str] = {}
    for record in records:
        entry = members.get((record.layer, record.component))
        if entry is None or record.scenario is not Scenario.SINGLE or record.partner:
            continue
        hosts[record.component] = entry.host
        kind = record.layer, entry.group, record.operation
        runs[kind][record.run_id][record.component] = -log(record.rate or 1.0)
    for of_runs in runs.values():
        full = [rates for rates in of_runs.values() if len(rates) >= _MIN_VALUES]
        names = sorted({name for rates in full for name in rates})
        if len(full) >= _MIN_RUNS:
            rows = [[rates.get(name, np.nan) for name in names] for rates in full]
            yield _Group(np.array(rows), [hosts[name] for name in names])


def _of_group(group: _Group) -> dict[str, Optional[float]]:
    """Return the noise of a group; None for what it does not show."""
    levels = np.nanmedian(group.losses, axis=0)
    apart = group.losses - levels
    days = np.nanmedian(apart, axis=1)
    rest = apart - days[:, None]
    busy = days > MIN_SPELL_LOSS
    # deviations from a median of few are too small (Croux and Rousseeuw, 1992)
    run = _spread(rest[~busy]) * len(levels) / (len(levels) - 0.8)
    host = _of_hosts(np.clip(rest[~busy], -_COMMON * run, _COMMON * run), group.hosts)
    run = sqrt(max(0.0, run**2 - (host or 0.0) ** 2))
    quiet, far = rest[~busy], _COMMON * run + MIN_TAIL_LOSS
    beyond = quiet[quiet > far]
    # what lies as far above is no tail
    faster, number = np.count_nonzero(quiet < -far), np.count_nonzero(~np.isnan(quiet))
    share = max(0.0, (len(beyond) - faster) / max(1, number))
    calm = days[~busy]
    error = 1.57 * run**2 / len(levels)
    return {
        "component": _lasting(levels, run, len(days)),
        "host": host,
        "day": sqrt(max(0.0, _spread(calm) ** 2 - error)),
        "run": run,
        "tail_share": share,
        "tail_loss": float(np.mean(beyond - MIN_TAIL_LOSS)) if share else None,
        **_of_spells(busy, days, rest),
    }


def _middle(name: str, values: Sequence[Optional[float]]) -> float:
    """Return the middle of what some groups show; few of them may have had a busy spell."""
    shown = [value for value in values if value is not None] or [0.0]
    return float(np.mean(shown) if name in _SHARES else np.median(shown))


def _spread(values: _Array) -> float:
    return deviation(values[~np.isnan(values)].tolist(), 0.0) if np.isfinite(values).any() else 0.0


def _lasting(levels: _Array, run: float, count: int) -> float:
    """Return the lasting difference between members, without the error of their levels."""
    apart = deviation(levels.tolist())
    return sqrt(max(0.0, apart**2 - 1.57 * run**2 / count))


def _of_hosts(rest: _Array, hosts: Sequence[str]) -> Optional[float]:
    """Return the deviation that members of one host share in a run, None without such members."""
    products: list[float] = []
    for host in set(hosts):
        places = [place for place, name in enumerate(hosts) if name == host]
        for number, first in enumerate(places):
            for second in places[number + 1 :]:
                both = rest[:, first] * rest[:, second]
                products += both[~np.isnan(both)].tolist()
    return sqrt(max(0.0, float(np.mean(products)))) if products else None


def _of_spells(busy: _Array, days: _Array, rest: _Array) -> dict[str, Optional[float]]:
    """Return beginning, duration and cost of busy days, as in a year of them."""
    pairs = [*zip(busy[:-1], busy[1:])]
    after = [[then for before, then in pairs if before == state] for state in (False, True)]
    begins, goes_on = (float(np.mean(flags)) if flags else 0.0 for flags in after)
    if not busy.any():
        return {"spell_begins": 0.0, "spell_goes_on": 0.0, "spell_loss": None, "spell_run": None}
    return {
        "spell_begins": begins,
        "spell_goes_on": goes_on,
        "spell_loss": float(np.mean(days[busy] - MIN_SPELL_LOSS)),
        "spell_run": _spread(rest[busy]),
    }


def _repeats(records: Sequence[Record]) -> float:
    apart = [
        log(rate) - log(record.rate)
        for record in records
        if record.rate and len(record.repeats) > 1
        for rate in record.repeats
        if rate and rate != record.rate
    ]
    return deviation(apart, 0.0) if apart else 0.0


def _network(records: Sequence[Record]) -> float:
    """Return the deviation of the tests of a pair of hosts, the year's without any."""
    pairs: dict[Hashable, list[float]] = defaultdict(list)
    for record in records:
        if LAYERS[record.layer].of_hosts and record.rate:
            key = record.component, record.partner, record.operation
            pairs[key].append(log(record.rate))
    spreads = [deviation(rates) for rates in pairs.values() if len(rates) >= _MIN_VALUES]
    return float(np.median(spreads)) if spreads else YEAR.network


def in_words(noise: Noise) -> str:
    """Return the noise in words."""
    figures: Mapping[str, float] = {
        "runs differ by": noise.run,
        "nights by": noise.day,
        "hosts by": noise.host,
        "members by": noise.component,
    }
    texts = [f"{words} {100 * value:.1f} %" for words, value in figures.items()]
    tail = f"{100 * noise.tail_share:.1f} % of runs lose a fifth and more"
    busy = f"{100 * noise.spell_begins:.0f} % of nights begin a busy spell"
    return ", ".join([*texts, tail, busy])
