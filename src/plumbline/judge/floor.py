"""Floors: the least share of the ceiling, or a promised rate, of one component or of a group.

A floor needs no baseline and no peers, so it also finds a component that was slow from the first
day.  Noise only takes away: each night counts by its best run, and of several nights the best one,
so that a busy week is no alarm.  An alarm stands until the median of the last nights is at the
floor again.

A group whose members are all below raises one alarm, not one per member.  The promised rate of a
group is compared with the sum of its members' own rates, which all of them at once cannot exceed.
"""

from __future__ import annotations

from typing import Iterable, Iterator, NamedTuple, Optional, Sequence

from plumbline.judge.days import days_of
from plumbline.judge.measured import Measured
from plumbline.judge.phrases import Finding, date_of, limited_by
from plumbline.model.names import several
from plumbline.model.quantity import BYTES_PER_S
from plumbline.model.series import SAMPLES, Sample, column
from plumbline.model.units import DAY_S
from plumbline.model.verdict import Reason, State

NIGHTS = 5
"""Different nights below a floor before it alarms."""

Nights = list[tuple[int, float]]
"""Best share of each night, oldest first, with the day since the epoch."""


class Shortfall(NamedTuple):
    """A measurement below its floor; ``share`` is its best in the last nights.

    ``best`` is False once a night was at the floor again: ``share`` is then the median of these
    nights.  ``first`` is its first day since the epoch, ``earlier`` True if it may have begun
    before the oldest known sample.
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
        """Return the start, e.g. ``since 2026-11-16``."""
        return f"since {date_of(self.first * DAY_S)}{' or earlier' if self.earlier else ''}"


def sound(measured: Measured) -> Iterator[Sample]:
    """Yield the samples that show a component's speed: not contended, degraded or invalid."""
    most = measured.ceiling and measured.limits.invalid_above * measured.ceiling.rate
    for sample in measured.samples:
        if sample.rate is None or sample.excluded or measured.limits.contended(sample.coverage):
            continue
        if most is None or sample.rate <= most:
            yield sample


def _rates(measured: Measured) -> Iterator[tuple[float, float]]:
    return ((sample.started_at, sample.rate) for sample in sound(measured) if sample.rate)


def best_of_nights(values: Iterable[tuple[float, float]]) -> Nights:
    """Return the best value of each night, from moments, in epoch seconds, and values."""
    (nights,) = best_of_same_nights([list(values)])
    return nights


def best_of_same_nights(members: Sequence[Sequence[tuple[float, float]]]) -> list[Nights]:
    """Return the best value of each night of each member; their nights part at the same hour."""
    days = iter(days_of([moment for member in members for moment, _ in member]).tolist())
    best: list[dict[int, float]] = [{} for _ in members]
    for nights, member in zip(best, members):
        for _, value in member:
            day = next(days)
            nights[day] = max(value, nights.get(day, value))
    return [sorted(nights.items()) for nights in best]


def shortfall(nights: Nights, *, cut: bool) -> Optional[Shortfall]:
    """Return the shortfall of nights, each as a share of the floor.

    It begins with NIGHTS nights that are all below, and ends when the median of so many is not.
    ``cut`` is whether there were earlier nights that are not recorded any more.
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
    """Return the least rate of a measurement alone, None without a floor.

    A pair of hosts is judged with all partners, one of several targets at once as a whole.  A rate
    above the probe's own cap cannot be demonstrated, and a demonstrated rate is judged by the
    evidence against it: a busy week of a whole site is no fault of a disk.  A data sheet counts
    small reads with more of them in flight than the probe has: there is no floor.
    """
    ceiling, share = measured.ceiling, measured.limits.min_efficiency
    if ceiling is None or not share or ceiling.even is not None or measured.record.partner:
        return None
    if measured.record.operation.quantity != BYTES_PER_S:
        return None
    cap_Bps = (measured.record.spec or {}).get("rate_cap_Bps")
    ceiling_rate = ceiling.demonstrable
    level = share * (min(ceiling_rate, cap_Bps) if cap_Bps else ceiling_rate)
    return None if has_demonstrated(measured, level) else level


def has_demonstrated(measured: Measured, level: float) -> bool:
    """Return whether a baseline of the same probe reaches a level, however much it varied."""
    baseline = measured.given.baseline
    return (
        baseline is not None
        and baseline.spec_hash == measured.record.spec_hash
        and baseline.median >= level
    )


def shortfall_of(measured: Measured, level: Optional[float]) -> Optional[Shortfall]:
    """Return the shortfall below a level unless it was accepted, None if there is none."""
    # most rates are far above, and sorting the nights of ten thousand takes too long
    if not level or not any(rate < level for rate in column(measured.samples, "rate")):
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


def is_slow_alone(measured: Measured, level: float) -> bool:
    """Return whether a measurement below its floor is slower than its peers, or has none.

    If the peers are as slow, the group has the alarm.
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
    """Return a finding on a rate below its promised rate on each of some nights."""
    goal = measured.given.goal
    missing = shortfall_of(measured, goal)
    if missing is None or goal is None:
        return None
    words = f"{goal_words(missing, measured, goal)}{at_most(measured)}"
    return _finding(Reason.BELOW_GOAL, measured, words, missing)


