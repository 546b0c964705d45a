"""Changes of conditions over a site: the same change on many nodes is one line."""

from __future__ import annotations

from typing import Any, Iterator, Mapping

import pytest
import yaml

from plumbline.model.ledger import Condition, Ledger
from plumbline.parts.facts.changes import ChangeGroup, differences, grouped, latest, where
from plumbline.topology.names import expand, fold
from tests.package.model.ledgers import NOW, bill, condition, ledger
from tests.package.recorded import data

# the loader in C refuses half of a character
FILE = yaml.safe_load(data("conditions/changes.yml"))
OLD, NEW = condition("kernel", "4.18"), condition("kernel", "5.14")


SERVERS = [f"oss{number:02d}" for number in range(1, 25)]
KINDS = {**dict.fromkeys(SERVERS, "server"), "client1": "client"}
CACHE = "readcache_max_filesize"


def changed(
    then: Condition, now: Condition, *nodes: str, day: float = 1.0, apart: float = 0.0
) -> Iterator[Ledger]:
    """Yield the ledgers of nodes that changed one after the other."""
    for number, node in enumerate(nodes):
        at = day + apart * number
        yield ledger(bill(then, node=node), bill(now, node=node, day=at))


def groups(ledgers: Iterator[Ledger]) -> tuple[ChangeGroup, ...]:
    return grouped(latest(list(ledgers), NOW))


def lustre(version: str) -> Condition:
    return condition("Lustre", version)


def cache(size: str, target: str = "fs-OST0000") -> Condition:
    return condition(CACHE, size, "lustre", f"obdfilter.{target}", "obdfilter.*")


def test_the_same_change_on_all_servers_is_one_line() -> None:
    (group,) = groups(changed(lustre("2.3.0"), lustre("2.4.0"), *SERVERS, apart=0.5))
    assert group.sentence(KINDS) == "Lustre 2.3.0 -> 2.4.0 on all 24 servers"
    assert (group.at, group.last) == (NOW + 86400, NOW + 12.5 * 86400)


def test_a_change_made_again_much_later_is_another_change() -> None:
    days = (("2.3.0", 0), ("2.4.0", 1), ("2.3.0", 20), ("2.4.0", 40))
    once = ledger(*(bill(lustre(version), day=day) for version, day in days))
    assert len(grouped(latest([once], NOW))) == 3


def test_targets_are_counted_and_sizes_have_units() -> None:
    then = [cache("1048576", f"fs-OST000{n}") for n in range(4)]
    now = [cache("33554432", f"fs-OST000{n}") for n in range(4)]
    (group,) = grouped(latest([ledger(bill(*then), bill(*now, day=1))], NOW))
    assert group.sentence({"oss1": ""}) == f"{CACHE} 1 MiB -> 32 MiB (4 targets) on oss1"


@pytest.mark.parametrize("case", FILE["texts"], ids=lambda case: case["text"])
def test_a_change_names_the_difference(case: Mapping[str, str]) -> None:
    then, now = (
        condition(case["name"], case[when], case["area"], case["subject"], case["among"])
        for when in ("then", "now")
    )
    (group,) = groups(changed(then, now, "oss1"))
    assert group.text == case["text"]


def test_the_most_important_change_of_a_day_comes_first() -> None:
    then = (condition("vm.swappiness", "60", "sysctl"), lustre("2.3.0"), cache("1"))
    now = (condition("vm.swappiness", "10", "sysctl"), lustre("2.4.0"), cache("2"))
    changes = grouped(latest([ledger(bill(*then), bill(*now, day=1))], NOW))
    assert [group.area for group in changes] == ["software", "lustre", "sysctl"]


def test_nodes_are_named_by_kind_and_as_ranges() -> None:
    assert where(SERVERS, KINDS) == "all 24 servers"
    assert where([*SERVERS[:3], "oss07", "client1"], KINDS) == "client1, oss[01-03,07]"
    assert where([*SERVERS, "client1"], KINDS) == "all 24 servers, client1"


@pytest.mark.parametrize("names", FILE["names"], ids=str)
def test_folded_names_expand_to_the_same_names(names: list[str]) -> None:
    expanded = [name for text in fold(names).split(", ") for name in expand(text)]
    assert sorted(expanded) == sorted(names)


def test_ranges_are_short() -> None:
    assert fold(["oss03", "oss01", "mds1", "oss02", "oss07"]) == "mds1, oss[01-03,07]"


def disk(scheduler: str) -> Condition:
    return condition("scheduler", scheduler, "disk", "naa.1", "ST16000NM004J")


@pytest.mark.parametrize("case", FILE["fleets"], ids=lambda case: case.get("text"))
def test_few_nodes_that_differ_from_their_peers_are_named(case: Mapping[str, Any]) -> None:
    usual = {node: [case["usual"]] for node in SERVERS[: case["nodes"]]}
    ledgers = [
        bill(*(disk(value)._replace(subject=value) for value in own), node=node)
        for node, own in {**usual, **case["odd"]}.items()
    ]
    texts = [difference.text for difference in differences(ledgers, KINDS)]
    assert texts == ([case["text"]] if "text" in case else [])
