"""The roles, the checks and Nagios on Debian 12, where the network tool is iperf3."""

from __future__ import annotations

from typing import Iterator

import pytest

from tests.lab.conftest import brought_up, changes
from tests.lab.lab import Console, Lab, not_ok


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    yield from brought_up(Lab("tests/lab/bookworm", 8478))


def test_check_mode_predicts_no_change_on_a_deployed_site(lab: Lab) -> None:
    assert changes(lab.recap("site", "--check")) == {}


def test_everything_is_measured_and_ok_on_debian_12(lab: Lab) -> None:
    lab.playbook("baseline", {"runs": "1", "reason": "lab test"})
    console = Console(lab)
    services = lab.measure(console)
    assert not_ok(services) == {}
    assert len(services) == 2 + 1 + 2 + 1 + 2
    assert lab.on_host("oss1", "cut -d. -f1 /etc/debian_version") == "12"
