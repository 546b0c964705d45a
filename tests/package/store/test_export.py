"""Export of a history to a console by a reader without write permission, even during runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from uuid import uuid4

import pytest

from plumbline.model.errors import StoreError
from plumbline.model.exchange import Cursor, Request
from plumbline.model.series import Process, Running
from plumbline.store.export import MAX_BYTES, extract
from plumbline.store.history import History
from tests.package.records import record
from tests.processes import may_act_for_others

SRC = str(Path(__file__).parents[3] / "src")
NOBODY = 65534
READ = """
import sys
from pathlib import Path
from plumbline.model.exchange import Cursor, Request
from plumbline.model.series import Process
from plumbline.model.series import Running
from plumbline.store.export import extract
answer = extract(Path(sys.argv[1]), Request(Cursor(), 500))
print(len(answer.rows), len(answer.running))
"""


def fill(path: Path, count: int, **changes: object) -> list[str]:
    ids = [uuid4().hex for _ in range(count)]
    with History(path) as history:
        for name in ids:
            history.save(record(id=name, **changes))
    return ids


def test_records_come_in_order_after_the_cursor(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    ids = fill(path, 5)
    first = extract(path, Request(Cursor(), 2))
    assert ([seq for seq, _ in first.rows], first.more, first.again) == ([1, 2], True, False)
    rest = extract(path, Request(Cursor(2, ids[1]), 3))
    assert [json.loads(body)["id"] for _, body in rest.rows] == ids[2:]
    assert not rest.more


def test_a_request_since_a_moment_gets_only_later_records(
    tmp_path: Path,
) -> None:
    path = tmp_path / "history.sqlite"
    fill(path, 3, started_at=100.0)
    new = fill(path, 3, started_at=200.0)
    first = extract(path, Request(Cursor(), 2, 150.0))
    assert [json.loads(body)["id"] for _, body in first.rows] == new[:2]
    assert first.more
    rest = extract(path, Request(Cursor(first.rows[-1][0], new[1]), 2, 150.0))
    assert [json.loads(body)["id"] for _, body in rest.rows] == new[2:]
    assert (rest.more, rest.again) == (False, False)


@pytest.mark.parametrize("cursor", [Cursor(2, "another"), Cursor(9, "later")])
def test_a_cursor_of_another_history_begins_with_the_first_record(
    tmp_path: Path, cursor: Cursor
) -> None:
    fill(tmp_path / "history.sqlite", 3)
    answer = extract(tmp_path / "history.sqlite", Request(cursor, 10))
    assert (answer.again, len(answer.rows)) == (True, 3)


@pytest.mark.slow
def test_large_records_come_in_several_answers(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    fill(path, 3, profile=(123456789.123,) * (MAX_BYTES // 28))
    answer = extract(path, Request(Cursor(), 500))
    assert (len(answer.rows), answer.more) == (1, True)


def test_a_missing_history_is_empty(tmp_path: Path) -> None:
    assert extract(tmp_path / "none.sqlite", Request(Cursor(), 5)).rows == ()
    assert extract(tmp_path / "none.sqlite", Request(Cursor(4, "x"), 5)).again


def test_a_file_that_is_no_database_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "x.sqlite").write_text("this is no database at all, but a text of some length")
    with pytest.raises(StoreError, match=r"cannot be read by user id .* see that"):
        extract(tmp_path / "x.sqlite", Request(Cursor(), 5))


def as_stranger(path: Path) -> str:
    """Read as another user in the group of the file."""
    done = subprocess.run(
        [sys.executable, "-c", READ, str(path)],
        user=NOBODY,
        group=os.stat(path).st_gid,
        extra_groups=[],
        env={"PYTHONPATH": SRC},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


needs_root = pytest.mark.skipif(
    not may_act_for_others(), reason="only root can become another user"
)


@pytest.fixture
def shared(open_path: Path) -> Path:
    """Return a path for a history in a folder that its group can read and not write."""
    open_path.chmod(0o750)
    return open_path / "history.sqlite"


@needs_root
def test_a_closed_history_is_read_without_write_permission(shared: Path) -> None:
    fill(shared, 7)
    assert not shared.with_name("history.sqlite-wal").exists()
    assert as_stranger(shared) == "7 0\n"
    assert sorted(path.name for path in shared.parent.iterdir()) == ["history.sqlite"]


@needs_root
def test_fresh_records_are_read_without_write_permission(shared: Path) -> None:
    fill(shared, 3)
    with History(shared) as history:
        history.save(record(id="fresh"))
        assert shared.with_name("history.sqlite-wal").exists()
        assert as_stranger(shared) == "4 0\n"


@needs_root
def test_records_in_the_log_of_a_killed_run_are_read(shared: Path) -> None:
    code = "import os, sys; from pathlib import Path; from tests.package.store.test_export import *"
    code += "; h = History(Path(sys.argv[1])); h.save(record(id='last')); os._exit(9)"
    root = str(Path(__file__).parents[3])
    subprocess.run(
        [sys.executable, "-c", code, str(shared)],
        env={**os.environ, "PYTHONPATH": f"{SRC}:{root}"},
        check=False,
    )
    assert shared.with_name("history.sqlite-wal").stat().st_size
    assert as_stranger(shared) == "1 0\n"


@pytest.mark.slow
def test_reading_while_a_run_writes_loses_no_record(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    fill(path, 1)
    writer = threading.Thread(target=lambda: [fill(path, 3) for _ in range(40)])
    writer.start()
    cursor, seen = Cursor(), []
    while writer.is_alive() or extract(path, Request(cursor, 5)).rows:
        answer = extract(path, Request(cursor, 5))
        assert not answer.again
        for seq, body in answer.rows:
            cursor = Cursor(seq, json.loads(body)["id"])
            seen.append(seq)
    writer.join()
    assert seen == list(range(1, 122))


DISK, TARGET = Running("raw", "disk", 5.0), Running("ost", "OST0", 7.0)


def test_an_interrupted_measurement_does_not_count_as_running(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    dead = Process(1, 1, "another boot", "00:00:0")
    with History(path) as history:
        history.begin("run-1", DISK)
        history.begin("run-2", TARGET)
        history.begin("run-3", Running("ost", "OST1", 8.0, dead))
        assert extract(path, Request(Cursor(), 10)).running == (TARGET, DISK)
        history.interrupt("raw", "disk")
        assert extract(path, Request(Cursor(), 10)).running == (TARGET,)
