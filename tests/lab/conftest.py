"""The lab tests need root: they boot hosts, throttle disks and shape links."""

from __future__ import annotations

import os
import re
from typing import Iterator, Sequence

import pytest

from tests.lab.lab import Console, Lab, LabError


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip with the reason where the lab cannot be brought up."""
    if os.geteuid() != 0:
        for item in items:
            item.add_marker(pytest.mark.skip(reason="the lab needs root"))


def brought_up(lab: Lab, stopped: Sequence[str] = ()) -> Iterator[Lab]:
    """Bring up a lab and deploy plumbline in it; leave nothing behind, whatever happens.

    ``stopped`` are patterns of timers that would disturb what is measured by hand.
    """
    try:
        lab.playbook("lab_up")
        lab.playbook("site")
        if stopped:
            lab.on_host("all", " ".join(("systemctl stop", *(f"'{timer}'" for timer in stopped))))
        yield lab
    finally:
        lab.playbook("lab_down")


def with_baselines(lab: Lab, runs: int) -> Console:
    """Capture baselines; of three more runs where a neighbour on the machine made an outlier.

    One disturbed run does not move the median of three.
    """
    try:
        lab.playbook("baseline", {"runs": str(runs), "reason": "lab test"})
    except LabError as refused:
        print(f"measured again, in three runs: {refused}")
        lab.playbook("baseline", {"runs": "3", "reason": "lab test"})
    return Console(lab)


def changes(recap: str) -> dict[str, str]:
    """Return how many tasks changed something, of the hosts where any did."""
    counts = dict(re.findall(r"^(\S+)\s+: ok=\d+\s+changed=(\d+)", recap, re.MULTILINE))
    assert counts, recap
    return {host: count for host, count in counts.items() if count != "0"}
