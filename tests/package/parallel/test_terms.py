"""The terms of a parallel run: in words, in time, and what does not go together."""

from __future__ import annotations

import pytest

from plumbline.parallel.terms import Names, RunSize, contradiction, limit_s, named_test, pattern

NAMES = Names("--bytes", "--transfer", "--direct")


def test_a_run_in_words_tells_test_crowd_and_buffers() -> None:
    assert pattern(named_test("ost"), RunSize(8, 4, 2), "data") == (
        "ost, fixed data, 8 ranks on 4 targets, 2 clients"
    )
    assert pattern(named_test("posix-fpp-10k"), RunSize(1, 1, 1), "time").endswith(
        "1 clients, 2 buffers of 33554432 bytes"
    )


@pytest.mark.parametrize(("seconds", "limit"), [(10, 60 + 3 * 70), (100, 60 + 3 * 200)])
def test_every_operation_has_its_time_and_as_much_to_drain(seconds: float, limit: float) -> None:
    assert limit_s(seconds, 3) == limit


@pytest.mark.parametrize(
    ("test", "transfer", "rank_bytes", "direct", "said"),
    [
        ("ost", 1 << 20, 1 << 30, True, ""),
        ("posix-fpp-1m2", 1 << 20, 1 << 30, True, ""),
        # the last of its buffers, filled in part, would not be whole blocks
        ("posix-fpp-10k", 10_000, 1 << 30, True, "do without it, or choose another --transfer"),
        ("posix-fpp-1m1", 1_000_000, 1 << 30, True, "--direct needs transfers and buffers"),
        ("mpiio-shared-1m2", 1 << 20, 1 << 30, False, ""),
        ("ost", 1 << 20, 1000, False, "raise --bytes"),
        ("ost", 1, 1 << 30, False, "of memory; lower --bytes, or raise --transfer"),
        ("ost", 10_000, 1 << 30, True, "--direct needs transfers and buffers of whole 4096 bytes"),
        ("mpiio-shared-1m2", 1 << 20, 1 << 30, True, "has no --direct"),
    ],
)
def test_what_does_not_go_together_names_what_to_change(
    test: str, transfer: int, rank_bytes: int, direct: bool, said: str
) -> None:
    method = named_test(test)._replace(transfer=transfer)
    trouble = contradiction(method, rank_bytes, direct=direct, names=NAMES)
    assert said in trouble
    assert bool(trouble) is bool(said)
