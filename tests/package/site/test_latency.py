"""Which components of a site are compared with one another by their latency under load."""

from __future__ import annotations

from typing import Mapping, Sequence

from plumbline.judge.latency import Load, Loads
from plumbline.model.expectation import Expectation, Expectations
from plumbline.model.limits import Ceiling, Reference
from plumbline.model.record import Operation
from plumbline.site.latency import latencies
from plumbline.store.plan import SitePlan
from tests.package.judgements import NOW, REFERENCE, expectation

WINDOW_S = 900.0
WINDOWS = 60
SMALLER = Reference(Ceiling(100e6, ("oss3-disk1",), ("disk",)), None)


def ost(name: str, group: str = "scratch", reference: Reference = REFERENCE) -> Expectation:
    """Return a component that has another name than its OST."""
    target = {"kind": "lustre", "mount": f"/{group}", "ost": f"{group}-OST{name}"}
    references = {"write/single": reference}
    return expectation(component=name, group=group, target=target, references=references)


def plan(clients: Mapping[str, Sequence[Expectation]]) -> SitePlan:
    nodes = {
        name: Expectations(name, "lab", tuple(one.to_json() for one in entries))
        for name, entries in clients.items()
    }
    return SitePlan("plan.json", nodes, ())


def loads(entries: Sequence[Expectation], slow: Mapping[str, float]) -> list[Load]:
    return [
        Load(
            NOW + window * WINDOW_S,
            one.target["ost"],
            1e8 * (1 + number / 100),
            0.02 * slow.get(one.component, 1.0),
        )
        for window in range(WINDOWS)
        for number, one in enumerate(entries)
    ]


def suspects(
    clients: Mapping[str, Sequence[Expectation]], slow: Mapping[str, float]
) -> dict[str, list[tuple[str, str]]]:
    entries = [one for found in clients.values() for one in found]
    made = loads(entries, slow)
    done: Loads = {
        "ost": {Operation.WRITE: made, Operation.READ: made},
        "raw": {Operation.READ: []},
    }
    found = latencies(plan(clients), done, WINDOW_S).suspected()
    return {node: [one[:2] for one in suspected] for node, suspected in found.items()}


def test_osts_of_a_file_system_are_peers_whatever_client_measures_them() -> None:
    clients = {"client1": list(map(ost, "abc")), "client2": list(map(ost, "def"))}
    assert suspects(clients, {}) == {}
    # both operations are slow: one suspicion
    assert suspects(clients, {"e": 2.0}) == {"client2": [("ost", "e")]}


def test_osts_of_another_ceiling_or_file_system_are_no_peers() -> None:
    other = [ost(name, reference=SMALLER) for name in "uvwxyz"]
    home = [ost(name, "home") for name in "ghijkl"]
    clients = {"client1": [*map(ost, "abcdef"), *other, *home]}
    slow = {**dict.fromkeys("uvwxyz", 3.0), **dict.fromkeys("ghijkl", 2.0)}
    assert suspects(clients, slow) == {}
    assert suspects(clients, {**slow, "v": 9.0}) == {"client1": [("ost", "v")]}


def test_of_too_few_nothing_is_known() -> None:
    clients = {"client1": [*map(ost, "abcd")]}
    entries = clients["client1"]
    done: Loads = {
        "ost": {Operation.WRITE: loads(entries, {"a": 9.0})},
        "raw": {Operation.READ: []},
    }
    found = latencies(plan(clients), done, WINDOW_S)
    assert (found.known, found.unknown) == ((), ("a", "b", "c", "d"))
