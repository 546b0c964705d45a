"""One operation of a rank: loops of calls, files, and buffers."""

from __future__ import annotations

import os
import tracemalloc
from functools import partial
from itertools import repeat
from pathlib import Path
from time import monotonic
from typing import Any, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.model.errors import ToolError
from plumbline.model.profile import Calls
from plumbline.model.ranks import Aggregation, Method
from plumbline.model.record import Operation
from plumbline.parts.parallel.job import Job, State
from plumbline.parts.parallel.operation import (
    Attempt,
    Move,
    Notes,
    PosixFile,
    ReadAhead,
    Work,
    WriteBehind,
    brief_of,
    landing,
    recorded,
    result_of,
    sources,
    unrecorded,
)

CALLS = 1000
RANK = (3, "client1", "OST0003")


def test_the_brief_result_equals_the_full_one_without_its_curve(tmp_path: Path) -> None:
    """A rank that is being ended may have no time for the full result."""
    path = tmp_path / "file"
    path.touch()
    test = Method("simple", 4096)
    job = Job(str(tmp_path), test, (Operation.WRITE,), (), CALLS * 4096, 20.0)
    file = PosixFile(str(path), 0, write=True, direct=False)
    work = Work(RANK, Operation.WRITE, job, CALLS, bool)
    attempt = Attempt(work, file)
    attempt.make(monotonic())
    file.close()
    brief = brief_of(work, attempt)
    whole = result_of(work, attempt)
    assert brief == whole._replace(curve=(), durations=None)
    assert (brief.bytes, brief.state) == (CALLS * 4096, State.DONE)
    assert 0 <= brief.begin_s < brief.end_s
    assert sum(whole.curve) == brief.bytes


# --- A rank opens the file that was made for it and nothing in its place


@pytest.mark.parametrize("write", [True, False])
def test_a_link_in_place_of_the_file_is_not_followed(tmp_path: Path, write: bool) -> None:
    (tmp_path / "precious").write_bytes(b"precious")
    (tmp_path / "probe.dat").symlink_to("precious")
    with pytest.raises(OSError, match="no plain file with one name"):
        PosixFile(str(tmp_path / "probe.dat"), 0, write=write, direct=False)
    assert (tmp_path / "precious").read_bytes() == b"precious"


def test_writing_begins_at_the_offset_and_leaves_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "probe.dat"
    path.write_bytes(b"........")
    file = PosixFile(str(path), 4, write=True, direct=False)
    assert file.put(memoryview(b"abc")) == 3
    file.sync()
    file.close()
    assert path.read_bytes() == b"....abc."
    assert os.listdir(tmp_path) == ["probe.dat"]


FOREVER = float("inf")


def test_each_call_is_recorded_with_its_time_and_bytes(tmp_path: Path) -> None:
    calls = Calls(5)
    file = PosixFile(str(sparse(tmp_path, 500)), 0, write=True, direct=False)
    began = monotonic()
    noted(file.put, sources(100, direct=False), 5, calls, FOREVER)
    assert (calls.count, list(calls.sizes)) == (5, [100] * 5)
    ends = [start + duration for start, duration in zip(calls.starts, calls.durations)]
    assert began <= calls.starts[0] <= ends[-1] <= monotonic() + 1e-3
    # a call ends when the next one starts
    assert list(calls.starts[1:]) == pytest.approx(ends[:-1], abs=1e-6)


def memory_of_calls() -> tuple[int, int]:
    """Return the bytes that 19,000 calls leak, and the most that they use."""
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
    return after - before, peak - before


def test_a_call_leaks_no_memory() -> None:
    # tracemalloc counts other threads too, such as that of xdist: the minimum is the calls' own
    leaked, peak = map(min, zip(*(memory_of_calls() for _ in range(5))))
    # 16 bytes a call would be 304000
    assert leaked < 2000
    assert peak < 2000


def test_the_loop_ends_with_the_first_call_after_its_deadline() -> None:
    calls = Calls(10)
    noted(lambda view: 1, repeat(b""), 10, calls, monotonic())
    assert calls.count == 1
    unrecorded(lambda view: fail(), repeat(b""), 10, monotonic())


def test_calls_recorded_before_an_error_stay() -> None:
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


