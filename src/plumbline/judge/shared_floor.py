"""What several have in common below their floor: members of a group, partners of a host.

A group whose members are all below is one alarm, and not one for each.  What is promised for a
group is held against the sum of what its members gave one by one, which all of them at once cannot
exceed.
"""

from __future__ import annotations

from typing import Iterator, NamedTuple, Optional, Sequence

from plumbline.judge.finding import Finding
from plumbline.judge.floor import (
    NIGHTS,
    Nights,
    Shortfall,
    accepted,
    at_most,
    best_of_nights,
    floor_words,
    goal_words,
    is_alone,
    least_Bps,
    shortfall,
    shortfall_of,
    sound,
)
from plumbline.judge.measured import Measured
from plumbline.judge.phrases import limited_by
from plumbline.model.reason import Reason
from plumbline.model.series import SAMPLES
from plumbline.model.state import State


class _Low(NamedTuple):
    """A member below its floor whose peers are as low."""

    of: Measured
    found: Shortfall


def group_below(members: Sequence[Optional[Measured]]) -> Optional[Finding]:
    """Return the finding on one operation of a group, None where it is at its floors.

    ``members`` are all of them; None is one that has no rate.
    """
    known = [of for of in members if of is not None]
    return _below_goal(known, len(members)) or _below_floor(known, len(members))


def host_below(pairs: Sequence[Measured]) -> Optional[Finding]:
    """Return the finding on one operation of a host with its partners.

    The best of each night with any partner: one slow partner is none of its matter.
    """
    rated = [of for of in pairs if of.ceiling is not None and of.limits.min_efficiency]
    nights = best_of_nights(share for of in rated for share in _shares(of))
    found = shortfall(nights, cut=_cut(rated))
    if found is None or accepted(rated[0], _best_Bps(rated)):
        return None
    text = f"{rated[0].what}: {floor_words(found, rated[0], _part(rated))}: {found.since}"
    return Finding(State.WARNING, Reason.BELOW_FLOOR, text)


def _cut(members: Sequence[Measured]) -> bool:
    return any(len(of.samples) >= SAMPLES for of in members)


def _shares(measured: Measured) -> Iterator[tuple[float, float]]:
    """Yield when a pair was measured and what it gave, in parts of its floor."""
    assert measured.ceiling is not None
    level_Bps = measured.limits.min_efficiency * measured.ceiling.rate_Bps
    yield from (
        (one.started_at, one.rate_Bps / level_Bps) for one in sound(measured) if one.rate_Bps
    )


def _best_Bps(pairs: Sequence[Measured]) -> float:
    return max(one.rate_Bps or 0.0 for of in pairs for one in sound(of))


def _below_floor(members: Sequence[Measured], number: int) -> Optional[Finding]:
    """Return the finding on a group where most members of a kind are below their floor.

    Those of another ceiling are of another kind of hardware and have a floor of their own.
    """
    kinds: dict[float, list[Measured]] = {}
    for of in members:
        if least_Bps(of) is not None and of.ceiling is not None:
            kinds.setdefault(of.ceiling.rate_Bps, []).append(of)
    for of_kind in kinds.values():
        low = [one for one in map(_low, of_kind) if one]
        # a contended night of a member is no reason to wait with what the others show
        if low and 2 * len(low) > sum(len(_nights(of)) >= NIGHTS for of in of_kind):
            return _finding(low, number)
    return None


def _low(measured: Measured) -> Optional[_Low]:
    level_Bps = least_Bps(measured)
    found = shortfall_of(measured, level_Bps)
    if found is None or level_Bps is None or is_alone(measured, level_Bps):
        return None
    return _Low(measured, found)


def _finding(low: Sequence[_Low], members: int) -> Finding:
    ordered = sorted(low, key=lambda member: member.found.share)
    of, found = ordered[len(ordered) // 2]
    found = found._replace(
        first=min(one.found.first for one in low),
        earlier=any(one.found.earlier for one in low),
    )
    number = f", median of {len(low)}" + (f" of {members}" if len(low) < members else "")
    words = floor_words(found, of, _part([one.of for one in low]), number)
    return Finding(State.WARNING, Reason.BELOW_FLOOR, f"{of.what}: {words}: {found.since}")


def _part(members: Sequence[Measured]) -> str:
    """Return what limits all of them: by name where it is one part, else by its kind."""
    ceilings = [of.ceiling for of in members if of.ceiling]
    names = {ceiling.limited_by for ceiling in ceilings}
    kinds = dict.fromkeys(kind for ceiling in ceilings for kind in ceiling.kinds)
    if len(names) == 1 or not kinds:
        return limited_by(ceilings[0].kinds, ceilings[0].limited_by)
    return limited_by((), tuple(kinds))


def _below_goal(members: Sequence[Measured], number: int) -> Optional[Finding]:
    """Return the finding on a group whose members together do not give what was promised.

    With a member of which nothing is known nobody can tell.
    """
    rated = [(of, of.given.goal_part_Bps) for of in members]
    parts = [(of, part_Bps, _nights(of)) for of, part_Bps in rated if part_Bps is not None]
    if len(parts) < number or not all(len(nights) >= NIGHTS for _, _, nights in parts):
        return None
    goal_Bps = sum(part_Bps for _, part_Bps, _ in parts)
    sums = _sums([nights for _, _, nights in parts], goal_Bps)
    found = shortfall(sums, cut=_cut(members))
    if found is None or all(_as_accepted(of, part_Bps, its) for of, part_Bps, its in parts):
        return None
    first = members[0]
    number_of = f" in sum of {number}" if number > 1 else at_most(first.ceiling)
    text = f"{first.what}: {goal_words(found, goal_Bps)}{number_of}: {found.since}"
    return Finding(State.WARNING, Reason.BELOW_GOAL, text)


def _nights(measured: Measured) -> Nights:
    return best_of_nights((one.started_at, one.rate_Bps or 0.0) for one in sound(measured))


def _sums(members: Sequence[Nights], goal_Bps: float) -> Nights:
    """Return what all gave in each night in parts of the goal.

    In a night of which nothing is known of a member it counts with its best.
    """
    best = [max(rate for _, rate in nights) for nights in members]
    days = sorted({day for nights in members for day, _ in nights})
    rates = [dict(nights) for nights in members]
    return [
        (day, sum(its.get(day, most) for its, most in zip(rates, best)) / goal_Bps) for day in days
    ]


def _as_accepted(measured: Measured, part_Bps: float, nights: Nights) -> bool:
    """Return whether a member gives its part of the goal, or what was accepted in its place."""
    best_Bps = max(rate for _, rate in nights[-NIGHTS:])
    return best_Bps >= part_Bps or accepted(measured, best_Bps)
