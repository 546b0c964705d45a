from __future__ import annotations

import pytest

from plumbline.model.errors import UsageError
from plumbline.parallel.terms import MIB, TESTS, named_test, share_of_memory


@pytest.mark.parametrize(
    ("name", "transfer", "api", "shared", "hints"),
    [
        ("posix-fpp-10k", 10_000, "posix", False, {}),
        ("posix-fpp-1m1", 1_000_000, "posix", False, {}),
        ("posix-fpp-1m2", 1_048_576, "posix", False, {}),
        ("mpiio-shared-10k", 10_000, "mpiio", True, "disable"),
        ("mpiio-shared-1m1", 1_000_000, "mpiio", True, "enable"),
        ("mpiio-shared-1m2", 1_048_576, "mpiio", True, "enable"),
    ],
)
def test_the_six_tests_are_those_of_table_2(
    name: str, transfer: int, api: str, shared: bool, hints: object
) -> None:
    test = named_test(name)
    assert (test.name, test.transfer, test.api, test.shared) == (name, transfer, api, shared)
    assert set(test.hints.values()) == ({hints} if hints else set())
    assert set(test.hints) == ({"romio_cb_read", "romio_cb_write"} if hints else set())
    assert test.stripe_bytes == (4 if hints == "enable" else 1) * MIB


def test_the_small_shared_test_gathers_in_memory_what_the_large_ones_leave_to_mpi() -> None:
    small, large = named_test("mpiio-shared-10k"), named_test("mpiio-shared-1m1")
    assert (small.collective, small.aggregation) == (False, (1, 1_000_000))
    assert (large.collective, large.aggregation) == (True, None)


def test_the_five_minute_test_moves_a_mebibyte_at_a_time_and_gathers_nothing() -> None:
    assert TESTS["ost"]._replace(name="") == (
        "",
        1 << 20,
        "posix",
        False,
        1 << 20,
        False,
        {},
        None,
    )


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="posix-fpp-10k, posix-fpp-1m1"):
        named_test("posix")


def test_a_client_moves_one_and_a_half_times_its_memory() -> None:
    edison = share_of_memory(64 * 10**9, 24)
    assert edison == 4 * 10**9
    assert share_of_memory(64 * 10**9, 24, 0.5) * 24 == pytest.approx(32 * 10**9)
