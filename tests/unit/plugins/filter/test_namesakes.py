"""Logs have the short names of hosts."""

from __future__ import annotations

import pytest
from ansible_collections.hpcops.plumbline.plugins.filter.namesakes import namesakes


@pytest.mark.parametrize(
    ("hosts", "expected"),
    [
        ([], []),
        (["oss1", "oss2"], []),
        (["oss1", "oss1"], []),
        (["oss1.a.org", "oss2.a.org", "oss1"], ["oss1.a.org", "oss1"]),
        (["b.x", "a.x", "b.y", "a.y", "b.z"], ["b.x", "b.y", "b.z", "a.x", "a.y"]),
    ],
)
def test_hosts_with_the_same_short_name_are_named(hosts: list[str], expected: list[str]) -> None:
    assert namesakes(hosts) == expected
