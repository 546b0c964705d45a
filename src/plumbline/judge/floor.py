"""Floors: the least share of the ceiling, or a promised rate, of one component or of a group.

It needs no baseline and no peers, so it also finds what was slow from its first day on.  Noise only
takes away: the best run of each night is what the hardware is held by, and of the nights the best
one, so that a busy week is no alarm.  An alarm stands until the middle of the last nights is at the
floor again.

A group whose members are all below is one alarm, and not one for each.  What is promised for a
group is held against the sum of what its members gave one by one, which all of them at once cannot
exceed.
"""

from __future__ import annotations

from typing import Iterable, Iterator, NamedTuple, Optional, Sequence

from plumbline.judge.measured import Measured
from plumbline.judge.phrases import Finding, Rule, date_of, limited_by, several
from plumbline.model.series import SAMPLES, Sample
from plumbline.model.units import DAY_S
from plumbline.model.verdict import Reason, State

NIGHTS = 5
"""Different nights that all stay below a floor before it alarms."""

Nights = list[tuple[int, float]]
"""Best share of each night, oldest first, with the day since the epoch."""


class Shortfall(NamedTuple):
    """A measurement below its floor, of which it reached ``share`` at best in the last nights.

    ``best`` is False once a night was at the floor again: ``share`` is then the median of these
    nights.  ``first`` is the first day of it since the epoch, ``earlier`` True where it may
    have begun before what is remembered.
    """

    share: float
    best: bool
    first: int
    earlier: bool

    @property
    def nights(self) -> str:
        """Return the statistic of the share and its number of nights."""
        return f"{'best' if self.best else 'median'} of {NIGHTS} nights"

    @property
    def since(self) -> str:
        """Return since when it is so, e.g. ``since 2026-11-16``."""
        return f"since {date_of(self.first * DAY_S)}{' or earlier' if self.earlier else ''}"


def sound(measured: Measured) -> Iterator[Sample]:
    """Yield the samples that show what a component gives: not contended, degraded or invalid."""
    most = measured.ceiling and measured.limits.invalid_above * measured.ceiling.rate
    least = measured.limits.min_coverage
    for sample in measured.samples:
        rate, coverage = sample.rate, sample.coverage
        if rate is None or sample.excluded or (coverage is not None and coverage < least):
            continue
        if most is None or rate <= most:
            yield sample


def _rates(measured: Measured) -> Iterator[tuple[float, float]]:
    yield from ((sample.started_at, sample.rate) for sample in sound(measured) if sample.rate)


