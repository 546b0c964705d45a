from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.parallel.terms import assign, readers, spread

ALL = tuple[list[str], list[str]]


@st.composite
def runs(draw: st.DrawFn) -> ALL:
    servers = draw(st.lists(st.sampled_from("ABCDE"), min_size=1, max_size=24))
    count = len(servers)
    clients = draw(st.lists(st.sampled_from("wxyz"), min_size=count, max_size=count))
    return servers, clients


def avoidable(servers: list[str], clients: list[str]) -> bool:
    """Gale and Ryser: columns of given sums fit into rows of given sums, all entries 0 or 1."""
    wanted = sorted(Counter(servers).values(), reverse=True)
    free = Counter(clients).values()
    return all(
        sum(wanted[:k]) <= sum(min(k, ranks) for ranks in free) for k in range(1, len(wanted) + 1)
    )


@given(runs())
def test_each_rank_has_a_place_of_its_own(run: ALL) -> None:
    assert sorted(assign(*run)) == list(range(len(run[0])))


@pytest.mark.slow
@given(runs())
def test_no_two_ranks_of_a_client_share_a_server_where_that_can_be_avoided(run: ALL) -> None:
    servers, clients = run
    pairs = Counter(
        (client, servers[place]) for client, place in zip(clients, assign(servers, clients))
    )
    assert (max(pairs.values()) == 1) == avoidable(servers, clients)


@given(st.lists(st.sampled_from("ABC"), min_size=1, max_size=24), st.integers(1, 4))
def test_with_equal_clients_no_server_has_more_than_its_share_of_one(
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
def test_a_rank_reads_what_another_client_wrote_where_there_is_one(clients: list[str]) -> None:
    own = sum(clients[rank] == clients[other] for rank, other in enumerate(readers(clients)))
    largest = max(Counter(clients).values())
    # of a client with more than half of all ranks, some must read what it wrote itself
    assert own == max(0, 2 * largest - len(clients))


def test_on_one_client_a_rank_reads_what_another_rank_wrote() -> None:
    assert readers(["w"] * 3) == (1, 2, 0)
    assert readers(["w"]) == (0,)


def test_places_and_ranks_must_be_as_many() -> None:
    with pytest.raises(ValueError, match="2 places for 1 ranks"):
        assign(["A", "B"], ["w"])


def test_clients_get_equal_shares_and_the_first_ones_one_more() -> None:
    assert spread(8, 2) == (4, 4)
    assert spread(5, 3) == (2, 2, 1)
    assert spread(1, 2) == (1, 0)