def below_floor(measured: Measured) -> Optional[Finding]:
    """Return a finding on a rate below its floor on each of some nights, unlike its peers."""
    level = least_rate(measured)
    missing = shortfall_of(measured, level)
    if (
        missing is None
        or level is None
        or measured.ceiling is None
        or not is_slow_alone(measured, level)
    ):
        return None
    words = floor_words(missing, measured, limited_by(measured.ceiling))
    return _finding(Reason.BELOW_FLOOR, measured, words, missing)


def _finding(reason: Reason, measured: Measured, words: str, missing: Shortfall) -> Finding:
    return Finding(State.WARNING, reason, f"{measured.what}: {words}: {missing.since}")


def floor_words(missing: Shortfall, measured: Measured, part: str, number: str = "") -> str:
    """Return the demonstrated share of a ceiling, the limiting part, and the floor."""
    assert measured.ceiling is not None
    ceiling, least = measured.ceiling, measured.limits.min_efficiency
    ceiling_rate = ceiling.demonstrable
    share = missing.share * (least_rate(measured) or least * ceiling_rate) / ceiling_rate
    return (
        f"{missing.nights} {100 * share:.3g} % of {_ceiling_words(measured)} (limited by {part})"
        f"{number}, floor {100 * least:g} %"
    )


def _ceiling_words(measured: Measured) -> str:
    """Return the base of a floor: the ceiling, or an even share of it."""
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
    """Return the ceiling with the limiting part, empty without one."""
    ceiling = measured.ceiling
    if ceiling is None:
        return ""
    return f", ceiling {measured.shown(ceiling.rate)} (limited by {limited_by(ceiling)})"


def evidence_of_floor(measured: Measured) -> Iterator[str]:
    """Yield a line on each floor that a rate was accepted below, or is below."""
    if measured.given.baseline and measured.given.baseline.below_floor:
        baseline = measured.given.baseline
        yield f"accepted below its floor by {baseline.accepted_by}: {baseline.below_floor}"
    elif below_goal(measured) or shortfall_of(measured, least_rate(measured)):
        yield REMEDY


REMEDY = (
    "compare with the layers below it and with plumbline ceiling; mend it, correct the topology, "
    "or accept it: plumbline baseline accept --below-floor"
)


def explain_floor(measured: Measured) -> str:
    """Return the floor, and what was demonstrated."""
    level = least_rate(measured)
    if level is None:
        return "no floor"
    return f"floor {measured.shown(level)}, {_demonstrated(measured)}"


def explain_goal(measured: Measured) -> str:
    """Return the goal, and what was demonstrated."""
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


def group_below(members: Sequence[Optional[Measured]]) -> Optional[Finding]:
    """Return the finding on one operation of a group, None if it is at its floors.

    ``members`` are all of them, None for one without a rate.
    """
    rated = [member for member in members if member is not None]
    return _below_goal(rated, len(members)) or _below_floor(rated, len(members))


def host_below(pairs: Sequence[Measured]) -> Optional[Finding]:
    """Return the finding on one operation of a host with its partners.

    The best of each night with any partner counts: one slow partner is not the host's fault.
    """
    rated = [pair for pair in pairs if pair.ceiling is not None and pair.limits.min_efficiency]
    rated = [pair for pair in rated if not has_demonstrated(pair, _floor_of_pair(pair))]
    nights = best_of_nights(share for pair in rated for share in _shares(pair))
    missing = shortfall(nights, cut=_cut(rated))
    if missing is None or accepted(rated[0], _best(rated)):
        return None
    words = floor_words(missing, rated[0], _part(rated))
    return _finding(Reason.BELOW_FLOOR, rated[0], words, missing)


def _cut(members: Sequence[Measured]) -> bool:
    return any(len(member.samples) >= SAMPLES for member in members)


