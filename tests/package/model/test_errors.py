"""Sentences on errors of the system have no numbers and no names of classes."""

from __future__ import annotations

import pytest

from plumbline.model.errors import reason_in


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (PermissionError(13, "Permission denied", "/var/log"), "Permission denied"),
        (ConnectionRefusedError(111, "Connection refused"), "Connection refused"),
        (TimeoutError("timed out"), "timed out"),
        (TimeoutError(), "TimeoutError"),
        (ValueError("no number"), "no number"),
    ],
)
def test_an_error_is_shown_by_its_words_alone(error: Exception, reason: str) -> None:
    assert reason_in(error) == reason
