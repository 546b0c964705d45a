"""Which rank works on which place, and whose place it reads.

Two rules: the ranks of one client that write share a server only where that cannot be avoided, and
what a rank reads was written by another client wherever there is one.
"""

from __future__ import annotations

from typing import NamedTuple, Sequence


class Place(NamedTuple):
    """What one rank works on: a part of a file, which starts at ``offset`` bytes.

    ``server`` is what the target shares with others: its server, or the target itself where that
    is not known.  Ranks with the same ``path`` share the file.
    """

    target: str
    server: str
    path: str
    offset: int = 0


def spread(ranks: int, clients: int) -> tuple[int, ...]:
    """Return how many ranks each client gets, as equal as can be, the first ones one more."""
    each, more = divmod(ranks, clients)
    return tuple(each + (index < more) for index in range(clients))


def assign(servers: Sequence[str], clients: Sequence[str]) -> tuple[int, ...]:
    """Return for each rank the index of its place, one to one.

    ``servers`` names the server of each place, ``clients`` the client of each rank; there are as
    many of the one as of the other.  Server by server, places go to the clients that have the most
    ranks left: that is the construction of Gale and Ryser, which finds an assignment without two
    ranks of a client on one server whenever there is one.
    """
    if len(servers) != len(clients):
        raise ValueError(f"{len(servers)} places for {len(clients)} ranks")
    free = {client: [r for r, c in enumerate(clients) if c == client] for client in clients}
    places = [0] * len(clients)
    for waiting in _by_server(servers):
        while waiting:
            most_left = sorted(free, key=lambda client: -len(free[client]))
            for client in [client for client in most_left if free[client]][: len(waiting)]:
                places[free[client].pop(0)] = waiting.pop(0)
    return tuple(places)


def _by_server(servers: Sequence[str]) -> list[list[int]]:
    found: dict[str, list[int]] = {}
    for index, server in enumerate(servers):
        found.setdefault(server, []).append(index)
    # those with the most places first: what is left for the last ones is then easy to part
    return sorted(found.values(), key=len, reverse=True)


def readers(clients: Sequence[str]) -> tuple[int, ...]:
    """Return for each rank the rank whose place it reads, one to one.

    With ranks in order of their clients, a shift by the largest client's ranks leads to another
    client, if no client has more than half of all ranks; with one client, to another rank.
    """
    counts = {client: clients.count(client) for client in dict.fromkeys(clients)}
    order = sorted(range(len(clients)), key=lambda rank: (-counts[clients[rank]], clients[rank]))
    shift = 1 if len(counts) == 1 else max(counts.values(), default=0)
    read = [0] * len(clients)
    for index, rank in enumerate(order):
        read[rank] = order[(index + shift) % len(order)]
    return tuple(read)
