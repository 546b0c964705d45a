"""Verdict on the space of a file system: its targets in alarm by name, those of metadata first."""

from __future__ import annotations

from typing import Iterator, NamedTuple, Optional, Sequence

from plumbline.judge.phrases import date_of, moment, number
from plumbline.model.ages import CLOCK_STEP_S, age
from plumbline.model.names import several
from plumbline.model.space import (
    MDT,
    POOL,
    SPACE,
    Amount,
    Outlook,
    SpaceTerms,
    SystemSpace,
    TargetOutlook,
    TargetSpace,
    Trend,
)
from plumbline.model.units import DAY_S, format_bytes, format_duration
from plumbline.model.verdict import Figure, Reason, State, Verdict, worst
from plumbline.parts.space.outlook import imbalance, total
from plumbline.parts.space.trend import MIN_DAYS

UNIT = "systemctl status plumbline-space.timer"

_FULL = 0.001
"""Free fraction below which the MDS creates no objects on an OST (default of
``osp.*.reserved_mb_low``, osp_pre_update_msfs in osp/osp_precreate.c)."""
_FEW_INODES = 32
"""Free inodes below which it creates none (reserved_ino_low in the same function)."""

_MAX_NAMED = 3
_STATES = {"R": "read-only", "N": "accepts no new files", "D": "degraded"}
"""Letters of ``lfs df`` that a reader should know besides what they do to the space."""


class Finding(NamedTuple):
    """One thing about a target of a kind that raises an alarm."""

    state: State
    kind: str
    urgency_s: float
    text: str


def judge_space(system: SystemSpace, now: float, stale_after_s: float) -> Verdict:
    """Return the verdict at ``now``, in seconds since the epoch.

    It is UNKNOWN if the last look is older than ``stale_after_s``, or failed.
    """
    if now - system.at > stale_after_s:
        text = stale(system.at, now, format_duration(stale_after_s))
        return unknown(system.name, Reason.STALE, text)
    if now - system.at < -CLOCK_STEP_S:
        return unknown(system.name, Reason.AHEAD, ahead(system.at, now))
    if system.trouble:
        return unknown(system.name, Reason.NOT_JUDGED, f"could not be read: {system.trouble}")
    findings = sorted(_findings(system), key=_order)
    silent = _silent(system.targets)
    state = worst(finding.state for finding in findings) if findings else State.OK
    reason = Reason.FILLING if findings else Reason.FINE
    if silent and not findings:
        state, reason = State.UNKNOWN, Reason.NOT_JUDGED
    parts = [_alarm(findings) if findings else _summary(system), *silent, *_notes(system)]
    parts.append(f"read {age(system.at, now)}")
    return Verdict(
        SPACE,
        system.name,
        state,
        reason,
        f"{system.name}: {'; '.join(parts)}",
        evidence=tuple(map(line, system.targets)),
        figures=_figures(system),
    )


def unknown(name: str, reason: Reason, text: str) -> Verdict:
    """Return the verdict on a file system of which nothing is known, with the reason."""
    return Verdict(SPACE, name, State.UNKNOWN, reason, f"{name}: {text}")


def stale(at: float, now: float, limit: str) -> str:
    """Return the text on a look that is older than the limit."""
    return f"the last look is stale: {moment(at)}, {age(at, now)} (limit {limit}); see {UNIT}"


def ahead(at: float, now: float) -> str:
    """Return the text on a look from the future."""
    text = f"the last look is dated {moment(at)}, {age(at, now)} of the clock"
    return f"{text}; set the clock of this node (chronyc tracking)"


def _order(finding: Finding) -> tuple[bool, int, bool, float]:
    """Metadata targets come first, for all need them; then the gravest, pools before OSTs."""
    return finding.kind != MDT, -finding.state, finding.kind != POOL, finding.urgency_s


def _findings(system: SystemSpace) -> Iterator[Finding]:
    terms = system.terms
    for item in system.targets:
        target = item.target
        if target.grace_s is not None and target.grace_s < terms.warning_s:
            state, allowed = _by_days(target.grace_s, terms)
            text = f"{target.name} is full in {format_duration(target.grace_s)}"
            text += f", as it is above its soft limit (limit {allowed})"
            yield Finding(state, target.kind, target.grace_s, text)
        if target.space and item.space:
            yield from _of_amount(target, target.space, item.space, terms, inodes=False)
        if target.inodes and item.inodes:
            yield from _of_amount(target, target.inodes, item.inodes, terms, inodes=True)