def best_of_nights(values: Iterable[tuple[float, float]]) -> Nights:
    """Return the best of each night out of moments, in epoch seconds, and what each gave."""
    nights: dict[int, float] = {}
    for moment, value in values:
        day = int(moment // DAY_S)
        nights[day] = max(value, nights.get(day, value))
    return sorted(nights.items())


def shortfall(nights: Nights, *, cut: bool) -> Optional[Shortfall]:
    """Return the shortfall of nights, each as a share of the floor.

    It begins with NIGHTS nights that are all below, and ends when the median of so many is not.
    ``cut`` says whether there were nights before these that nobody remembers.
    """
    first = None
    for end in range(NIGHTS, len(nights) + 1):
        window = sorted(share for _, share in nights[end - NIGHTS : end])
        if first is None and window[-1] < 1:
            first = end - NIGHTS
        elif window[NIGHTS // 2] >= 1:
            first = None
    if first is None:
        return None
    best = window[-1] < 1
    share = window[-1] if best else window[NIGHTS // 2]
    return Shortfall(share, best, nights[first][0], cut and first == 0)


def least_rate(measured: Measured) -> Optional[float]:
    """Return the least that a measurement alone should give, None where nothing is asked of it.

    A pair of hosts is judged with all partners, one of several targets at once as a whole.  What
    the probe itself keeps below cannot be demonstrated, and what was demonstrated is judged by
    the evidence against that: a busy week of a whole site is no fault of a disk.
    """
    ceiling, share = measured.ceiling, measured.limits.min_efficiency
    if ceiling is None or not share or ceiling.even is not None or measured.record.partner:
        return None
    cap_Bps = (measured.record.spec or {}).get("rate_cap_Bps")
    whole = ceiling.demonstrable
    level = share * (min(whole, cap_Bps) if cap_Bps else whole)
    return None if has_demonstrated(measured, level) else level


def has_demonstrated(measured: Measured, level: float) -> bool:
    """Return whether the same probe has a baseline of at least so much, however much it varied."""
    baseline = measured.given.baseline
    return (
        baseline is not None
        and baseline.spec_hash == measured.record.spec_hash
        and baseline.median >= level
    )


def shortfall_of(measured: Measured, level: Optional[float]) -> Optional[Shortfall]:
    """Return the shortfall below a level unless it was accepted, None if there is none."""
    # most are far above, and whoever judges ten thousand of them has no time for nights
    if not level or all((sample.rate or level) >= level for sample in measured.samples):
        return None
    nights = best_of_nights((at, rate / level) for at, rate in _rates(measured))
    missing = shortfall(nights, cut=len(measured.samples) >= SAMPLES)
    return None if missing is None or accepted(measured, missing.share * level) else missing


def accepted(measured: Measured, rate: float) -> bool:
    """Return whether a person has accepted such a rate though it is below its floor."""
    baseline = measured.given.baseline
    if baseline is None or not baseline.below_floor:
        return False
    return rate >= (1 - measured.limits.peer_loss) * baseline.median


def is_alone(measured: Measured, level: float) -> bool:
    """Return whether a measurement below its floor is slower than peers, or has none.

    Where the peers are as low the group has the alarm.
    """
    runs = [
        (sample.started_at, sample.rate / level, sample.peers_rate / level)
        for sample in sound(measured)
        if sample.rate and sample.peers_rate
    ]
    if not runs:
        return True
    own = best_of_nights((at, share) for at, share, _ in runs)
    peers = best_of_nights((at, share) for at, _, share in runs)
    best_own, best_of_peers = (
        max(share for _, share in nights[-NIGHTS:]) for nights in (own, peers)
    )
    return (
        shortfall(peers, cut=False) is None
        and best_own < (1 - measured.limits.peer_loss) * best_of_peers
    )


def below_goal(measured: Measured) -> Optional[Finding]:
    """Below the rate that was promised for it on each of some nights."""
    goal = measured.given.goal
    missing = shortfall_of(measured, goal)
    if missing is None or goal is None:
        return None
    words = f"{goal_words(missing, measured, goal)}{at_most(measured)}"
    text = f"{measured.what}: {words}: {missing.since}"
    return Finding(State.WARNING, Reason.BELOW_GOAL, text)


def below_floor(measured: Measured) -> Optional[Finding]:
    """Below the least share of its ceiling on each of some nights, and its peers are not."""
    level = least_rate(measured)
    missing = shortfall_of(measured, level)
    if (
        missing is None
        or level is None
        or measured.ceiling is None
        or not is_alone(measured, level)
    ):
        return None
    names = measured.ceiling.kinds, measured.ceiling.limited_by
    text = f"{measured.what}: {floor_words(missing, measured, limited_by(*names))}"
    return Finding(State.WARNING, Reason.BELOW_FLOOR, f"{text}: {missing.since}")


def floor_words(missing: Shortfall, measured: Measured, part: str, number: str = "") -> str:
    """Return the demonstrated share of a ceiling, the part that limits it, and the floor."""
    assert measured.ceiling is not None
    ceiling, least = measured.ceiling, measured.limits.min_efficiency
    whole = ceiling.demonstrable
    share = missing.share * (least_rate(measured) or least * whole) / whole
    return (
        f"{missing.nights} {100 * share:.3g} % of {_whole_words(measured)} (limited by {part})"
        f"{number}, floor {100 * least:g} %"
    )


def _whole_words(measured: Measured) -> str:
    """Return of what a floor is a share: the ceiling, or an even share of it."""
    assert measured.ceiling is not None
    form, share = measured.shown, measured.ceiling.share
    text = f"the ceiling {form(measured.ceiling.rate)}"
    return text if share is None else f"its share {form(share)} of {text}"


def goal_words(missing: Shortfall, measured: Measured, goal: float) -> str:
    """Return the demonstrated share of a goal."""
    form = measured.shown
    rate = form(missing.share * goal)
    return f"{missing.nights} {rate}, {100 * missing.share:.3g} % of the goal {form(goal)}"


def at_most(measured: Measured) -> str:
    """Return the ceiling with what sets it, where there is one."""
    ceiling = measured.ceiling
    if ceiling is None:
        return ""
    part = limited_by(ceiling.kinds, ceiling.limited_by)
    return f", ceiling {measured.shown(ceiling.rate)} (limited by {part})"


def evidence_of_floor(measured: Measured) -> Iterator[str]:
    """Yield a line on each floor that a measurement was accepted below, or is below."""
    if measured.given.baseline and measured.given.baseline.below_floor:
        baseline = measured.given.baseline
        yield f"accepted below its floor by {baseline.accepted_by}: {baseline.below_floor}"
    elif below_goal(measured) or shortfall_of(measured, least_rate(measured)):
        yield REMEDY


REMEDY = (
    "compare with the layers below it and with plumbline ceiling; mend it, correct the topology, "
    "or accept it: plumbline baseline accept --below-floor"
)


def _explain_floor(measured: Measured) -> str:
    level = least_rate(measured)
    if level is None:
        return "no floor"
    return f"floor {measured.shown(level)}, {_demonstrated(measured)}"


def _explain_goal(measured: Measured) -> str:
    goal = measured.given.goal
    if goal is None:
        return "no goal"
    return f"goal {measured.shown(goal)}, {_demonstrated(measured)}"


def _demonstrated(measured: Measured) -> str:
    nights = _nights(measured)
    if len(nights) < NIGHTS:
        return f"{len(nights)} of {NIGHTS} nights"
    text = f"best of {NIGHTS} nights {measured.shown(max(rate for _, rate in nights[-NIGHTS:]))}"
    baseline = measured.given.baseline
    return f"{text}; accepted below its floor" if baseline and baseline.below_floor else text


BELOW_GOAL = Rule(Reason.BELOW_GOAL, below_goal, _explain_goal)
BELOW_FLOOR = Rule(Reason.BELOW_FLOOR, below_floor, _explain_floor)


class _Low(NamedTuple):
    """A member below its floor whose peers are as low."""

    of: Measured
    missing: Shortfall


def group_below(members: Sequence[Optional[Measured]]) -> Optional[Finding]:
    """Return the finding on one operation of a group, None where it is at its floors.

    ``members`` are all of them; None is one that has no rate.
    """
    rated = [of for of in members if of is not None]
    return _below_goal(rated, len(members)) or _below_floor(rated, len(members))


def host_below(pairs: Sequence[Measured]) -> Optional[Finding]:
    """Return the finding on one operation of a host with its partners.

    The best of each night with any partner: one slow partner is none of its matter.
    """
    rated = [of for of in pairs if of.ceiling is not None and of.limits.min_efficiency]
    rated = [of for of in rated if not has_demonstrated(of, _floor_of_pair(of))]
    nights = best_of_nights(share for of in rated for share in _shares(of))
    missing = shortfall(nights, cut=_cut(rated))
    if missing is None or accepted(rated[0], _best(rated)):
        return None
    text = f"{rated[0].what}: {floor_words(missing, rated[0], _part(rated))}: {missing.since}"
    return Finding(State.WARNING, Reason.BELOW_FLOOR, text)


def _cut(members: Sequence[Measured]) -> bool:
    return any(len(of.samples) >= SAMPLES for of in members)


def _floor_of_pair(measured: Measured) -> float:
    assert measured.ceiling is not None
    return measured.limits.min_efficiency * measured.ceiling.rate


def _shares(measured: Measured) -> Iterator[tuple[float, float]]:
    """Yield when a pair was measured and what it gave, in parts of its floor."""
    level = _floor_of_pair(measured)
    yield from ((at, rate / level) for at, rate in _rates(measured))


def _best(pairs: Sequence[Measured]) -> float:
    return max(rate for of in pairs for _, rate in _rates(of))


def _below_floor(members: Sequence[Measured], number: int) -> Optional[Finding]:
    """Return the finding on a group where most members of a kind are below their floor.

    Those of another ceiling are of another kind of hardware and have a floor of their own.
    """
    kinds: dict[float, list[Measured]] = {}
    for of in members:
        if least_rate(of) is not None and of.ceiling is not None:
            kinds.setdefault(of.ceiling.demonstrable, []).append(of)
    for of_kind in kinds.values():
        low = [member for member in map(_low, of_kind) if member]
        # a contended night of a member is no reason to wait with what the others show
        if low and 2 * len(low) > sum(len(_nights(of)) >= NIGHTS for of in of_kind):
            return _finding(low, number)
    return None


def _low(measured: Measured) -> Optional[_Low]:
    level = least_rate(measured)
    missing = shortfall_of(measured, level)
    if missing is None or level is None or is_alone(measured, level):
        return None
    return _Low(measured, missing)


def _finding(low: Sequence[_Low], members: int) -> Finding:
    ordered = sorted(low, key=lambda member: member.missing.share)
    of, missing = ordered[len(ordered) // 2]
    missing = missing._replace(
        first=min(member.missing.first for member in low),
        earlier=any(member.missing.earlier for member in low),
    )
    number = f", median of {len(low)}" + (f" of {members}" if len(low) < members else "")
    words = floor_words(missing, of, _part([member.of for member in low]), number)
    return Finding(State.WARNING, Reason.BELOW_FLOOR, f"{of.what}: {words}: {missing.since}")


def _part(members: Sequence[Measured]) -> str:
    """Return the part that limits all of them: its name if it is one, else its kind."""
    ceilings = [of.ceiling for of in members if of.ceiling]
    parts = dict.fromkeys(limited_by(ceiling.kinds, ceiling.limited_by) for ceiling in ceilings)
    kinds = dict.fromkeys(kind for ceiling in ceilings for kind in ceiling.kinds)
    return several(tuple(kinds if kinds and len(parts) > 1 else parts))


def _below_goal(members: Sequence[Measured], number: int) -> Optional[Finding]:
    """Return the finding on a group whose members together do not give what was promised.

    With a member of which nothing is known nobody can tell.
    """
    rated = [(of, of.given.goal_part) for of in members]
    parts = [(of, part_goal, _nights(of)) for of, part_goal in rated if part_goal is not None]
    if len(parts) < number or not all(len(nights) >= NIGHTS for _, _, nights in parts):
        return None
    goal = sum(part_goal for _, part_goal, _ in parts)
    sums = _sums([nights for _, _, nights in parts], goal)
    missing = shortfall(sums, cut=_cut(members))
    if missing is None or all(_as_accepted(of, part_goal, its) for of, part_goal, its in parts):
        return None
    first = members[0]
    number_of = f" in sum of {number}" if number > 1 else at_most(first)
    text = f"{first.what}: {goal_words(missing, first, goal)}{number_of}: {missing.since}"
    return Finding(State.WARNING, Reason.BELOW_GOAL, text)


def _nights(measured: Measured) -> Nights:
    return best_of_nights(_rates(measured))


def _sums(members: Sequence[Nights], goal: float) -> Nights:
    """Return the sum of each night as a share of the goal.

    In a night of which nothing is known of a member it counts with its best.
    """
    best = [max(rate for _, rate in nights) for nights in members]
    days = sorted({day for nights in members for day, _ in nights})
    rates = [dict(nights) for nights in members]
    return [(day, sum(its.get(day, most) for its, most in zip(rates, best)) / goal) for day in days]


def _as_accepted(measured: Measured, part_goal: float, nights: Nights) -> bool:
    """Return whether a member gives its part of the goal, or what was accepted in its place."""
    best = max(rate for _, rate in nights[-NIGHTS:])
    return best >= part_goal or accepted(measured, best)
