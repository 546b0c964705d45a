"""Recorded histories: their sites, their faults, and their failed or changed runs.

Nights are counted from 1.  The name of a flow is layer, component, operation, scenario and partner,
separated by spaces; a shell pattern selects flows.
"""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple

NIGHTS = 12
LAST = NIGHTS + 1
"""The night after the last one."""


class Fault(NamedTuple):
    """A part, target, file system or ``site`` with a loss of speed."""

    component: str
    loss: float
    since: int = 5
    operation: str = ""

    @property
    def name(self) -> str:
        """Return the key of the slower flows in the recorded data."""
        return f"{self.component} {self.loss:g} {self.operation}".strip()


class Change(NamedTuple):
    """Changed values in records of nights from ``since`` to before ``until``."""

    flows: str
    values: Mapping[str, Any]
    since: int = LAST - 1
    until: int = LAST
    factor: float = 1.0


class Scene(NamedTuple):
    """A history of a site: its faults, its changes, and whether it has baselines."""

    name: str
    site: str
    faults: tuple[Fault, ...] = ()
    changes: tuple[Change, ...] = ()
    baselines: bool = True
    hours_later: float = 8.0


def failed(outcome: str, reason: str) -> dict[str, Any]:
    """Return the values of a record without a rate."""
    none: dict[str, Any] = {"rate": None, "repeats": [], "seconds": 0.0, "bytes": 0}
    return {"outcome": outcome, "reason": reason, **none}


RELEASE = {"versions": {"client": "2.15.5", "server": "2.15.5"}}
NEXT_RELEASE = {"versions": {"client": "2.17.0", "server": "2.15.5"}}

SCENES = (
    Scene("edison-healthy", "edison"),
    Scene(
        "edison-faults",
        "edison",
        (
            Fault("fs1-OST0003", 0.5),
            Fault("oss10", 0.4, 4),
            Fault("oss33-array2", 0.25, 2, "read"),
            Fault("oss61-array1", 0.15, 1),
        ),
    ),
    Scene(
        "edison-release",
        "edison",
        (Fault("fs2", 0.3, 7, "read"),),
        (Change("ost *", RELEASE, 1), Change("ost *", NEXT_RELEASE, 7)),
    ),
    # below the floor: a fifth of the 500 MB/s that a target gets of its unit
    Scene("edison-floor", "edison", (Fault("site", 0.97, 1),), baselines=False),
    Scene(
        "redstorm-faults",
        "redstorm",
        (
            Fault("oss001-hba", 0.5),
            Fault("ddn05a-data", 0.95),
            Fault("ddn07b-lun2", 0.7, 3),
            Fault("oss100-link", 0.95),
        ),
        baselines=False,
    ),
    Scene(
        "bgl-faults",
        "bgl",
        (Fault("oss005-fc", 0.5), Fault("ddn03", 0.9), Fault("oss100-lun1", 0.5, 3)),
    ),
    Scene(
        "example-faults",
        "example",
        (Fault("oss03-hba", 0.6), Fault("oss12-ib", 0.5), Fault("oss07-lun1", 0.6, 3)),
        (
            # contended runs are no evidence
            Change("ost work-OST0005 *", {"coverage": 0.4}, 6, factor=0.5),
            Change("ost work-OST0006 *", {"coverage": 0.97}, 6),
            Change("net oss20 *", {"retransmits": 90_000}, 3),
            Change("net oss2? send single oss01", {"retransmits": 90_000}, 1),
        ),
    ),
    Scene(
        "lab-faults",
        "lab",
        (Fault("oss2-disk1", 0.7, 6),),
        (
            Change("fs scratch-OST0004 *", {}, 5, factor=0.4),
            Change("fs scratch *", {}, 5, factor=0.4),
        ),
    ),
    Scene(
        "lab-odd",
        "lab",
        (),
        (
            Change("ost scratch-OST0000 *", failed("failed", "fio ended with code 1")),
            Change("ost scratch-OST0001 *", failed("broken", "fio: Input/output error"), 11),
            Change("ost scratch-OST0002 *", failed("skipped", "target is 93 % full")),
            Change("ost scratch-OST0003 *", {"flags": ["degraded"]}, 9, factor=0.5),
            Change("ost scratch-OST0004 *", {"fill": 0.85, "coverage": 0.5}, 6, factor=0.6),
            # above the ceiling
            Change("ost scratch-OST0005 read *", {}, 11, factor=1.6),
            Change("raw oss1-disk1 *", failed("hung", "sgp_dd did not come back"), 12),
            Change("raw oss3-disk1 *", failed("unreachable", "oss3 does not answer")),
            Change("raw oss3-disk2 *", failed("unanswered", "stat did not come back")),
            Change("fs *", failed("no_mount", "/mnt/scratch is not mounted")),
        ),
    ),
    Scene("lab-signs", "lab", (Fault("oss2-nic", 0.6, 6),)),
    Scene("example-jobs", "example", (Fault("oss02-hba", 0.6, 6),), hours_later=5.0),
    Scene("lab-stale", "lab", (Fault("oss1-nic", 0.5, 6),), hours_later=60.0, baselines=False),
)