def _of_amount(
    target: TargetSpace, amount: Amount, outlook: Outlook, terms: SpaceTerms, *, inodes: bool
) -> Iterator[Finding]:
    """Yield what is wrong with the bytes or inodes of a target: full, full soon, too full."""
    limit = terms.inode_limit if inodes else terms.fill_limit
    used = (
        f"{percent(amount.fill)} of its inodes used" if inodes else f"{percent(amount.fill)} full"
    )
    free = f"{amount.free:,} free" if inodes else f"{format_bytes(amount.free)} free"
    near_s = outlook.near_s
    if _is_full(target, amount, inodes=inodes):
        what = "is out of inodes" if inodes else "is full"
        yield Finding(State.CRITICAL, target.kind, 0.0, f"{target.name} {what} ({free})")
    elif near_s is not None and near_s < terms.warning_s:
        state, allowed = _by_days(near_s, terms)
        what = "is out of inodes" if inodes else "is full"
        yield Finding(
            state,
            target.kind,
            near_s,
            f"{target.name} {what} {forecast(outlook)} (limit {allowed}; {used}, {free})",
        )
    elif amount.fill > limit:
        what = f"has {used}" if inodes else f"is {used}"
        text = f"{target.name} {what}, {free} (limit {percent(limit)})"
        yield Finding(State.WARNING, target.kind, near_s or float("inf"), text)


def _by_days(near_s: float, terms: SpaceTerms) -> tuple[State, str]:
    """Return the state of what is full in less than the warning, and the limit that it broke."""
    is_critical = near_s < terms.critical_s
    allowed = format_duration(terms.critical_s if is_critical else terms.warning_s)
    return State.CRITICAL if is_critical else State.WARNING, allowed


def _is_full(target: TargetSpace, amount: Amount, *, inodes: bool) -> bool:
    """Return whether Lustre, or ``lfs df`` itself, regards a target as full."""
    if inodes:
        return "I" in target.flags or amount.free < min(_FEW_INODES, amount.total)
    return "S" in target.flags or amount.free < _FULL * amount.total or not amount.total


def forecast(outlook: Outlook) -> str:
    """Return when a filling target is full, with both ends of the interval."""
    near_s, far_s = outlook.near_s or 0.0, outlook.far_s or 0.0
    near, far = format_duration(near_s), format_duration(far_s)
    return f"in {near}" if near == far else f"in {near} at the earliest, {far} at the latest"


def _alarm(findings: Sequence[Finding]) -> str:
    named = "; ".join(finding.text for finding in findings[:_MAX_NAMED])
    more = len(findings) - _MAX_NAMED
    text = f"{named}; {number(more, 'more alarm')}" if more > 0 else named
    if findings[0].kind == MDT:
        text += "; without space or inodes there nobody can create files"
    return text


def _summary(system: SystemSpace) -> str:
    """Return the fill of the whole, and which target is full first."""
    targets = [item.target for item in system.targets]
    whole = total(iter(targets))
    text = "its fill is not known"
    if whole:
        text = f"{percent(whole.fill)} full, {format_bytes(whole.free)} free"
    inodes = [target for target in targets if target.inodes]
    if inodes:
        most = max(inodes, key=lambda target: target.inodes.fill if target.inodes else 0.0)
        assert most.inodes
        text += f"; inodes {percent(most.inodes.fill)} used at most ({most.name})"
    return f"{text}; {_first(system)}"


def _first(system: SystemSpace) -> str:
    """Return the target that is full first, or why no day can be named."""
    outlooks = [
        (outlook, item.target.name)
        for item in system.targets
        for outlook in (item.space, item.inodes)
        if outlook
    ]
    filling = [
        (outlook.near_s, outlook, name) for outlook, name in outlooks if outlook.near_s is not None
    ]
    if filling:
        _, outlook, name = min(filling, key=lambda item: item[0])
        return f"{name} is full first, {forecast(outlook)}"
    days = max((outlook.days for outlook, _ in outlooks), default=0)
    if days < MIN_DAYS:
        return f"no forecast before {MIN_DAYS} days with readings ({days} so far)"
    return "no target fills steadily"