def test_a_file_that_ends_early_is_an_error(tmp_path: Path) -> None:
    file = PosixFile(str(sparse(tmp_path, 150)), 0, write=False, direct=False)
    calls = Calls(5)
    with pytest.raises(ToolError, match="the file ended before all its bytes"):
        noted(file.get, repeat([landing(100)]), 5, calls, FOREVER)
    assert list(calls.sizes[: calls.count]) == [100, 50, 0]
    with pytest.raises(ToolError, match="the file ended"):
        unrecorded(file.get, repeat([landing(100)]), 5, FOREVER)


def test_successive_transfers_have_no_block_in_common() -> None:
    for direct in (False, True):
        views = sources(16384, direct)
        blocks = [
            bytes(view[at : at + 4096])
            for view in (next(views), next(views), next(views))
            for at in range(0, 16384, 4096)
        ]
        assert len(set(blocks)) == 12


def test_direct_reads_go_to_whole_buffers() -> None:
    assert len(landing(10_000)) == 10_000
    assert len({len(view) for view in (next(sources(10_000, True)), landing(10_000))}) == 1


def sparse(folder: Path, size: int) -> Path:
    path = folder / "file"
    path.touch()
    os.truncate(path, size)
    return path


AGGREGATIONS = st.builds(Aggregation, st.integers(1, 3), st.integers(1, 50))


class Sink:
    """Accepts writes, at most some bytes at a time."""

    def __init__(self, at_most: int = 1000) -> None:
        self.content = b""
        self._at_most = at_most

    def write(self, view: memoryview) -> int:
        part = bytes(view[: self._at_most])
        self.content += part
        return len(part)


class Source:
    """Serves reads."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def read(self, buffers: list[memoryview]) -> int:
        (view,) = buffers
        part = self.content[: len(view)]
        self.content = self.content[len(part) :]
        view[: len(part)] = part
        return len(part)


@given(AGGREGATIONS, st.integers(1, 30), st.binary(max_size=300), st.integers(1, 1000))
def test_buffered_writes_arrive_complete_and_in_order(
    aggregation: Aggregation, transfer: int, content: bytes, at_most: int
) -> None:
    sink, calls = Sink(at_most), Calls(400)
    line = WriteBehind(sink.write, aggregation, calls)
    for start in range(0, len(content), transfer):
        part = memoryview(content)[start : start + transfer]
        assert line.put(part) == len(part)
    line.close()
    assert sink.content == content
    assert calls.bytes == len(content)
    assert all(size <= aggregation.size for size in calls.sizes[: calls.count])


@given(AGGREGATIONS, st.integers(1, 30), st.binary(max_size=300))
def test_read_ahead_data_is_complete_and_in_order(
    aggregation: Aggregation, transfer: int, content: bytes
) -> None:
    line = ReadAhead(Source(content).read, aggregation, Calls(400), len(content))
    landing, received = memoryview(bytearray(transfer)), b""
    while size := line.get([landing]):
        received += bytes(landing[:size])
    line.close()
    assert received == content


def test_the_file_system_sees_few_large_calls() -> None:
    sink, calls = Sink(10**9), Calls(100)
    line = WriteBehind(sink.write, Aggregation(1, 1_000_000), calls)
    for _ in range(300):
        line.put(memoryview(bytes(10_000)))
    line.close()
    assert list(calls.sizes[: calls.count]) == [1_000_000] * 3


def test_read_ahead_stops_at_the_requested_bytes() -> None:
    source = Source(b"x" * 100)
    line = ReadAhead(source.read, Aggregation(2, 30), Calls(10), 50)
    assert line.get([memoryview(bytearray(50))]) == 50
    line.close()
    assert len(source.content) == 50


@pytest.mark.parametrize("buffers", [1, 2])
def test_a_write_error_reaches_the_writer_of_the_buffers(buffers: int) -> None:
    def full(view: memoryview) -> int:
        raise OSError(28, "No space left on device")

    line = WriteBehind(full, Aggregation(buffers, 10), Calls(10))

    def fill() -> None:
        for _ in range(5):
            line.put(memoryview(bytes(10)))
        line.close()

    with pytest.raises(OSError, match="No space"):
        fill()