def _floor_of_pair(measured: Measured) -> float:
    assert measured.ceiling is not None
    return measured.limits.min_efficiency * measured.ceiling.rate


def _shares(measured: Measured) -> Iterator[tuple[float, float]]:
    """Yield the moments of a pair's measurements, and their rates as shares of its floor."""
    level = _floor_of_pair(measured)
    return ((at, rate / level) for at, rate in _rates(measured))


def _best(pairs: Sequence[Measured]) -> float:
    return max(rate for pair in pairs for _, rate in _rates(pair))


def _below_floor(members: Sequence[Measured], number: int) -> Optional[Finding]:
    """Return the finding on a group with most members of a kind below their floor.

    Members with another ceiling are other hardware and have a floor of their own.
    """
    kinds: dict[float, list[Measured]] = {}
    for measured in members:
        if least_rate(measured) is not None and measured.ceiling is not None:
            kinds.setdefault(measured.ceiling.demonstrable, []).append(measured)
    for of_kind in kinds.values():
        low = [(member, missing) for member in of_kind if (missing := _low(member))]
        # one member's contended night does not delay the alarm of the others
        if low and 2 * len(low) > sum(len(_nights(measured)) >= NIGHTS for measured in of_kind):
            return _of_kind(low, number)
    return None


def _low(measured: Measured) -> Optional[Shortfall]:
    """Return the shortfall of a member whose peers are as slow, None for others."""
    level = least_rate(measured)
    missing = shortfall_of(measured, level)
    alone = missing is None or level is None or is_slow_alone(measured, level)
    return None if alone else missing


def _of_kind(low: Sequence[tuple[Measured, Shortfall]], members: int) -> Finding:
    ordered = sorted(low, key=lambda member: member[1].share)
    middle, missing = ordered[len(ordered) // 2]
    missing = missing._replace(
        first=min(shortfall.first for _, shortfall in low),
        earlier=any(shortfall.earlier for _, shortfall in low),
    )
    number = f", median of {len(low)}" + (f" of {members}" if len(low) < members else "")
    words = floor_words(missing, middle, _part([measured for measured, _ in low]), number)
    return _finding(Reason.BELOW_FLOOR, middle, words, missing)


def _part(members: Sequence[Measured]) -> str:
    """Return the part that limits all of them: its name if it is a single one, else its kind."""
    ceilings = [member.ceiling for member in members if member.ceiling]
    parts = dict.fromkeys(limited_by(ceiling) for ceiling in ceilings)
    kinds = dict.fromkeys(kind for ceiling in ceilings for kind in ceiling.kinds)
    return several(tuple(kinds if kinds and len(parts) > 1 else parts))


def _below_goal(members: Sequence[Measured], number: int) -> Optional[Finding]:
    """Return the finding on a group whose members together miss the promised rate.

    Without the rate of each member the sum is unknown.
    """
    rated = [(member, member.given.goal_part) for member in members]
    promised = [(member, goal) for member, goal in rated if goal is not None]
    nights_of_each = best_of_same_nights([list(_rates(member)) for member, _ in promised])
    parts = [(*pair, nights) for pair, nights in zip(promised, nights_of_each)]
    if len(parts) < number or not all(len(nights) >= NIGHTS for _, _, nights in parts):
        return None
    goal = sum(part_goal for _, part_goal, _ in parts)
    sums = _sums([nights for _, _, nights in parts], goal)
    missing = shortfall(sums, cut=_cut(members))
    if missing is None or all(_as_accepted(*part) for part in parts):
        return None
    first = members[0]
    number_of = f" in sum of {number}" if number > 1 else at_most(first)
    words = f"{goal_words(missing, first, goal)}{number_of}"
    return _finding(Reason.BELOW_GOAL, first, words, missing)


def _nights(measured: Measured) -> Nights:
    return best_of_nights(_rates(measured))


def _sums(members: Sequence[Nights], goal: float) -> Nights:
    """Return the sum of each night as a share of the goal.

    A member without a rate in a night counts with its best.
    """
    best = [max(rate for _, rate in nights) for nights in members]
    days = sorted({day for nights in members for day, _ in nights})
    rates = [dict(nights) for nights in members]
    return [(day, sum(own.get(day, most) for own, most in zip(rates, best)) / goal) for day in days]


def _as_accepted(measured: Measured, part_goal: float, nights: Nights) -> bool:
    """Return whether a member gives its part of the goal, or the rate accepted instead."""
    best = max(rate for _, rate in nights[-NIGHTS:])
    return best >= part_goal or accepted(measured, best)