def _silent(targets: Sequence[TargetOutlook]) -> list[str]:
    """Return the targets whose space should be known and is not."""
    silent = [
        item.target
        for item in targets
        # a pool has no answer of its own: its OSTs are named
        if item.target.trouble and not item.target.inactive and item.target.kind != POOL
    ]
    if not silent:
        return []
    names = several([target.name for target in silent])
    return [f"not known: {names} ({silent[0].trouble})"]


def _notes(system: SystemSpace) -> Iterator[str]:
    targets = [item.target for item in system.targets]
    inactive = [target.name for target in targets if target.inactive]
    if inactive:
        yield f"inactive on this client, so not known: {several(inactive)}"
    for letter, words in _STATES.items():
        names = [target.name for target in targets if letter in target.flags]
        if names:
            yield f"{words}: {several(names)}"
    uneven = imbalance(targets)
    if uneven:
        share, name = uneven
        yield (
            f"{name} has {percent(share)} less free space than the emptiest OST: above 17 % Lustre "
            "gives up round robin, and new files go to the emptier OSTs"
        )


def percent(share: float) -> str:
    """Return a fraction in percent; just below 100 % is not yet full."""
    return f"{min(99.0, 100 * share) if share < 1 else 100:.0f} %"


def line(item: TargetOutlook) -> str:
    """Return one target in one line."""
    target = item.target
    if target.trouble:
        return f"{target.name}: not known, {target.trouble}"
    parts = []
    if target.space and item.space:
        parts.append(
            f"{percent(target.space.fill)} of {format_bytes(target.space.total)} used, "
            f"{format_bytes(target.space.free)} free, {trend(item.space)}"
        )
    if target.inodes and item.inodes:
        parts.append(
            f"inodes {percent(target.inodes.fill)} of {target.inodes.total:,} used, "
            f"{trend(item.inodes, inodes=True)}"
        )
    return f"{target.name}: {'; '.join(parts)}"


def trend(outlook: Outlook, *, inodes: bool = False) -> str:
    """Return the forecast of a target, or why there is none."""
    texts = {
        Trend.FILLING: f"full {forecast(outlook)}",
        Trend.EMPTYING: "more becomes free",
        Trend.UNCLEAR: "no clear trend",
        Trend.TOO_SHORT: f"no forecast yet, {outlook.days} of {MIN_DAYS} days",
    }
    return f"{texts[outlook.trend]}{_change(outlook, inodes=inodes)}"


def _change(outlook: Outlook, *, inodes: bool) -> str:
    """Return why a trend begins where it does, empty if it has seen no change."""

    def text(amount: float) -> str:
        return f"{amount:,.0f} inodes" if inodes else format_bytes(amount)

    if outlook.since is None:
        return ""
    since = f" since {date_of(outlook.since)}"
    if outlook.gained is not None:
        verb = "became free" if outlook.gained > 0 else "were used"
        return f"{since}, when {text(abs(outlook.gained))} {verb} at once"
    if outlook.resized is not None:
        return f"{since}, when its size changed from {text(outlook.resized)}"
    return ""


def _figures(system: SystemSpace) -> tuple[Figure, ...]:
    terms = system.terms
    targets = [item.target for item in system.targets]
    whole = total(iter(targets))
    days = [
        outlook.near_s / DAY_S
        for item in system.targets
        for outlook in (item.space, item.inodes)
        if outlook and outlook.near_s is not None
    ]
    return (
        Figure("fill", whole and _percent(whole.fill), "%"),
        Figure(
            "fullest",
            _most(target.space for target in targets),
            "%",
            f"{100 * terms.fill_limit:g}",
        ),
        Figure(
            "inodes",
            _most(target.inodes for target in targets),
            "%",
            f"{100 * terms.inode_limit:g}",
        ),
        Figure(
            "days",
            round(min(days), 1) if days else None,
            "",
            f"{terms.warning_s / DAY_S:g}:",
            f"{terms.critical_s / DAY_S:g}:",
        ),
    )


def _most(amounts: Iterator[Optional[Amount]]) -> Optional[float]:
    return max((_percent(amount.fill) for amount in amounts if amount), default=None)


def _percent(fill: float) -> float:
    return round(100 * fill, 1)
