"""Metadata calls are timed in a folder of their own, of which nothing remains."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Optional, Sequence

import pytest

from plumbline.measure import calls
from plumbline.measure.probes import calls as probe
from plumbline.model.command import Check, Proof
from plumbline.model.errors import SkipTarget, ToolError
from plumbline.model.layers.mdt import FILES, MDT
from tests.package.measure.jobs import completed, job

HOST = os.uname().nodename


def argv(operation: str, files: int = 20, proof: Optional[Proof] = None) -> list[str]:
    """Return the call of the program."""
    terms = (operation, str(files), "10", json.dumps(proof and proof._asdict()))
    return [sys.executable, "-IS", calls.__file__, *terms]


def called(folder: Path, *arguments: Any) -> subprocess.CompletedProcess[str]:
    """Run the program in a folder."""
    words = argv(*arguments)
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)


def abandoned(folder: Path, name: str, age_s: float = 0.0) -> Path:
    """Make the run folder of a killed run."""
    run = folder / name
    run.mkdir()
    (run / "f000000").touch()
    (run / "d000001").mkdir()
    os.utime(run, (time.time() - age_s,) * 2)
    return run


@pytest.mark.parametrize("operation", [operation.value for operation in MDT.operations])
def test_each_operation_times_its_calls_and_leaves_nothing(tmp_path: Path, operation: str) -> None:
    steps = json.loads(called(tmp_path, operation).stdout)["steps"]
    assert tuple(steps) == calls.STEPS[operation]
    for figures in steps.values():
        assert figures["calls"] == 20
        assert 0 < figures["p50"] <= figures["p99"] == figures["max"] <= figures["seconds"]
        assert figures["mean"] == pytest.approx(figures["seconds"] / 20)
    assert list(tmp_path.iterdir()) == []


def test_the_program_and_the_layer_know_the_same_operations_and_codes() -> None:
    operations = {operation.value for operation in MDT.operations}
    assert set(calls.STEPS) == {*operations, calls.CREATION}
    assert (probe._MISPLACED, probe._NOT_UNDERSTOOD) == (calls.MISPLACED, calls.NOT_UNDERSTOOD)
    # files of more digits would not be removed after a kill
    assert FILES <= 10**6
    command = probe.command(job("calls"))
    assert command[:3] == (sys.executable, "-IS", os.path.realpath(calls.__file__))


def test_the_99th_percentile_is_that_of_the_nearest_rank() -> None:
    figures = calls._figures([float(number) for number in range(1, 201)])
    assert (figures["p50"], figures["p99"], figures["max"]) == (100.0, 198.0, 200.0)


def test_a_step_ends_at_its_limit_and_all_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    figures = calls.measure("mknod", FILES, 0.0, None)["steps"]
    assert (figures["mknod"]["calls"], figures["unlink"]["calls"]) == (1, 1)
    assert list(tmp_path.iterdir()) == []


def test_what_killed_runs_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    abandoned(tmp_path, f"run-{HOST}-1")
    abandoned(tmp_path, "run-elsewhere-2", 2 * 3600.0)
    live = abandoned(tmp_path, "run-elsewhere-3")
    other = abandoned(tmp_path, "runs")
    (tmp_path / f"run-{HOST}-4").symlink_to(other)
    done = called(tmp_path, "mknod")
    # a link is not followed, and its removal is left to a person
    assert (done.returncode, "Not a directory" in done.stderr) == (1, True)
    (tmp_path / f"run-{HOST}-4").unlink()
    assert called(tmp_path, "mknod").returncode == 0
    assert sorted(tmp_path.iterdir()) == [live, other]
    assert sorted(path.name for path in other.iterdir()) == ["d000001", "f000000"]


def test_a_creation_leaves_the_folders_of_others_alone_and_tidy_removes_them(
    tmp_path: Path,
) -> None:
    run = abandoned(tmp_path, f"run-{HOST}-1")
    done = called(tmp_path, calls.CREATION, 1)
    steps = json.loads(done.stdout)["steps"]
    assert (tuple(steps), steps["create"]["calls"]) == (("create", "unlink"), 1)
    assert list(tmp_path.iterdir()) == [run]
    tidied = subprocess.run(probe.tidying(), cwd=tmp_path, check=False)
    assert (tidied.returncode, list(tmp_path.iterdir())) == (0, [])


def test_a_layout_is_set_before_the_first_file(tmp_path: Path) -> None:
    seen, place = tmp_path / "seen", tmp_path / "place"
    place.mkdir()
    layout = ("sh", "-c", f'ls "$0" >> {seen} && echo of "$0" >> {seen}')
    argv = probe.creation(Proof(layout=(layout,)), 10.0)
    done = subprocess.run(argv, cwd=place, capture_output=True, text=True, check=False)
    seconds = probe.creation_s(completed(done.stdout))
    assert seconds == json.loads(done.stdout)["steps"]["create"]["seconds"]
    assert seen.read_text().startswith(f"of run-{HOST}-")


def test_a_layout_that_cannot_be_set_voids_the_creation(tmp_path: Path) -> None:
    layout = ("sh", "-c", "echo lfs setstripe: no such OST >&2; exit 22")
    argv = probe.creation(Proof(layout=(layout,)), 10.0)
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    with pytest.raises(SkipTarget, match=r"run-\S+: lfs setstripe: no such OST"):
        probe.creation_s(completed(done.stdout, done.stderr, done.returncode))
    assert list(tmp_path.iterdir()) == []


def test_a_command_keeps_the_lock_of_the_target(tmp_path: Path) -> None:
    lock, seen, place = tmp_path / "lock", tmp_path / "seen", tmp_path / "place"
    place.mkdir()
    held = os.open(lock, os.O_CREAT | os.O_RDWR)
    layout = ("sh", "-c", f"readlink /proc/self/fd/{held} > {seen}")
    argv = probe.creation(Proof(layout=(layout,)), 10.0)
    subprocess.run(argv, cwd=place, pass_fds=(held,), capture_output=True, check=True)
    os.close(held)
    assert seen.read_text().strip() == str(lock)


def test_a_foreign_file_in_a_run_folder_is_kept_and_named(tmp_path: Path) -> None:
    run = abandoned(tmp_path, f"run-{HOST}-1")
    (run / "thesis").touch()
    done = called(tmp_path, "mknod")
    assert (done.returncode, f"run-{HOST}-1: Directory not empty" in done.stderr) == (1, True)
    assert [path.name for path in run.iterdir()] == ["thesis"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_stopped_run_tidies_up_or_leaves_that_to_the_next(
    tmp_path: Path, number: signal.Signals
) -> None:
    process = subprocess.Popen(argv("mknod", 1_000_000), cwd=tmp_path)
    while not list(tmp_path.glob("run-*/f000009")):
        time.sleep(0.01)
    process.send_signal(number)
    process.wait()
    assert len(list(tmp_path.iterdir())) == (1 if number == signal.SIGKILL else 0)
    assert called(tmp_path, "mknod").returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_a_failed_call_is_named_and_nothing_remains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def fail(_name: str, _folder: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setitem(calls.CALLS, "stat", fail)
    with pytest.raises(OSError, match="Input/output error: 'stat of f000000'"):
        calls.measure("create", 20, 10.0, None)
    assert list(tmp_path.iterdir()) == []


def echoing(*answers: str) -> Proof:
    """Return a proof whose commands print the first answer for any name."""
    check = Check(("sh", "-c", f"echo {answers[0]}"), answers[1:] or answers)
    return Proof(files=(check,), folders=(check,))


def test_what_is_created_is_proved_while_it_exists(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    place = tmp_path / "place"
    place.mkdir()
    check = Check(("sh", "-c", f'test -e "$0" && echo "$0" >> {seen} && echo 1'), ("1",))
    proof = Proof(files=(check,), folders=(check,))
    assert called(place, "create", 20, proof).returncode == 0
    assert called(place, "mkdir", 20, proof).returncode == 0
    names = [path.partition("/")[2] for path in seen.read_text().split()]
    assert names == ["", "f000000", "f000019", "", "d000000", "d000019"]


@pytest.mark.parametrize("proof", [echoing("1", "0"), echoing("-1", "0", "1")])
def test_what_lies_elsewhere_voids_the_run(tmp_path: Path, proof: Proof) -> None:
    done = called(tmp_path, "create", 20, proof)
    assert (done.returncode, done.stdout) == (calls.MISPLACED, "")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(SkipTarget, match=r"in another place: .* printed '-?1' instead of 0"):
        probe.parse(job("calls"), completed("", done.stderr, done.returncode))


def test_a_place_that_is_not_understood_is_one_sentence_with_its_remedy(tmp_path: Path) -> None:
    done = called(tmp_path, "create", 20, echoing("'lmm_stripe_offset: 3'", "3"))
    assert (done.returncode, done.stdout) == (calls.NOT_UNDERSTOOD, "")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ToolError) as caught:
        probe.parse(job("calls"), completed("", done.stderr, done.returncode))
    assert str(caught.value) == (
        "where files and folders lie is not understood, so nothing was measured: sh -c echo "
        "'lmm_stripe_offset: 3' printed 'lmm_stripe_offset: 3', no index; run that command by "
        "hand, and report its output with that of lfs --version"
    )


def test_a_proof_that_fails_is_no_other_place(tmp_path: Path) -> None:
    check = Check(("sh", "-c", "echo lfs: error: $0 >&2; exit 5"), ("0",))
    done = called(tmp_path, "create", 20, Proof(folders=(check,)))
    with pytest.raises(SkipTarget, match=r"^calls found no proof of the place: sh .*: lfs: error"):
        probe.parse(job("calls"), completed("", done.stderr, done.returncode))


def test_a_proof_without_an_answer_fails(tmp_path: Path) -> None:
    missing: Sequence[str] = ("plumbline-no-such-tool",)
    proof = Proof(folders=(Check(tuple(missing), ("0",)),))
    done = called(tmp_path, "create", 20, proof)
    assert (done.returncode, "No such file or directory" in done.stderr) == (1, True)
    assert list(tmp_path.iterdir()) == []
