"""The demonstration shows all that its page of Nagios shows."""

from __future__ import annotations

import pytest

from tests.lab.demo import show
from tests.lab.lab import Service

SERVICES = {
    ("oss3", "PATH server oss3"): Service("CRITICAL", "PATH CRITICAL - Suspect: server oss3", 1.0),
    ("oss2", "OST b"): Service("OK", "OST OK - b: watching: read 20.1 MB/s", 1.0),
    ("oss1", "OST a"): Service("OK", "OST OK - a", 1.0),
}


def test_bad_and_watched_services_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    show(SERVICES)
    assert capsys.readouterr().out.splitlines() == [
        "  OK       oss2: OST b",
        "           OST OK - b: watching: read 20.1 MB/s",
        "  CRITICAL oss3: PATH server oss3",
        "           PATH CRITICAL - Suspect: server oss3",
        "  Nagios: 2 of 3 services OK",
    ]
