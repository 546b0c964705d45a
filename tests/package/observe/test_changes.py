"""Changes of conditions: what counts as a change, how long it is kept, how a site shows it."""

from __future__ import annotations

import json
from typing import Any, Iterator, Mapping

import pytest
import yaml

from plumbline.model.codec import read_document, write
from plumbline.model.errors import DocumentError
from plumbline.model.units import DAY_S
from plumbline.observe.changes import (
    ChangeGroup,
    Ledger,
    differences,
    grouped,
    latest,
    where,
)
from plumbline.observe.conditions import Condition
from plumbline.topology.names import expand, fold
from tests.package.observe.nodes import NOW, bill, condition, ledger
from tests.package.recorded import data

# the loader in C refuses half of a character
FILE = yaml.safe_load(data("conditions/changes.yml"))
OLD, NEW = condition("kernel", "4.18"), condition("kernel", "5.14")


def test_the_first_bill_is_no_change() -> None:
    assert bill(OLD).changes == ()


def test_another_value_is_a_change_with_its_date() -> None:
    (change,) = ledger(bill(OLD), bill(NEW, day=1)).changes
    assert (change.name, change.then, change.now) == ("kernel", "4.18", "5.14")
    assert (change.before, change.at) == (NOW, NOW + DAY_S)


def test_a_condition_that_appears_or_disappears_is_no_change() -> None:
    node_ledger = ledger(bill(OLD), bill(day=1), bill(OLD, condition("OFED", "24.10"), day=2))
    assert node_ledger.changes == ()


def test_the_change_of_a_missing_condition_dates_from_its_last_bill() -> None:
    (change,) = ledger(bill(OLD), bill(day=1), bill(day=2), bill(NEW, day=3)).changes
    assert (change.before, change.at) == (NOW, NOW + 3 * DAY_S)


def test_a_condition_missing_for_months_is_forgotten() -> None:
    node_ledger = ledger(bill(OLD), bill(day=80), bill(day=100), bill(NEW, day=101))
    assert (node_ledger.changes, node_ledger.missing) == ((), ())


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


def test_changes_are_kept_for_a_limited_time_and_in_limited_number() -> None:
    node_ledger = ledger(bill(OLD), bill(NEW, day=1), bill(NEW, day=402))
    assert node_ledger.changes == ()
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


def fleet(count: int, odd: dict[str, Condition], usual: Condition) -> list[Ledger]:
    return [bill(odd.get(node, usual), node=node) for node in SERVERS[:count]]


def test_one_node_that_differs_from_its_peers_is_named() -> None:
    (difference,) = differences(fleet(24, {"oss07": disk("bfq")}, disk("mq-deadline")), KINDS)
    assert difference.text == "oss07: scheduler of ST16000NM004J bfq, 23 peers mq-deadline"


def test_a_node_whose_disks_differ_among_themselves_is_named() -> None:
    ledgers = fleet(5, {}, disk("none"))
    odd = bill(disk("none"), disk("bfq")._replace(subject="naa.2"), node="oss09")
    (difference,) = differences([*ledgers, odd], KINDS)
    assert difference.text == "oss09: scheduler of ST16000NM004J bfq, none, 5 peers none"


@pytest.mark.parametrize(("count", "odd"), [(3, 1), (2, 1), (24, 7), (24, 12)])
def test_without_a_clear_majority_no_node_differs(count: int, odd: int) -> None:
    outliers = dict.fromkeys(SERVERS[:odd], disk("bfq"))
    assert differences(fleet(count, outliers, disk("none")), KINDS) == ()


def test_a_missing_condition_is_no_difference() -> None:
    ledgers = [*fleet(5, {}, disk("none")), bill(node="oss09")]
    assert differences(ledgers, KINDS) == ()


def test_clients_are_not_peers_of_servers() -> None:
    client = bill(lustre("2.15"), node="client1")
    assert differences([*fleet(5, {}, lustre("2.14")), client], KINDS) == ()
