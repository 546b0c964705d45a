"""Changes of conditions: what counts as a change, how long it is kept, how a site shows it."""

from __future__ import annotations

import itertools
import json
from typing import Any, Iterator, Mapping

import pytest
import yaml

from plumbline.model.codec import read_document, write
from plumbline.model.errors import DocumentError
from plumbline.model.ledger import Change, Condition, Ledger
from plumbline.model.units import DAY_S
from plumbline.parts.facts.changes import ChangeGroup, differences, grouped, latest, where
from plumbline.topology.names import expand, fold
from tests.package.parts.facts.nodes import NOW, bill, condition, ledger
from tests.package.recorded import data

# the loader in C refuses half of a character
FILE = yaml.safe_load(data("conditions/changes.yml"))
OLD, NEW = condition("kernel", "4.18"), condition("kernel", "5.14")


@pytest.mark.parametrize("case", FILE["ledgers"], ids=lambda case: case["case"])
def test_another_value_of_a_condition_is_a_change(case: Mapping[str, Any]) -> None:
    node_ledger = ledger(
        *(
            bill(*itertools.starmap(condition, values.items()), day=day)
            for day, values in case["looks"]
        )
    )
    changes = [
        [change.name, change.then, change.now, *days_of(change)] for change in node_ledger.changes
    ]
    assert (changes, node_ledger.missing) == (case["changes"], ())


def days_of(change: Change) -> tuple[float, float]:
    return (change.before - NOW) / DAY_S, (change.at - NOW) / DAY_S


def test_a_value_that_always_changes_is_no_setting() -> None:
    bills = [bill(condition("queue depth", str(number)), day=number / 24) for number in range(12)]
    node_ledger = ledger(*bills)
    assert len(node_ledger.changes) == 4
    assert node_ledger.notes == (
        "software queue depth changes too often for a setting: its changes are not listed",
    )


def test_a_value_that_changes_every_few_days_is_no_setting() -> None:
    bills = [bill(condition("queue depth", str(number)), day=number) for number in range(25)]
    assert len(ledger(*bills).changes) == 12


def test_changes_are_kept_in_limited_number() -> None:
    bills = [
        bill(*(condition(f"p{name}", str(day)) for name in range(100)), day=3 * day)
        for day in range(30)
    ]
    assert len(ledger(*bills).changes) == 2000


def test_a_ledger_is_read_back_as_it_was_written() -> None:
    node_ledger = ledger(bill(OLD, condition("OFED", "24")), bill(NEW, day=1))
    assert read_document(Ledger, json.loads(json.dumps(write(node_ledger)))) == node_ledger


def test_a_copy_keeps_the_changes_that_the_node_lost() -> None:
    older = ledger(bill(OLD), bill(NEW, day=1))
    again = ledger(bill(NEW, day=3), bill(condition("kernel", "6.1"), day=4))
    merged = again.succeeding(older)
    assert [(change.then, change.now) for change in merged.changes] == [
        ("4.18", "5.14"),
        ("5.14", "6.1"),
    ]
    assert merged.since == NOW
    assert again.succeeding(merged).changes == merged.changes


def test_a_reinstalled_node_has_changed_since_the_copy() -> None:
    older = ledger(bill(OLD), bill(OLD, day=1))
    (change,) = bill(NEW, day=3).succeeding(older).changes
    assert (change.before, change.at, change.now) == (NOW + DAY_S, NOW + 3 * DAY_S, "5.14")


def test_the_same_ledger_again_adds_nothing() -> None:
    node_ledger = ledger(bill(OLD), bill(NEW, day=1))
    assert node_ledger.succeeding(node_ledger) == node_ledger


@pytest.mark.parametrize("damage", FILE["damages"], ids=str)
def test_a_damaged_ledger_is_refused(damage: Mapping[str, Any]) -> None:
    with pytest.raises(DocumentError, match="ledger of conditions"):
        read_document(Ledger, {**write(bill(OLD)), **damage})


def test_an_endless_ledger_is_refused() -> None:
    endless = {"conditions": [["software", "", "k", "1", "node"]] * 10_001}
    with pytest.raises(DocumentError, match="ledger of conditions"):
        read_document(Ledger, {**write(bill(OLD)), **endless})


# --- The same change on many nodes is one line, which names the nodes in few words


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
