"""Read quotas of projects and groups, as targets whose size is their limit.

Any user may read those of projects, and a member those of a group (check_owner in llite/dir.c).
"""

from __future__ import annotations

import re
from typing import NamedTuple, Optional, Sequence

from plumbline.model.command import CommandRunner
from plumbline.model.errors import SkipTarget
from plumbline.model.space import QUOTA, Amount, TargetSpace
from plumbline.model.units import DAY_S, HOUR_S
from plumbline.model.validation import whole
from plumbline.observe.query import QUICK_S, complaint

_OPTIONS = {"project": "-p", "group": "-g"}
_EXPIRED = ("none", "expired")
"""Words of lfs for a grace period that is over: until release 2.15, and since 2.16 (LU-15996)."""
_UNITS = {"w": 7 * DAY_S, "d": DAY_S, "h": HOUR_S, "m": 60.0, "s": 1.0}
_GRACE = re.compile(r"(?:\d+[wdhms])+")
_COLUMNS = 4


class _Limit(NamedTuple):
    """Four columns of ``lfs quota``: what is used, both limits (0 for none), and the grace."""

    used: int
    soft: int
    hard: int
    grace: str

    @classmethod
    def of(cls, words: Sequence[str], unit: int) -> _Limit:
        """Return the columns; raise SkipTarget if they are not numbers."""
        # an asterisk marks what is above a limit
        used, soft, hard = (
            whole(word.rstrip("*"), "a column of lfs quota", SkipTarget) * unit
            for word in words[:3]
        )
        return cls(used, soft, hard, words[3])

    @property
    def amount(self) -> Optional[Amount]:
        """Return what is used and what is left, None without a limit."""
        limit = self.soft if self.soft and self.grace in _EXPIRED else self.hard or self.soft
        return Amount(self.used, max(0, limit - self.used)) if limit else None

    @property
    def grace_s(self) -> Optional[float]:
        """Return the seconds until the soft limit holds, None if it is not exceeded."""
        if not _GRACE.fullmatch(self.grace):
            return None
        parts = re.findall(r"(\d+)([wdhms])", self.grace)
        return sum(int(count) * _UNITS[unit] for count, unit in parts)


def read_quotas(run: CommandRunner, point: str, quotas: Sequence[str]) -> list[TargetSpace]:
    """Return each quota of a mount of Lustre, with the reason if it is not known."""
    targets: list[TargetSpace] = []
    silent = ""
    for quota in quotas:
        kind, name = quota.split(" ", 1)
        if silent:
            # each call waits for the same target
            targets.append(_unknown(quota, f"it was not asked, as {silent} gave no answer"))
            continue
        completed = run(["lfs", "quota", _OPTIONS[kind], name, point], QUICK_S)
        if completed.timed_out or completed.hung:
            silent = quota
        if completed.ok:
            targets.append(parse_quota(completed.stdout, point, quota))
        else:
            targets.append(_unknown(quota, _reason(completed.stderr, kind) or complaint(completed)))
    return targets


def _reason(text: str, kind: str) -> str:
    if "Permission denied" in text:
        return f"lfs shows the quota of a {kind} to its members and to root alone"
    if "not enabled" in text:
        return f"quotas of {kind}s are not enabled; see lctl get_param osd-*.*.quota_slave.enabled"
    return ""


def parse_quota(text: str, point: str, quota: str) -> TargetSpace:
    """Return a quota from the output of ``lfs quota`` on a mount."""
    words = text.split()
    # a long mount point has a line of its own
    numbers = words[words.index(point) + 1 :][: 2 * _COLUMNS] if point in words else []
    if len(numbers) < 2 * _COLUMNS:
        return _unknown(quota, f"lfs quota printed output that is not understood: {text[:80]!r}")
    if any(word.startswith("[") for word in numbers):
        return _unknown(quota, "not all targets of the file system answered lfs quota")
    try:
        space = _Limit.of(numbers[:_COLUMNS], 1024)
        inodes = _Limit.of(numbers[_COLUMNS:], 1)
    except SkipTarget as error:
        return _unknown(quota, str(error))
    if space.amount is None and inodes.amount is None:
        default = " of its own" if "is using default" in text else ""
        return _unknown(
            quota, f"it has no limit{default}; set one with lfs setquota, or leave it out of quotas"
        )
    graces = [limit.grace_s for limit in (space, inodes) if limit.grace_s is not None]
    return TargetSpace(quota, QUOTA, space.amount, inodes.amount, grace_s=min(graces, default=None))


def _unknown(quota: str, reason: str) -> TargetSpace:
    return TargetSpace(quota, QUOTA, trouble=reason)
