from __future__ import annotations

import os
import tracemalloc
from functools import partial
from itertools import repeat
from pathlib import Path
from time import monotonic
from typing import Any, Iterator

import pytest

from plumbline.model.errors import ToolError
from plumbline.parallel.operation import (
    Move,
    Notes,
    PosixFile,
    Sum,
    bare,
    landing,
    recorded,
    sources,
)
from plumbline.parallel.profile import Calls

FOREVER = float("inf")


def test_every_call_is_noted_with_its_time_and_bytes(tmp_path: Path) -> None:
    calls = Calls(5)
    file = PosixFile(str(sparse(tmp_path, 500)), 0, write=True, direct=False)
    began = monotonic()
    noted(*file.writing(100), 5, calls, FOREVER)
    assert (calls.count, list(calls.sizes)) == (5, [100] * 5)
    ends = [start + took for start, took in zip(calls.starts, calls.durations)]
    assert began <= calls.starts[0] <= ends[-1] <= monotonic() + 1e-3
    # one call's end is the next one's start
    assert list(calls.starts[1:]) == pytest.approx(ends[:-1], abs=1e-6)


def test_a_call_leaves_no_memory_behind() -> None:
    descriptor = os.open(os.devnull, os.O_WRONLY)
    move, buffers = partial(os.write, descriptor), sources(4096, direct=False)
    notes = Notes(Calls(20_000))
    recorded(move, buffers, 100, notes, FOREVER)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        recorded(move, buffers, 19_000, notes, FOREVER)
        after, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        os.close(descriptor)
    # 16 bytes a call would be 304000
    assert after - before < 2000
    assert peak - before < 2000


def test_the_loop_ends_with_the_first_call_after_its_deadline() -> None:
    calls = Calls(10)
    noted(lambda view: 1, repeat(b""), 10, calls, monotonic())
    assert calls.count == 1
    moved = Sum()
    bare(lambda view: 1, repeat(b""), 10, monotonic(), moved)
    assert moved.bytes == 0


def test_what_was_noted_before_an_error_stays() -> None:
    sizes = iter((10, 20))
    calls = Calls(5)
    with pytest.raises(OSError, match="No space"):
        noted(lambda view: next(sizes, None) or fail(), repeat(b""), 5, calls, FOREVER)
    assert (calls.count, calls.bytes) == (2, 30)


def noted(move: Move, buffers: Iterator[Any], count: int, calls: Calls, deadline: float) -> None:
    notes = Notes(calls)
    try:
        recorded(move, buffers, count, notes, deadline)
    finally:
        notes.settle()


def fail() -> int:
    raise OSError(28, "No space left on device")


def test_a_file_that_ends_too_early_is_an_error(tmp_path: Path) -> None:
    file = PosixFile(str(sparse(tmp_path, 150)), 0, write=False, direct=False)
    calls = Calls(5)
    with pytest.raises(ToolError, match="the file ended before all its bytes"):
        noted(*file.reading(100), 5, calls, FOREVER)
    assert list(calls.sizes[: calls.count]) == [100, 50, 0]
    with pytest.raises(ToolError, match="the file ended"):
        bare(*file.reading(100), 5, FOREVER, Sum())


def test_the_bare_loop_moves_as_much(tmp_path: Path) -> None:
    file = PosixFile(str(sparse(tmp_path, 4000)), 0, write=True, direct=False)
    moved = Sum()
    bare(*file.writing(100), 40, FOREVER, moved)
    assert moved.bytes == 4000


def test_no_two_transfers_in_a_row_have_a_block_in_common() -> None:
    for direct in (False, True):
        views = sources(16384, direct)
        blocks = [
            bytes(view[at : at + 4096])
            for view in (next(views), next(views), next(views))
            for at in range(0, 16384, 4096)
        ]
        assert len(set(blocks)) == 12


def test_what_is_read_directly_lands_on_a_page() -> None:
    assert len(landing(10_000)) == 10_000
    assert len({len(view) for view in (next(sources(10_000, True)), landing(10_000))}) == 1


def sparse(folder: Path, size: int) -> Path:
    path = folder / "file"
    path.touch()
    os.truncate(path, size)
    return path
