"""The demonstration fits on a screen, names what is broken, and says what is missing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.lab import without_root
from tests.lab.demo import counted, suspects, table, unknown
from tests.lab.lab import Service
from tests.lab.screen import Screen
from tests.processes import run_to_end
from tests.project.repository import ROOT

SERVICES = {
    ("oss3", "PATH nic oss3-nic"): Service("CRITICAL", "PATH CRITICAL - Suspect: nic oss3-nic", 1),
    ("lab", "PATH file system a"): Service("WARNING", "Suspect: nic oss3-nic (...", 1),
    ("oss3", "NET oss3 send receive"): Service("CRITICAL", "ceiling by nic oss3-nic", 1),
    ("oss3", "OST a-OST0004 read"): Service("OK", "OST OK - b watching: read 20.1 MB/s", 1),
    ("oss3", "OST a-OST0005 read"): Service("WARNING", "OST WARNING - ", 1),
    ("oss1", "NET oss1 send receive"): Service("OK", "NET OK - oss1", 1),
}
FOUND = {
    "sets": [
        {
            "suspects": [{"component": "oss3-nic", "kind": "nic"}],
            "slow": [
                {"layer": "net", "component": component} for component in ("oss3", "oss1", "oss3")
            ]
            + [{"layer": "ost", "component": f"a-OST000{number}"} for number in (4, 5)],
        }
    ]
}


def test_states_are_counted_and_watched_services_too() -> None:
    assert counted(SERVICES) == "Nagios: 2 CRITICAL, 2 OK, 2 WARNING; 1 watched"


def test_services_without_a_verdict_are_listed_by_kind_with_a_reason() -> None:
    waiting = {
        ("oss1", "PATH server oss1"): Service("UNKNOWN", "PATH UNKNOWN - no run of oss1", 1),
        ("oss2", "PATH server oss2"): Service("UNKNOWN", "PATH UNKNOWN - no run of oss2", 1),
        ("lab", "MDT a create"): Service("UNKNOWN", "MDT UNKNOWN - never recorded", 1),
    }
    assert list(unknown({**SERVICES, **waiting})) == [
        "  UNKNOWN 1 MDT: never recorded",
        "  UNKNOWN 2 PATH: no run of oss1",
    ]


def test_the_table_names_suspect_services_and_what_follows() -> None:
    lines = list(table(suspects(FOUND), SERVICES, {"NET oss3 send receive": 61.4}))
    assert lines == [
        "  one disk slows down to 20 MB/s",
        "    not found; a busy machine hides it: measure again",
        "  one link slows down to 200 Mbit/s",
        "    named    nic oss3-nic; first alarm after 61 s",
        "    by       PATH nic oss3-nic (CRITICAL), PATH file system a (WARNING)",
        "    follows  NET oss3 send receive (CRITICAL), OST a-OST0005 read (WARNING)",
    ]


def test_the_table_names_the_service_of_a_disk_before_that_of_its_file_system() -> None:
    disk = {"component": "oss2-disk1", "kind": "disk"}
    slow = [
        {"layer": "ost", "component": "scratch-OST0002"},
        {"layer": "raw", "component": "oss2-disk1"},
    ]
    services = {
        ("lab", "PATH file system scratch"): Service("WARNING", "Suspect: disk oss2-disk1 (", 1),
        ("oss2", "PATH server oss2"): Service("UNKNOWN", "PATH UNKNOWN - no run", 1),
        ("oss2", "OST scratch-OST0002 write read"): Service("CRITICAL", "OST CRITICAL - ", 1),
        ("oss2", "RAW oss2-disk1 read"): Service("CRITICAL", "RAW CRITICAL - ", 1),
        ("oss2", "RAW oss2-disk2 read"): Service("OK", "RAW OK - ", 1),
    }
    found = suspects({"sets": [{"suspects": [disk], "slow": slow}]})
    assert list(table(found, services, {"OST scratch-OST0002 write read": 24.6}))[:4] == [
        "  one disk slows down to 20 MB/s",
        "    named    disk oss2-disk1; first alarm after 25 s",
        "    by       RAW oss2-disk1 read (CRITICAL), PATH file system scratch (WARNING)",
        "    follows  OST scratch-OST0002 write read (CRITICAL)",
    ]
    services["oss2", "RAW oss2-disk1 read"] = Service("OK", "RAW OK - watching: read", 1)
    own, bearer = "OST scratch-OST0002 write read", "    by       OST scratch-OST0002 write read"
    assert list(table(found, services, {own: 24.6}))[2:4] == [
        f"{bearer} (CRITICAL), PATH file system scratch (WARNING)",
        "    follows  nothing else",
    ]


def test_ansible_goes_to_a_file_and_a_long_task_gives_a_sign_of_life(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    screen = Screen(tmp_path / "log", quiet_s=0.02)
    shown = ""
    with screen.stage("A stage"):
        screen.keep("TASK [lab : Start the hosts] ******\n")
        screen.keep("ok: [oss1]\n")
        while "Start the hosts" not in shown:
            shown += capsys.readouterr().out
    shown += capsys.readouterr().out
    assert "A stage" in shown
    assert "ok: [oss1]" not in shown
    assert shown.endswith("took 0 s\n")
    assert "ok: [oss1]\n" in screen.log.read_text(encoding="utf-8")


def test_on_a_terminal_a_line_takes_the_place_of_a_sign_of_life(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Screen(tmp_path / "log", terminal=True).line("all measured")
    assert capsys.readouterr().out == "\r\033[K  all measured\n"


def test_a_quiet_stage_ends_without_a_sign_of_life(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Screen(tmp_path / "log", quiet_s=600).stage("A stage"):
        pass
    assert capsys.readouterr().out.count("\n") == 3


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


# lacks what $MISSING names
DPKG_QUERY = """#!/bin/sh
for name; do :; done
case " $MISSING " in *" $name "*) exit 1 ;; esac
echo installed
"""


@pytest.mark.parametrize("missing", ["", "fio", "fio python3-venv"])
def test_a_user_is_told_what_is_missing_and_sees_the_other_scenes(
    tmp_path: Path, missing: str
) -> None:
    apart = ("unshare", "--user", "--map-user=1000", "--map-group=1000")
    if run_to_end(*apart, "true").returncode:
        pytest.skip("no user namespaces here")
    program = tmp_path / "dpkg-query"
    program.write_text(DPKG_QUERY, encoding="utf-8")
    program.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "MISSING": missing}
    done = run_to_end(*apart, "make", "demo-programs", cwd=ROOT, env=environment)
    assert done.returncode == 0
    assert all(name in done.stderr for name in missing.split())
    assert ("install them as root" in done.stderr) is bool(missing)
