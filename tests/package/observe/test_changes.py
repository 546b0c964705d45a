"""Changes of conditions: what counts as one, how long it is kept, how a site shows it."""

from __future__ import annotations

import json
from typing import Any, Iterator, Mapping

import pytest
import yaml

from plumbline.model.errors import DocumentError
from plumbline.model.units import DAY_S
from plumbline.observe.changes import (
    ChangeGroup,
    Ledger,
    differences,
    first_ledger,
    grouped,
    latest,
    where,
)
from plumbline.observe.conditions import Condition
from plumbline.topology.names import expand, fold
from tests.package.observe.nodes import NOW, bill, condition, ledger
from tests.package.recorded import data

FILE = yaml.safe_load(data("conditions/changes.yml"))
OLD, NEW = condition("kernel", "4.18"), condition("kernel", "5.14")


def test_the_first_bill_changes_nothing() -> None:
    assert first_ledger(bill(OLD)).changes == ()


def test_another_value_is_a_change_with_its_date() -> None:
    (change,) = ledger(bill(OLD), bill(NEW, day=1)).changes
    assert (change.name, change.then, change.now) == ("kernel", "4.18", "5.14")
    assert (change.before, change.at) == (NOW, NOW + DAY_S)


def test_what_comes_or_goes_is_no_change() -> None:
    found = ledger(bill(OLD), bill(day=1), bill(OLD, condition("OFED", "24.10"), day=2))
    assert found.changes == ()


def test_what_was_missing_meanwhile_changed_since_it_was_last_seen() -> None:
    (change,) = ledger(bill(OLD), bill(day=1), bill(day=2), bill(NEW, day=3)).changes
    assert (change.before, change.at) == (NOW, NOW + 3 * DAY_S)


def test_what_was_missing_for_months_is_forgotten() -> None:
    found = ledger(bill(OLD), bill(day=80), bill(day=100), bill(NEW, day=101))
    assert (found.changes, found.missing) == ((), ())


def test_what_changes_all_the_time_is_no_setting() -> None:
    bills = [bill(condition("queue depth", str(number)), day=number / 24) for number in range(12)]
    found = ledger(*bills)
    assert len(found.changes) == 4
    assert found.notes == (
        "software queue depth changes too often for a setting: its changes are not listed",
    )


def test_what_changes_every_few_days_is_no_setting_either() -> None:
    bills = [bill(condition("queue depth", str(number)), day=number) for number in range(25)]
    assert len(ledger(*bills).changes) == 12


def test_changes_are_kept_for_a_limited_time_and_in_limited_number() -> None:
    found = ledger(bill(OLD), bill(NEW, day=1), bill(NEW, day=402))
    assert found.changes == ()
    bills = [
        bill(*(condition(f"p{name}", str(day)) for name in range(100)), day=3 * day)
        for day in range(30)
    ]
    assert len(ledger(*bills).changes) == 2000


def test_a_ledger_is_read_back_as_it_was_written() -> None:
    found = ledger(bill(OLD, condition("OFED", "24")), bill(NEW, day=1))
    assert Ledger.from_json(json.loads(json.dumps(found.to_json()))) == found


def test_a_copy_keeps_the_changes_that_the_node_has_lost() -> None:
    older = ledger(bill(OLD), bill(NEW, day=1))
    again = ledger(bill(NEW, day=3), bill(condition("kernel", "6.1"), day=4))
    found = again.succeeding(older)
    assert [(one.then, one.now) for one in found.changes] == [("4.18", "5.14"), ("5.14", "6.1")]
    assert found.since == NOW
    assert again.succeeding(found).changes == found.changes


def test_a_node_that_was_installed_again_changed_since_the_copy() -> None:
    older = ledger(bill(OLD), bill(OLD, day=1))
    (change,) = first_ledger(bill(NEW, day=3)).succeeding(older).changes
    assert (change.before, change.at, change.now) == (NOW + DAY_S, NOW + 3 * DAY_S, "5.14")


def test_the_same_ledger_again_adds_nothing() -> None:
    found = ledger(bill(OLD), bill(NEW, day=1))
    assert found.succeeding(found) == found


@pytest.mark.parametrize("damage", FILE["damages"], ids=str)
def test_what_no_node_writes_is_refused_in_a_sentence(damage: Mapping[str, Any]) -> None:
    with pytest.raises(DocumentError, match="ledger of conditions"):
        Ledger.from_json({**first_ledger(bill(OLD)).to_json(), **damage})


def test_a_ledger_without_end_is_refused() -> None:
    endless = {"conditions": [["software", "", "k", "1", "node"]] * 10_001}
    with pytest.raises(DocumentError, match="ledger of conditions"):
        Ledger.from_json({**first_ledger(bill(OLD)).to_json(), **endless})


# --- The same change on many nodes is one line, and a line says where in few words


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


def of(ledgers: Iterator[Ledger]) -> tuple[ChangeGroup, ...]:
    return grouped(latest(list(ledgers), NOW))


