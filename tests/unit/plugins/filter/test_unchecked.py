"""Forced checks are waited for until Nagios has done them."""

from __future__ import annotations

import json

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.hpcops.plumbline.plugins.filter.unchecked import unchecked

CHECKS = [("oss2", "OST a"), ("oss2", "OST b"), ("client1", "plumbline agent"), ("oss9", "OST z")]
SHOWN = {
    "oss2": {
        "OST a": {"last_check": 1_700_000_001_000},
        "OST b": {"last_check": 1_699_999_999_000},
        "Toner": {"last_check": 0},
    },
    "client1": {"plumbline agent": {"last_check": 0}},
}
DOCUMENT = json.dumps({"data": {"servicelist": SHOWN}}, indent=2)


@pytest.mark.parametrize("header", ["Content-type: application/json\r\n\r\n", "A: b\nC: d\n\n"])
def test_services_checked_before_the_moment_are_waited_for(header: str) -> None:
    assert unchecked(CHECKS, header + DOCUMENT, "1700000000") == ["OST b", "plumbline agent"]
    assert unchecked(CHECKS, header + DOCUMENT, 0) == []


@pytest.mark.parametrize("answer", ["", "Status: 500\n\nno such file", "A: b\n\n{}", "A: b\n\n[]"])
def test_an_invalid_answer_of_nagios_is_refused(answer: str) -> None:
    with pytest.raises(AnsibleFilterError, match=r"statusjson\.cgi of Nagios gave no list"):
        unchecked(CHECKS, answer, 0)
