"""The text of a record in few bytes comes back as it was, and damage is seen."""

from __future__ import annotations

import json
import zlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from plumbline.store.database import deflated, inflated
from tests.package.records import record

TEXT = json.dumps(record().to_json(), separators=(",", ":"))


@given(st.text(st.characters(exclude_categories=["Cs"])))
@example("")
@example(TEXT)
def test_text_comes_back_whether_it_was_deflated_or_not(text: str) -> None:
    assert inflated(deflated(text)) == text
    assert inflated(text) == text


def test_a_record_takes_a_third_of_its_bytes_at_most() -> None:
    assert len(deflated(TEXT)) < len(TEXT) / 3


def test_histories_that_earlier_versions_wrote_can_still_be_read() -> None:
    """Another dictionary would make all of them unreadable."""
    kept = "78f9bc46df9dc3cca879a9e54ab5005777071e"
    assert inflated(bytes.fromhex(kept)) == '{"schema":1,"id":"new"}'


@pytest.mark.parametrize("place", range(len(deflated(TEXT))))
def test_damage_is_seen(place: int) -> None:
    kept = deflated(TEXT)
    assert inflated(kept[:place]) == ""
    for bit in range(8):
        flipped = bytes([kept[place] ^ 1 << bit])
        assert inflated(kept[:place] + flipped + kept[place + 1 :]) in ("", TEXT)


@pytest.mark.parametrize(
    "kept", [b"", b"{}", zlib.compress(b"{}", 9)[:-1], zlib.compress(bytes(80 << 20))]
)
def test_what_is_no_record_is_empty(kept: bytes) -> None:
    assert inflated(kept) == ""
