"""The demonstration shows all that its page of Nagios shows, and says what is missing."""

from __future__ import annotations

import pytest

from tests.lab import without_root
from tests.lab.demo import show
from tests.lab.lab import Service
from tests.processes import run_to_end
from tests.project.repository import ROOT

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


def test_a_command_that_fails_ends_the_demonstration(capsys: pytest.CaptureFixture[str]) -> None:
    """The command prints nothing to its output, and its exit code is no state of Nagios."""
    with pytest.raises(SystemExit, match="`plumbline status` ended with 64"):
        without_root.show("status", "--nonsense")
    assert capsys.readouterr().out == "  $ plumbline status --nonsense\n"


def test_long_output_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    without_root.show("--help", limit=2)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert lines[-1].endswith(" lines more")


def test_without_fio_its_scene_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    without_root.directories(None)
    assert "fio is not installed" in capsys.readouterr().out


def test_missing_programs_are_named_before_the_tools_are_installed() -> None:
    plan = run_to_end("make", "--dry-run", "--always-make", "demo", cwd=ROOT, check=True).stdout
    assert 0 < plan.index("requirements/demo.txt") < plan.index(".ci/venv")
