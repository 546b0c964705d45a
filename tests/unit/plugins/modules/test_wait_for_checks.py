"""Forced checks are waited for until Nagios has done them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args
from ansible_collections.hpcops.plumbline.plugins.modules import wait_for_checks

CHECKS = [["oss2", "OST a"], ["oss2", "OST b"], ["client1", "plumbline agent"], ["oss9", "OST z"]]
SHOWN = {
    "oss2": {
        "OST a": {"last_check": 1_700_000_001_000},
        "OST b": {"last_check": 1_699_999_999_000},
        "Toner": {"last_check": 0},
    },
    "client1": {"plumbline agent": {"last_check": 0}},
}
CHECKED = {
    "oss2": {"OST a": {"last_check": 1_700_000_001_000}, "OST b": {"last_check": 1_700_000_000_000}}
}
HEADER = "Content-type: application/json\r\n\r\n"


def answer(shown: dict[str, Any]) -> str:
    return json.dumps({"data": {"servicelist": shown}}, indent=2)


class Page:
    """Runs the module on a page that gives one answer after the other, the last one again."""

    def __init__(self, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
        self._folder = folder
        self._capfd = capfd

    def waited(self, *answers: str, timeout: int = 0) -> dict[str, Any]:
        for number, text in enumerate(answers):
            (self._folder / str(number)).write_bytes(text.encode())
        program = self._folder / "statusjson.cgi"
        program.write_text(
            f"#!/bin/sh\ncd {self._folder}\ncat 0\n[ ! -e 1 ] || mv 1 0\n", encoding="utf-8"
        )
        program.chmod(0o755)
        params = {"services": CHECKS, "program": str(program), "user": "nagiosadmin"}
        with (
            patch_module_args({**params, "since": 1_700_000_000, "timeout": timeout}),
            pytest.raises(SystemExit),
        ):
            wait_for_checks.main()
        result: dict[str, Any] = json.loads(self._capfd.readouterr().out)
        return result


@pytest.fixture
def page(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Page:
    return Page(tmp_path, capfd)


@pytest.mark.parametrize("header", [HEADER, "A: b\nC: d\n\n"])
def test_services_checked_before_the_moment_are_named(page: Page, header: str) -> None:
    result = page.waited(header + answer(SHOWN))
    assert result["failed"] is True
    assert "has not checked OST b, plumbline agent within 0 s" in result["msg"]


def test_the_checks_are_waited_for(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wait_for_checks, "PAUSE_S", 0)
    result = page.waited(HEADER + answer(SHOWN), HEADER + answer(CHECKED), timeout=60)
    assert result["changed"] is False
    assert "failed" not in result


@pytest.mark.parametrize("text", ["", "Status: 500\n\nno such file", "A: b\n\n{}", "A: b\n\n[]"])
def test_an_invalid_answer_of_nagios_is_refused(page: Page, text: str) -> None:
    result = page.waited(text)
    assert result["failed"] is True
    assert "statusjson.cgi of Nagios gave no list" in result["msg"]
