"""The lab tests need root: they boot hosts, throttle disks and shape links."""

from __future__ import annotations

import os
import re
from typing import Iterator

import pytest

from tests.lab.lab import Lab


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip with the reason where the lab cannot be brought up."""
    if os.geteuid() != 0:
        for item in items:
            item.add_marker(pytest.mark.skip(reason="the lab needs root"))


def brought_up(lab: Lab) -> Iterator[Lab]:
    """Bring up a lab and deploy plumbline in it; leave nothing behind, whatever happens."""
    try:
        lab.playbook("lab_up")
        lab.playbook("site")
        yield lab
    finally:
        lab.playbook("lab_down")


def changes(recap: str) -> dict[str, str]:
    """Return how many tasks changed something, of the hosts where any did."""
    counts = dict(re.findall(r"^(\S+)\s+: ok=\d+\s+changed=(\d+)", recap, re.MULTILINE))
    assert counts, recap
    return {host: count for host, count in counts.items() if count != "0"}
