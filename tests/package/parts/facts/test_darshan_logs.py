"""A separate process reads the logs; a damaged log costs one sentence and nothing else."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from plumbline.model.command import Completed
from plumbline.model.errors import DocumentError, ToolError
from plumbline.observe.command import SystemRunner
from plumbline.parts.facts.darshan_logs import MAX_BYTES, find_logs, read_logs
from tests.package.fakes import FakeRunner, answer
from tests.project.repository import ROOT

DATA = ROOT / "tests/data/darshan"
ANSWERS = (DATA / "answers.jsonl").read_text(encoding="utf-8").splitlines()
IMPORT = "py -I -c import darshan"
READ = f"py -I {ROOT / 'src/plumbline/parts/facts/pydarshan.py'}"
RUNNER = SystemRunner(most_bytes=MAX_BYTES)
with_pydarshan = pytest.mark.skipif(find_spec("darshan") is None, reason="no PyDarshan here")


def paths(folder: Path, *names: str) -> list[Path]:
    return [folder / f"{name}.darshan" for name in names]


@pytest.mark.slow
@with_pydarshan
def test_real_logs_are_read_and_damaged_logs_named(tmp_path: Path) -> None:
    good = (DATA / "one-ost-a-file.darshan").read_bytes()
    contents = {
        "a": good,
        "cut": good[:6000],
        "empty": b"",
        "foreign": b"no log at all\n" * 99,
        "headless": b"\0" * 300 + good,
        "z": (DATA / "shared-file.darshan").read_bytes(),
    }
    for name, content in contents.items():
        (tmp_path / f"{name}.darshan").write_bytes(content)
    files, left_out = find_logs([str(tmp_path)], 0.0)
    logs, unread = read_logs(RUNNER, sys.executable, files)
    assert [log.job.id for log in logs] == ["6909118", "4478544"]
    assert left_out == []
    named = [text.partition(" is left out")[0] for text in unread]
    assert named == [str(path) for path in paths(tmp_path, "cut", "empty", "foreign", "headless")]


@pytest.mark.slow
@with_pydarshan
def test_the_recorded_answers_are_those_of_the_reader() -> None:
    result = read_logs(
        RUNNER, sys.executable, [DATA / "one-ost-a-file.darshan", DATA / "shared-file.darshan"]
    )
    recorded = read_logs(
        FakeRunner({IMPORT: answer(), READ: answer("\n".join(ANSWERS))}), "py", [DATA, DATA]
    )
    assert result == recorded


def test_a_log_that_crashes_the_reader_loses_no_other_log(tmp_path: Path) -> None:
    crash = Completed((), -11, f"{ANSWERS[0]}\n", "", 0.1)
    rest = answer(f"{ANSWERS[1]}\n")
    run = FakeRunner({IMPORT: answer(), READ: [crash, rest]})
    logs, left_out = read_logs(run, "py", paths(tmp_path, "a", "b", "c"))
    assert [log.job.id for log in logs] == ["6909118", "4478544"]
    (sentence,) = left_out
    assert sentence == f"{tmp_path}/b.darshan is left out: PyDarshan crashed on it (signal 11)"


def test_the_same_log_twice_counts_once() -> None:
    twice = answer("\n".join([ANSWERS[0]] * 2))
    logs, _ = read_logs(FakeRunner({IMPORT: answer(), READ: twice}), "py", [DATA, DATA])
    assert len(logs) == 1


def test_a_reader_that_ends_with_a_message_is_quoted(tmp_path: Path) -> None:
    failed = answer("", "Traceback\nMemoryError: \x1bno room\n", 1)
    _, left_out = read_logs(
        FakeRunner({IMPORT: answer(), READ: failed}), "py", paths(tmp_path, "a")
    )
    (sentence,) = left_out
    assert sentence.endswith("ended with 1: MemoryError: \N{REPLACEMENT CHARACTER}no room")


def test_a_log_that_takes_too_long_is_left_out(tmp_path: Path) -> None:
    slow = Completed((), -15, "", "", 80.0, timed_out=True)
    logs, left_out = read_logs(
        FakeRunner({IMPORT: answer(), READ: slow}), "py", paths(tmp_path, "a")
    )
    assert logs == []
    assert "took too long" in left_out[0]


def test_a_log_with_endless_output_is_left_out(tmp_path: Path) -> None:
    def endless(argv: tuple[str, ...]) -> Completed:
        if argv[-1].endswith("b.darshan"):
            raise ToolError("py printed more than 512 MiB and was ended")
        return answer(f"{ANSWERS[0]}\n")

    run = FakeRunner({IMPORT: answer(), READ: endless})
    logs, left_out = read_logs(run, "py", paths(tmp_path, "a", "b"))
    assert len(logs) == 1
    assert left_out == [
        f"{tmp_path}/b.darshan is left out: py printed more than 512 MiB and was ended"
    ]


def test_a_python_without_pydarshan_is_named_with_the_remedy() -> None:
    missing = answer("", "Traceback\nModuleNotFoundError: No module named 'darshan'\n", 1)
    with pytest.raises(ToolError, match=r"py has no PyDarshan .* --python"):
        read_logs(FakeRunner({IMPORT: missing}), "py", [])


def test_only_regular_files_are_opened(tmp_path: Path) -> None:
    log, *odd = paths(tmp_path, "log", "fifo", "link")
    log.write_bytes(b"x")
    os.mkfifo(odd[0])
    odd[1].symlink_to(log)
    files, left_out = find_logs([str(tmp_path)], 0.0)
    assert files == [log]
    assert len(left_out) == 2


def test_older_logs_are_not_read(tmp_path: Path) -> None:
    (old, new) = paths(tmp_path, "old", "new")
    for path, at in ((old, 1000), (new, 3000)):
        path.write_bytes(b"x")
        os.utime(path, (at, at))
    assert find_logs([str(tmp_path)], 2000.0)[0] == [new]


def test_a_missing_log_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="cannot be read"):
        find_logs([str(tmp_path / "none")], 0.0)
