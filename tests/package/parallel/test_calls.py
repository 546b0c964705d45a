from __future__ import annotations

import pytest

from plumbline.model.errors import DocumentError
from plumbline.parallel.profile import CALL_BYTES, MAGIC, Block, Calls, pack, unpack


def filled(*calls: tuple[float, float, int]) -> Calls:
    kept = Calls(len(calls) + 2)
    for call in calls:
        kept.add(*call)
    return kept


def blocks() -> list[Block]:
    return [
        Block(0, "client1", "a", "write", filled((0.0, 0.25, 10_000), (0.25, 1.5, 0))),
        Block(1, "client2", "b", "write", filled((0.125, 0.5, 1 << 20))),
    ]


def test_a_file_gives_back_what_was_written_into_it() -> None:
    profile = unpack(pack({"run_id": "run-1", "test": "ost"}, blocks()))
    assert profile.about == {"run_id": "run-1", "test": "ost"}
    first, second = profile.blocks
    assert first[:4] == (0, "client1", "a", "write")
    assert list(first.calls.starts) == [0.0, 0.25]
    assert list(first.calls.durations) == [0.25, 1.5]
    assert list(first.calls.sizes) == [10_000, 0]
    assert (second.calls.count, second.calls.bytes) == (1, 1 << 20)


def test_the_file_is_laid_out_as_its_page_says() -> None:
    """The bytes are checked by hand, so that a reader in another language can be written."""
    data = pack({}, blocks()[1:])
    length = int.from_bytes(data[20:28], "little")
    assert data[:20] == MAGIC == b"plumbline profile 1\n"
    calls = data[28 + length :]
    assert calls.hex() == "000000000000c03f" + "0000003f" + "00001000"
    assert len(calls) == CALL_BYTES


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda data: b"", "no call profile"),
        (lambda data: data[:24], "no call profile"),
        (lambda data: b"x" + data[1:], "no call profile"),
        (lambda data: data[:-1], "was cut or changed"),
        (lambda data: data + b"x", "was cut or changed"),
        (lambda data: data[:30] + b"\xff" + data[31:], "header"),
        (lambda data: data[:60], "header"),
        (lambda data: data.replace(b'"ranks"', b'"rinks"'), "header"),
    ],
)
def test_a_damaged_file_is_refused(damage: object, sentence: str) -> None:
    assert callable(damage)
    with pytest.raises(DocumentError, match=sentence):
        unpack(damage(pack({}, blocks())))


def test_there_is_no_place_for_more_calls_than_were_asked_for() -> None:
    calls = Calls(1)
    calls.add(0.0, 1.0, 1)
    with pytest.raises(IndexError):
        calls.add(1.0, 1.0, 1)
    assert (calls.count, calls.bytes) == (1, 1)
