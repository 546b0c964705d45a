"""The lab tests need root: they boot hosts, throttle disks and shape links."""

from __future__ import annotations

import os
import re
from typing import Iterator, Mapping, Sequence

import pytest

from tests.lab.lab import Console, Lab, LabError, Service

MORE_RUNS = 3


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
    """Capture baselines, of more runs where a neighbour on the machine disturbed some.

    One disturbed run does not move the median of three.  What is left without a firm baseline,
    :func:`without_a_firm_baseline` names: that is the machine's doing, and no fault.
    """
    for count in (runs, MORE_RUNS, MORE_RUNS):
        try:
            lab.playbook("baseline", {"runs": str(count), "reason": "lab test"})
        except LabError as refused:
            if "must not become the reference" not in str(refused):
                raise
            print(f"measured again: {refused}")
            continue
        console = Console(lab)
        weak = without_a_firm_baseline(console.services())
        if not weak:
            return console
        print(f"measured again for {', '.join(sorted(weak))}")
    return Console(lab)


def without_a_firm_baseline(services: Mapping[str, Service]) -> set[str]:
    """Return what cannot be judged because runs differed too much when they were to be one."""
    return {
        name
        for name, one in services.items()
        if one.state == "UNKNOWN"
        and any(words in one.output for words in ("no figure to compare", "nothing to compare"))
    }


def changes(recap: str) -> dict[str, str]:
    """Return how many tasks changed something, of the hosts where any did."""
    counts = dict(re.findall(r"^(\S+)\s+: ok=\d+\s+changed=(\d+)", recap, re.MULTILINE))
    assert counts, recap
    return {host: count for host, count in counts.items() if count != "0"}
