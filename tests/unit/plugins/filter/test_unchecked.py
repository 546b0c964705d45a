"""Nagios is waited for until it has checked what it was asked for."""

from __future__ import annotations

import json

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.hpcops.plumbline.plugins.filter.unchecked import unchecked

ASKED = [("oss2", "OST a"), ("oss2", "OST b"), ("client1", "plumbline agent"), ("oss9", "OST z")]
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
def test_what_was_checked_before_the_moment_is_waited_for(header: str) -> None:
    assert unchecked(ASKED, header + DOCUMENT, "1700000000") == ["OST b", "plumbline agent"]
    assert unchecked(ASKED, header + DOCUMENT, 0) == []


@pytest.mark.parametrize("answer", ["", "Status: 500\n\nno such file", "A: b\n\n{}", "A: b\n\n[]"])
def test_an_answer_that_is_none_is_shown(answer: str) -> None:
    with pytest.raises(AnsibleFilterError, match=r"statusjson\.cgi of Nagios gave no list"):
        unchecked(ASKED, answer, 0)
