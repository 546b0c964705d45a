"""From measurements beside their references to the claims that are weighed of a component."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import chain
from typing import Hashable, NamedTuple, Optional, Sequence

from plumbline.judge.alarm import Alone, Claim, Question, Shared, Weight, moments_of, weigh
from plumbline.judge.measurement import Measurement
from plumbline.judge.noise import HOUR_S, Noise, Run, Source
from plumbline.judge.past import Moments
from plumbline.judge.references import ComparedSource
from plumbline.layers import PAIRED
from plumbline.units import DAY_S

_ONE_NIGHT_S = DAY_S / 2
_MOST_MORE = 9
"""Further runs that are thought of at most: nobody measures more of them to see an alarm."""


class NamedMeasurement(NamedTuple):
    """One measurement of a component: its operation in words, its partner's name if it has one."""

    what: str
    partner: str
    measurement: Measurement


Compared = Sequence[tuple[NamedMeasurement, ComparedSource]]
"""Measurements, each with the runs beside its reference."""


def numbered(held: Compared) -> Compared:
    """Return the same runs, told apart by the operation that they are of."""
    words = list(dict.fromkeys(one.what for one, _ in held))
    return [(one, _with_number(found, words.index(one.what))) for one, found in held]


def _with_number(compared: ComparedSource, number: int) -> ComparedSource:
    if not number:
        # which all runs have until they are told apart
        return compared
    source = compared.source
    runs = tuple([Run(at, ratio, spread, number) for at, ratio, spread, _ in source.runs])
    return compared._replace(source=source._replace(runs=runs))


def last_change(asked: Sequence[NamedMeasurement]) -> Optional[float]:
    """Return when software or settings were last seen to have changed, in epoch seconds.

    Each measurement sees it when its own turn comes.  Of those of one night the first is meant: the
    others are later than the moment to which they belong begins.
    """
    seen = [
        one.measurement.era.since
        for one in asked
        if one.measurement.era and one.measurement.era.since is not None
    ]
    last = max(seen, default=0.0)
    return min((at for at in seen if last - at < _ONE_NIGHT_S), default=None)


def claims_of(held: Compared) -> tuple[list[Claim], list[Claim]]:
    """Return the claims of each operation, and those of all together."""
    apart = numbered(held)
    claims = by_operation(apart)
    return claims, [together(apart)] if len(claims) > 1 else []


def more_runs(held: Compared, question: Question, weight: Weight) -> Optional[int]:
    """Return how many more runs like the last one raise an alarm or end it, None where unknown.

    A low run ends none and a good one raises none.  The further runs follow one another as the last
    ones did.
    """
    held = numbered(held)
    runs = sorted(run for _, found in held for run in found.source.runs)
    moments = moments_of(runs)
    low = any(run.log_ratio < -question.limit for run in runs if run.at >= moments[-1])
    if weight.alarm is low:
        return None
    apart_s = moments[-1] - moments[-2] if len(moments) > 1 else HOUR_S
    past = Moments()
    for count in range(1, _MOST_MORE + 1):
        further = [(one, _repeated(found, moments[-1], count, apart_s)) for one, found in held]
        if weigh(*claims_of(further), question, past).alarm is not weight.alarm:
            return count
    return None


def _repeated(compared: ComparedSource, since: float, count: int, apart_s: float) -> ComparedSource:
    """Return the same with the runs of the last moment made as often again."""
    source = compared.source
    last = [run for run in source.runs if run.at >= since]
    further = [
        run._replace(at=run.at + number * apart_s) for number in range(1, count + 1) for run in last
    ]
    return compared._replace(source=source._replace(runs=(*source.runs, *further)))


def by_operation(held: Compared) -> list[Claim]:
    """Return for each operation the claim that it is slow; of a host it is with all partners."""
    sources: dict[str, list[Source]] = {}
    for one, found in held:
        sources.setdefault(one.what, []).append(found.source)
    return [_claim(tuple(found)) for found in sources.values()]


def _claim(sources: tuple[Source, ...]) -> Claim:
    return Alone(sources[0]) if len(sources) == 1 else Shared(sources)


def together(held: Compared) -> Claim:
    """Return the claim that all operations are slow, of a host with all partners."""
    merged = tuple(
        _merged([found.source for one, found in held if one.partner == name])
        for name in dict.fromkeys(one.partner for one, _ in held)
    )
    return Alone(merged[0]) if len(merged) == 1 else Shared(merged)


def _merged(sources: Sequence[Source]) -> Source:
    """Return several measurements as one, with the noise of the worst of them."""
    runs = sorted(run for source in sources for run in source.runs)
    noise: Noise = max((source.noise for source in sources), key=lambda noise: noise.lower)
    return Source(tuple(runs), max(source.off for source in sources), noise)


def tell_apart(asked: dict[tuple[str, str], list[NamedMeasurement]]) -> None:
    """Give what has no peers a kind of its own: pairs of which most share a host, as on its node.

    Beside one another they do not show that the host is slow.
    """
    ends: dict[Hashable, list[tuple[str, str]]] = {}
    for (layer, name), found in asked.items():
        for one in found if layer in PAIRED else ():
            ends.setdefault(one.measurement.kind, []).append((name, one.partner))
    most = {kind: Counter(chain(*pairs)).most_common(1)[0][1] for kind, pairs in ends.items()}
    for place, found in asked.items():
        asked[place] = [
            one._replace(measurement=_alone(one.measurement))
            if 2 * most.get(one.measurement.kind, 0) > len(ends.get(one.measurement.kind, ()))
            else one
            for one in found
        ]


def _alone(measurement: Measurement) -> Measurement:
    return replace(measurement, kind=(measurement.kind, measurement.member))
