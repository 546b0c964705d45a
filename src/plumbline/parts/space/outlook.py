"""Looks at a file system over weeks, and what they say of each of its targets."""

from __future__ import annotations

from typing import Iterator, NamedTuple, Optional, Sequence

from plumbline.model.space import (
    OST,
    Amount,
    SpaceTerms,
    SystemSpace,
    TargetOutlook,
    TargetSpace,
    whole_of,
)
from plumbline.parts.space.trend import outlook

ROUND_ROBIN_WITHIN = 0.17
"""Share by which the free space of OSTs may differ before Lustre's allocator weighs them.

Default of ``lod.*.qos_threshold_rr``: OSTs are used in turn while the least free space is above
83 % of the most, and likewise the free inodes (ltd_qos_penalties_calc in obdclass/lu_tgt_descs.c).
"""


class Look(NamedTuple):
    """One look at a file system at ``at``, in seconds since the epoch.

    ``trouble`` is the reason why nothing could be read, empty if something was.
    """

    terms: SpaceTerms
    at: float
    targets: tuple[TargetSpace, ...] = ()
    trouble: str = ""

    @property
    def whole(self) -> Optional[Amount]:
        """Return the bytes of all targets that hold files' data, None if one is not known."""
        return total(target for target in self.targets)


def total(targets: Iterator[TargetSpace]) -> Optional[Amount]:
    """Return the bytes of the targets for data, None if there is none or one is not known."""
    return whole_of(target for target in targets if target.kind in ("", OST))


def system_space(looks: Sequence[Look]) -> SystemSpace:
    """Return the last of at least one look, oldest first, with the trends up to its time.

    Looks that are dated later, by a clock that has jumped, do not count.
    """
    last = looks[-1]
    past = sorted((look for look in looks if look.at <= last.at), key=lambda look: look.at)
    spaces: dict[str, list[tuple[float, Amount]]] = {}
    inodes: dict[str, list[tuple[float, Amount]]] = {}
    for look in past:
        for target in look.targets:
            if target.space:
                spaces.setdefault(target.name, []).append((look.at, target.space))
            if target.inodes:
                inodes.setdefault(target.name, []).append((look.at, target.inodes))
    return SystemSpace(
        last.terms,
        last.at,
        tuple(
            TargetOutlook(
                target,
                target.space and outlook(spaces[target.name], last.at),
                # ZFS has no fixed number of inodes: its total falls as bytes are used
                target.inodes and outlook(inodes[target.name], last.at, sized=False),
            )
            for target in last.targets
        ),
        last.trouble,
    )


def imbalance(targets: Sequence[TargetSpace]) -> Optional[tuple[float, str]]:
    """Return how much less is free on the fullest OST than on the emptiest, and its name.

    The share is a fraction; None unless it makes Lustre's allocator give up round robin.
    """
    free = {
        target.name: target.space.free for target in targets if target.kind == OST and target.space
    }
    if len(free) < 2 or not max(free.values()):
        return None
    least = min(free, key=lambda name: free[name])
    share = 1 - free[least] / max(free.values())
    return (share, least) if share >= ROUND_ROBIN_WITHIN else None
