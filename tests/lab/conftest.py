"""Fixtures of the lab tests, which need root to boot hosts, throttle disks and shape links."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Iterator, Mapping

import pytest

from tests.lab.lab import Console, Lab, LabError, Service

MORE_RUNS = 3
# Files named after plumbline, except logs and the lab's own; its units; its user.
TRACES = (
    "find / -xdev -path /proc -prune -o -path /var/log -prune -o -name '*plumbline*' -print"
    " | grep -v -e /dev/disk -e plumbline-lab; find /mnt /run -maxdepth 2 -name '*plumbline*';"
    " systemctl list-units --all --plain --no-legend 'plumbline*'; getent passwd plumbline; true"
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the lab tests with a reason if this user is not root; other tests may be among them."""
    if os.geteuid() != 0:
        for item in items:
            if item.path.is_relative_to(Path(__file__).parent):
                item.add_marker(pytest.mark.skip(reason="the lab needs root"))


def brought_up(lab: Lab, folders: str = "") -> Iterator[Lab]:
    """Bring up a lab, deploy plumbline in it, and remove the lab at the end.

    The ``folders`` on its servers are what an administrator makes before.
    """
    try:
        if folders:
            lab.playbook("lab_up")
            lab.on_host("storage_servers", f"mkdir -p {folders}")
            lab.playbook("site")
        else:
            lab.start()
        yield lab
    finally:
        lab.playbook("lab_down")


def with_baselines(lab: Lab, runs: int) -> Console:
    """Capture baselines, with more runs if others on this machine disturbed some.

    0 runs take what was measured before.

    One disturbed run does not move the median of three.  Components still without a firm baseline
    (:func:`without_a_firm_baseline`) are no fault of plumbline.
    """
    for count in (runs, MORE_RUNS, MORE_RUNS):
        try:
            lab.playbook("baseline", {"runs": str(count), "reason": "lab test"})
        except LabError as error:
            if "must not become the reference" not in str(error):
                raise
            print(f"measured again: {error}")
            continue
        console = Console(lab)
        weak = without_a_firm_baseline(console.services())
        if not weak:
            return console
        print(f"measured again for {', '.join(sorted(weak))}")
    return Console(lab)


def without_a_firm_baseline(services: Mapping[str, Service]) -> set[str]:
    """Return the services without a verdict, as the runs for their baseline differed too much."""
    return {
        name
        for name, service in services.items()
        if service.state == "UNKNOWN"
        and any(words in service.output for words in ("no figure to compare", "nothing to compare"))
    }


def changes(recap: str) -> dict[str, str]:
    """Return the number of changed tasks of each host with any."""
    counts = dict(re.findall(r"^(\S+)\s+: ok=\d+\s+changed=(\d+)", recap, re.MULTILINE))
    assert counts, recap
    return {host: count for host, count in counts.items() if count != "0"}


def traces(lab: Lab, host: str) -> str:
    """Return what plumbline has left on a host, a line for each file, unit or user."""
    return lab.on_host(host, TRACES)
