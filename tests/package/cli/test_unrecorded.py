"""A run that cannot be recorded is told by the next ``check_node``, not after the limit of age."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from plumbline.site.published import publish
from tests.package.cli.driver import COMMAND, SOURCE
from tests.package.cli.test_probe import Node
from tests.processes import can_mount, run_to_end
from tests.project.repository import ROOT

GOOD = {"a": "200", "b": "201", "c": "202"}
NOTE = "unrecorded-ost.json"


@pytest.fixture
def measured(tmp_path: Path) -> Node:
    """Return a node after one good run."""
    for folder in ("a", "b", "c", "state", "tmp"):
        (tmp_path / folder).mkdir()
    node = Node(tmp_path)
    node.expect()
    assert node.probe(*node.arguments(), "--quiet", **GOOD).returncode in (0, 3)
    return node


def check(node: Node) -> subprocess.CompletedProcess[str]:
    """Run check_node."""
    documents = ("--expectations", str(node.home / "expectations.json"))
    verdicts = ("--verdicts", str(node.state / "verdicts"))
    return run_to_end(sys.executable, str(ROOT / "checks" / "check_node"), *documents, *verdicts)


def damage(node: Node) -> None:
    """Write over the first bytes of the history."""
    with (node.state / "history.sqlite").open("r+b") as file:
        file.write(os.urandom(100))


@pytest.mark.slow
def test_a_damaged_history_is_a_warning_until_a_run_is_recorded(measured: Node) -> None:
    before = check(measured)
    assert (before.returncode, "ost 3 of 3 measured" in before.stdout) == (0, True)
    damage(measured)
    assert measured.probe(*measured.arguments(), "--quiet", **GOOD).returncode == 74
    warned = check(measured)
    assert warned.returncode == 1
    assert warned.stdout.startswith("NODE WARNING - client1: ost 3 of 3 measured, last ")
    assert " could not be recorded: history " in warned.stdout
    assert "it is damaged; move it aside" in warned.stdout
    assert json.loads((measured.state / NOTE).read_text())["layer"] == "ost"
    (measured.state / "history.sqlite").unlink()
    assert measured.probe(*measured.arguments(), "--quiet", **GOOD).returncode in (0, 3)
    assert check(measured).returncode == 0
    assert not (measured.state / NOTE).exists()


@pytest.mark.slow
def test_the_targets_of_another_client_and_other_states_leave_no_note(measured: Node) -> None:
    other = measured.home / "other"
    other.mkdir()
    (other / "history.sqlite").write_bytes(os.urandom(4096))
    words = [str(other) if word == str(measured.state) else word for word in measured.arguments()]
    assert measured.probe(*words, "--another-client", "--quiet", **GOOD).returncode == 74
    assert not (other / NOTE).exists()
    assert measured.probe(*words, "--quiet", **GOOD).returncode == 74
    assert (other / NOTE).exists()
    assert check(measured).returncode == 0


@pytest.mark.slow
@pytest.mark.skipif(not can_mount(), reason="mounting needs CAP_SYS_ADMIN")
@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        ("mount -o remount,ro $S", "it cannot be opened"),
        ("cat /dev/zero > $S/rest; true", "free some"),
    ],
    ids=["read-only", "full"],
)
def test_a_state_folder_that_takes_nothing_is_a_warning(
    measured: Node, spoil: str, reason: str
) -> None:
    """The note lies with the locks, whose folder the verdict names."""
    probe = " ".join([*COMMAND, "probe", "ost", *measured.arguments(), "--quiet"])
    script = (
        f"S={measured.state}; cp -a $S $S.kept; mount -t tmpfs -o size=3m none $S; "
        f"cp -a $S.kept/. $S; {spoil}; {probe} >&2; echo $?; "
        f"{sys.executable} {ROOT}/checks/check_node --verdicts $S/verdicts "
        f"--expectations {measured.home}/expectations.json; echo $?"
    )
    variables = {**os.environ, **measured.variables(GOOD), "PYTHONPATH": str(SOURCE)}
    ended = run_to_end("unshare", "--mount", "sh", "-c", script, env=variables)
    probed, line, checked = ended.stdout.splitlines()
    assert (probed, checked) == ("74", "1"), ended.stderr
    assert line.startswith("NODE WARNING - client1: ost 3 of 3 measured, last ")
    assert reason in line
    assert (measured.home / "locks" / NOTE).exists()


@pytest.mark.slow
def test_a_first_run_that_cannot_be_recorded_is_a_warning(measured: Node) -> None:
    expectations = str(measured.home / "expectations.json")
    (measured.state / "history.sqlite").unlink()
    publish(expectations, measured.state)
    (measured.state / "history.sqlite").write_bytes(os.urandom(4096))
    assert measured.probe(*measured.arguments(), "--quiet", **GOOD).returncode == 74
    warned = check(measured)
    assert (warned.returncode, "ost waits for its first run" in warned.stdout) == (1, True)
    assert "it is damaged; move it aside" in warned.stdout
    (measured.state / NOTE).write_text("{cut")
    damaged = check(measured)
    assert (damaged.returncode, f"{NOTE} is damaged" in damaged.stdout) == (3, True)
