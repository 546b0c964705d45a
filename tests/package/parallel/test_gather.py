from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.parallel.operation import ReadAhead, WriteBehind
from plumbline.parallel.profile import Calls
from plumbline.parallel.terms import Aggregation

AGGREGATIONS = st.builds(Aggregation, st.integers(1, 3), st.integers(1, 50))


class Sink:
    """Takes what is written, a part at a time where it is told to."""

    def __init__(self, at_most: int = 1000) -> None:
        self.content = b""
        self._at_most = at_most

    def write(self, view: memoryview) -> int:
        part = bytes(view[: self._at_most])
        self.content += part
        return len(part)


class Source:
    """Gives what is read."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def read(self, view: memoryview) -> int:
        part = self.content[: len(view)]
        self.content = self.content[len(part) :]
        view[: len(part)] = part
        return len(part)


@given(AGGREGATIONS, st.integers(1, 30), st.binary(max_size=300), st.integers(1, 1000))
def test_what_goes_through_buffers_arrives_whole_and_in_order(
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
def test_what_is_read_ahead_is_handed_out_whole_and_in_order(
    aggregation: Aggregation, transfer: int, content: bytes
) -> None:
    line = ReadAhead(Source(content).read, aggregation, Calls(400), len(content))
    landing, got = memoryview(bytearray(transfer)), b""
    while size := line.get([landing]):
        got += bytes(landing[:size])
    line.close()
    assert got == content


def test_the_file_system_sees_few_large_calls() -> None:
    sink, calls = Sink(10**9), Calls(100)
    line = WriteBehind(sink.write, Aggregation(1, 1_000_000), calls)
    for _ in range(300):
        line.put(memoryview(bytes(10_000)))
    line.close()
    assert list(calls.sizes[: calls.count]) == [1_000_000] * 3


def test_no_more_is_read_ahead_than_was_asked_for() -> None:
    source = Source(b"x" * 100)
    line = ReadAhead(source.read, Aggregation(2, 30), Calls(10), 50)
    assert line.get([memoryview(bytearray(50))]) == 50
    line.close()
    assert len(source.content) == 50


@pytest.mark.parametrize("buffers", [1, 2])
def test_an_error_of_a_write_reaches_whoever_fills_the_buffers(buffers: int) -> None:
    def full(view: memoryview) -> int:
        raise OSError(28, "No space left on device")

    line = WriteBehind(full, Aggregation(buffers, 10), Calls(10))

    def fill() -> None:
        for _ in range(5):
            line.put(memoryview(bytes(10)))
        line.close()

    with pytest.raises(OSError, match="No space"):
        fill()
