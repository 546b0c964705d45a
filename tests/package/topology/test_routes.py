"""Routes over linked parts; missing and ambiguous ones are refused."""

from __future__ import annotations

import pytest

from plumbline.model.errors import DocumentError
from plumbline.topology.graph import find_routes, join

FEEDS = {"net": (), "a": ("net",), "b": ("net",), "shared": ("a", "b"), "disk": ("shared",)}


def test_all_routes_to_the_network_are_found() -> None:
    routes = find_routes(FEEDS, {})
    assert routes["disk"] == (("disk", "shared", "a", "net"), ("disk", "shared", "b", "net"))


def test_through_chooses_one_route() -> None:
    assert find_routes(FEEDS, {"disk": ("b",)})["disk"] == (("disk", "shared", "b", "net"),)


def test_through_a_part_on_no_route_is_refused() -> None:
    with pytest.raises(DocumentError, match="no way of a to the network leads through b"):
        find_routes(FEEDS, {"a": ("b",)})


def test_too_many_routes_are_refused() -> None:
    feeds: dict[str, tuple[str, ...]] = {"net": ()}
    last: tuple[str, ...] = ("net",)
    for level in range(9):
        pair = (f"a{level}", f"b{level}")
        feeds.update(dict.fromkeys(pair, last))
        last = pair
    feeds["disk"] = last
    with pytest.raises(DocumentError, match="more than 256 ways to the network; choose"):
        find_routes(feeds, {})


@pytest.mark.slow
def test_an_absurdly_long_route_is_refused_before_memory_runs_out() -> None:
    feeds: dict[str, tuple[str, ...]] = {"part0": ()}
    feeds.update((f"part{i}", (f"part{i - 1}",)) for i in range(1, 20_000))
    with pytest.raises(DocumentError, match="way of part100 to the network leads over 101 parts"):
        find_routes(feeds, {})


@pytest.mark.slow
def test_absurdly_many_routes_are_refused_before_memory_runs_out() -> None:
    feeds: dict[str, tuple[str, ...]] = {"net": ()}
    last: tuple[str, ...] = ("net",)
    for level in range(8):
        pair = (f"a{level}", f"b{level}")
        feeds.update(dict.fromkeys(pair, last))
        last = pair
    feeds.update((f"disk{number}", last) for number in range(20_000))
    with pytest.raises(DocumentError, match="have more than 3000000 parts together; choose some"):
        find_routes(feeds, {})


def test_a_path_turns_at_the_first_common_part() -> None:
    near = [("client", "leaf", "spine")]
    assert join(near, [("disk", "oss", "leaf", "spine")]) == ("client", "leaf", "oss", "disk")
    assert join([("oss", "leaf")], [("disk", "oss", "leaf")]) == ("oss", "disk")


def test_unconnected_ends_are_refused() -> None:
    with pytest.raises(DocumentError, match="disk is not connected to client"):
        join([("client", "ethernet")], [("disk", "oss", "infiniband")])


def test_several_paths_are_refused_with_their_difference() -> None:
    far = [("disk", "port1", "net"), ("disk", "port2", "net")]
    with pytest.raises(DocumentError, match="2 ways, by port1 or by port2; choose with through"):
        join([("client", "net")], far)