def lustre(version: str) -> Condition:
    return condition("Lustre", version)


def cache(size: str, target: str = "fs-OST0000") -> Condition:
    return condition(CACHE, size, "lustre", f"obdfilter.{target}", "obdfilter.*")


def test_a_change_of_all_servers_is_one() -> None:
    (one,) = of(changed(lustre("2.3.0"), lustre("2.4.0"), *SERVERS, apart=0.5))
    assert one.sentence(KINDS) == "Lustre 2.3.0 -> 2.4.0 on all 24 servers"
    assert (one.at, one.last) == (NOW + 86400, NOW + 12.5 * 86400)


def test_a_change_that_was_made_again_much_later_is_another() -> None:
    once = ledger(
        bill(lustre("2.3.0")), bill(lustre("2.4.0"), day=1), bill(lustre("2.3.0"), day=20)
    ).after(bill(lustre("2.4.0"), day=40))
    assert len(grouped(latest([once], NOW))) == 3


def test_targets_are_counted_and_sizes_are_read() -> None:
    then = [cache("1048576", f"fs-OST000{n}") for n in range(4)]
    now = [cache("33554432", f"fs-OST000{n}") for n in range(4)]
    (one,) = grouped(latest([ledger(bill(*then), bill(*now, day=1))], NOW))
    assert one.sentence({"oss1": ""}) == f"{CACHE} 1 MiB -> 32 MiB (4 targets) on oss1"


@pytest.mark.parametrize("case", FILE["texts"], ids=lambda case: case["text"])
def test_a_change_says_what_differs(case: Mapping[str, str]) -> None:
    then, now = (
        condition(case["name"], case[when], case["area"], case["subject"], case["among"])
        for when in ("then", "now")
    )
    (one,) = of(changed(then, now, "oss1"))
    assert one.text == case["text"]


def test_the_most_telling_of_a_day_comes_first() -> None:
    then = (condition("vm.swappiness", "60", "sysctl"), lustre("2.3.0"), cache("1"))
    now = (condition("vm.swappiness", "10", "sysctl"), lustre("2.4.0"), cache("2"))
    found = grouped(latest([ledger(bill(*then), bill(*now, day=1))], NOW))
    assert [one.area for one in found] == ["software", "lustre", "sysctl"]


def test_nodes_are_said_by_their_kind_and_as_ranges() -> None:
    assert where(SERVERS, KINDS) == "all 24 servers"
    assert where([*SERVERS[:3], "oss07", "client1"], KINDS) == "client1, oss[01-03,07]"
    assert where([*SERVERS, "client1"], KINDS) == "all 24 servers, client1"


@pytest.mark.parametrize("names", FILE["names"], ids=str)
def test_folded_names_are_those_that_expand_gives(names: list[str]) -> None:
    again = [name for text in fold(names).split(", ") for name in expand(text)]
    assert sorted(again) == sorted(names)


def test_ranges_are_short() -> None:
    assert fold(["oss03", "oss01", "mds1", "oss02", "oss07"]) == "mds1, oss[01-03,07]"


def disk(scheduler: str) -> Condition:
    return condition("scheduler", scheduler, "disk", "naa.1", "ST16000NM004J")


def fleet(count: int, odd: dict[str, Condition], usual: Condition) -> list[Ledger]:
    return [first_ledger(bill(odd.get(node, usual), node=node)) for node in SERVERS[:count]]


def test_one_node_that_differs_from_its_peers_is_named() -> None:
    (one,) = differences(fleet(24, {"oss07": disk("bfq")}, disk("mq-deadline")), KINDS)
    assert one.text == "oss07: scheduler of ST16000NM004J bfq, 23 peers mq-deadline"


def test_a_node_whose_disks_differ_among_themselves_is_named() -> None:
    ledgers = fleet(5, {}, disk("none"))
    odd = bill(disk("none"), disk("bfq")._replace(subject="naa.2"), node="oss09")
    (one,) = differences([*ledgers, first_ledger(odd)], KINDS)
    assert one.text == "oss09: scheduler of ST16000NM004J bfq, none, 5 peers none"


@pytest.mark.parametrize(("count", "odd"), [(3, 1), (2, 1), (24, 7), (24, 12)])
def test_without_a_clear_majority_nobody_differs(count: int, odd: int) -> None:
    others = dict.fromkeys(SERVERS[:odd], disk("bfq"))
    assert differences(fleet(count, others, disk("none")), KINDS) == ()


def test_what_a_node_does_not_have_is_no_difference() -> None:
    ledgers = [*fleet(5, {}, disk("none")), first_ledger(bill(node="oss09"))]
    assert differences(ledgers, KINDS) == ()


def test_clients_are_no_peers_of_servers() -> None:
    client = first_ledger(bill(lustre("2.15"), node="client1"))
    assert differences([*fleet(5, {}, lustre("2.14")), client], KINDS) == ()
