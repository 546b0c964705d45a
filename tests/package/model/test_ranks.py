"""Terms of a parallel run: tests, places of ranks, and contradictions."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.model.errors import UsageError
from plumbline.model.ranks import (
    MIB,
    TESTS,
    Names,
    RunSize,
    assign,
    contradiction,
    limit_s,
    named_test,
    pattern,
    readers,
    share_of_memory,
    spread,
)
from tests.package.recorded import table

FILE = table("terms.yml")

NAMES = Names("--bytes", "--transfer", "--direct")


def test_the_words_for_a_run_name_test_ranks_and_buffers() -> None:
    assert pattern(named_test("ost"), RunSize(8, 4, 2), "data") == (
        "ost, fixed data, 8 ranks on 4 targets, 2 clients"
    )
    assert pattern(named_test("posix-fpp-10k"), RunSize(1, 1, 1), "time").endswith(
        "1 clients, 2 buffers of 33554432 bytes"
    )


@pytest.mark.parametrize(("seconds", "limit"), [(10, 60 + 3 * 70), (100, 60 + 3 * 200)])
def test_each_operation_has_its_time_and_as_much_again_to_drain(
    seconds: float, limit: float
) -> None:
    assert limit_s(seconds, 3) == limit


@pytest.mark.parametrize(
    ("test", "transfer", "rank_bytes", "direct", "sentence"), FILE["contradictions"]
)
def test_contradicting_terms_name_the_option_to_change(
    test: str, transfer: int, rank_bytes: int, direct: bool, sentence: str
) -> None:
    method = named_test(test)._replace(transfer=transfer)
    trouble = contradiction(method, rank_bytes, direct=direct, names=NAMES)
    assert sentence in trouble
    assert bool(trouble) is bool(sentence)


@pytest.mark.parametrize(("name", "transfer", "api", "shared", "hints"), FILE["tests"])
def test_the_six_tests_are_those_of_table_2(
    name: str, transfer: int, api: str, shared: bool, hints: object
) -> None:
    test = named_test(name)
    assert (test.name, test.transfer, test.api, test.shared) == (name, transfer, api, shared)
    assert set(test.hints.values()) == ({hints} if hints else set())
    assert set(test.hints) == ({"romio_cb_read", "romio_cb_write"} if hints else set())
    assert test.stripe_bytes == (4 if hints == "enable" else 1) * MIB


def test_the_small_shared_test_aggregates_in_memory_and_the_large_ones_in_mpi() -> None:
    small, large = named_test("mpiio-shared-10k"), named_test("mpiio-shared-1m1")
    assert (small.collective, small.aggregation) == (False, (1, 1_000_000))
    assert (large.collective, large.aggregation) == (True, None)


def test_the_five_minute_test_moves_single_mebibytes_without_aggregation() -> None:
    assert TESTS["ost"]._replace(name="") == (
        "",
        1 << 20,
        "posix",
        False,
        1 << 20,
        False,
        {},
        None,
        1,
    )


def test_an_unknown_test_is_refused_with_the_known_names() -> None:
    with pytest.raises(UsageError, match="posix-fpp-10k, posix-fpp-1m1"):
        named_test("posix")


def test_a_client_moves_one_and_a_half_times_its_memory() -> None:
    assert share_of_memory(64 * 10**9, 24) == 4 * 10**9


ALL = tuple[list[str], list[str]]


@st.composite
def runs(draw: st.DrawFn) -> ALL:
    servers = draw(st.lists(st.sampled_from("ABCDE"), min_size=1, max_size=24))
    count = len(servers)
    clients = draw(st.lists(st.sampled_from("wxyz"), min_size=count, max_size=count))
    return servers, clients


def avoidable(servers: list[str], clients: list[str]) -> bool:
    """Apply Gale and Ryser: is there a matrix of 0 and 1 with these sums of rows and columns?"""
    sums = sorted(Counter(servers).values(), reverse=True)
    free = Counter(clients).values()
    return all(
        sum(sums[:k]) <= sum(min(k, ranks) for ranks in free) for k in range(1, len(sums) + 1)
    )


@given(runs())
def test_each_rank_has_a_place_of_its_own(run: ALL) -> None:
    assert sorted(assign(*run)) == list(range(len(run[0])))


@pytest.mark.slow
@given(runs())
def test_two_ranks_of_a_client_share_a_server_only_if_unavoidable(run: ALL) -> None:
    servers, clients = run
    pairs = Counter(
        (client, servers[place]) for client, place in zip(clients, assign(servers, clients))
    )
    assert (max(pairs.values()) == 1) == avoidable(servers, clients)


@given(st.lists(st.sampled_from("ABC"), min_size=1, max_size=24), st.integers(1, 4))
def test_with_equal_clients_no_client_has_more_than_its_share_of_a_server(
    servers: list[str], clients: int
) -> None:
    servers = servers * clients
    ranks = [f"client{rank % clients}" for rank in range(len(servers))]
    pairs = Counter(
        (client, servers[place]) for client, place in zip(ranks, assign(servers, ranks))
    )
    for (_, server), count in pairs.items():
        assert count <= -(-servers.count(server) // clients)


@given(st.lists(st.sampled_from("wxyz"), min_size=1, max_size=24))
def test_each_place_is_read_once(clients: list[str]) -> None:
    assert sorted(readers(clients)) == list(range(len(clients)))


@given(st.lists(st.sampled_from("wxyz"), min_size=1, max_size=24))
def test_a_rank_reads_the_file_of_another_client_if_possible(clients: list[str]) -> None:
    own = sum(clients[rank] == clients[other] for rank, other in enumerate(readers(clients)))
    largest = max(Counter(clients).values())
    # a client with more than half of all ranks must read some of its own files
    assert own == max(0, 2 * largest - len(clients))


def test_on_a_single_client_a_rank_reads_the_file_of_another_rank() -> None:
    assert readers(["w"] * 3) == (1, 2, 0)
    assert readers(["w"]) == (0,)


def test_the_numbers_of_places_and_ranks_must_be_equal() -> None:
    with pytest.raises(ValueError, match="2 places for 1 ranks"):
        assign(["A", "B"], ["w"])


def test_clients_get_equal_shares_and_the_first_take_the_remainder() -> None:
    assert spread(8, 2) == (4, 4)
    assert spread(5, 3) == (2, 2, 1)
    assert spread(1, 2) == (1, 0)
