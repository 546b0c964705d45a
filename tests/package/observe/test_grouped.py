"""The same change on many nodes is one line, and a line says where in few words."""

from __future__ import annotations

from typing import Iterator

import pytest

from plumbline.observe.changes import Grouped, Ledger, begun, differences, grouped, latest, where
from plumbline.observe.conditions import Condition
from plumbline.topology.names import expand, fold
from tests.package.observe.nodes import NOW, bill, condition, ledger

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


def of(ledgers: Iterator[Ledger]) -> tuple[Grouped, ...]:
    return grouped(latest(list(ledgers), NOW))


def lustre(version: str) -> Condition:
    return condition("Lustre", version)


def cache(size: str, target: str = "fs-OST0000") -> Condition:
    return condition(CACHE, size, "lustre", f"obdfilter.{target}", "obdfilter.*")


def test_a_change_of_all_servers_is_one() -> None:
    (one,) = of(changed(lustre("2.3.0"), lustre("2.4.0"), *SERVERS, apart=0.5))
    assert one.said(KINDS) == "Lustre 2.3.0 -> 2.4.0 on all 24 servers"
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
    assert one.said({"oss1": ""}) == f"{CACHE} 1 MiB -> 32 MiB (4 targets) on oss1"


@pytest.mark.parametrize(
    ("then", "now", "text"),
    [
        (
            cache("18446744073709551615"),
            cache("1048576"),
            f"{CACHE} unlimited -> 1 MiB of fs-OST0000",
        ),
        (
            condition("max_dirty_mb", "2000", "lustre", "osc.fs-OST0001-osc", "osc.*"),
            condition("max_dirty_mb", "32", "lustre", "osc.fs-OST0001-osc", "osc.*"),
            "osc.max_dirty_mb 2000 -> 32 of fs-OST0001",
        ),
        (
            condition("threads_max", "512", "lustre", "ost.OSS.ost_io", "ost.OSS.ost_io"),
            condition("threads_max", "64", "lustre", "ost.OSS.ost_io", "ost.OSS.ost_io"),
            "ost.OSS.ost_io.threads_max 512 -> 64",
        ),
        (
            condition("lustre options", "flock,rw", "mount", "/lustre", "/lustre"),
            condition("lustre options", "localflock,rw", "mount", "/lustre", "/lustre"),
            "/lustre lustre options flock -> localflock",
        ),
        (
            condition("boot options", "mitigations=off nosmt"),
            condition("boot options", "nosmt"),
            "boot options mitigations=off -> none",
        ),
        (
            condition("boot options", "a b"),
            condition("boot options", "b a"),
            "boot options a b -> b a",
        ),
        (
            condition("scheduler", "none", "disk", "naa.5000c500d8f1a2b3", "ST16000NM004J"),
            condition("scheduler", "bfq", "disk", "naa.5000c500d8f1a2b3", "ST16000NM004J"),
            "scheduler none -> bfq of naa.5000c500d8f1a2b3",
        ),
        (
            condition("max_queue_depth", "-1", "module", "mpt3sas", "mpt3sas"),
            condition("max_queue_depth", "64", "module", "mpt3sas", "mpt3sas"),
            "mpt3sas max_queue_depth -1 -> 64",
        ),
    ],
)
def test_a_change_says_what_differs(then: Condition, now: Condition, text: str) -> None:
    (one,) = of(changed(then, now, "oss1"))
    assert one.text == text


def test_the_most_telling_of_a_day_comes_first() -> None:
    then = (condition("vm.swappiness", "60", "sysctl"), lustre("2.3.0"), cache("1"))
    now = (condition("vm.swappiness", "10", "sysctl"), lustre("2.4.0"), cache("2"))
    found = grouped(latest([ledger(bill(*then), bill(*now, day=1))], NOW))
    assert [one.area for one in found] == ["software", "lustre", "sysctl"]


def test_nodes_are_said_by_their_kind_and_as_ranges() -> None:
    assert where(SERVERS, KINDS) == "all 24 servers"
    assert where([*SERVERS[:3], "oss07", "client1"], KINDS) == "client1, oss[01-03,07]"
    assert where([*SERVERS, "client1"], KINDS) == "all 24 servers, client1"


@pytest.mark.parametrize(
    "names",
    [
        ["oss01", "oss02", "oss03"],
        ["oss1", "oss2", "oss10", "oss9"],
        ["mds", "nid00012", "nid00013", "nid7"],
        ["r1-n1", "r1-n2", "r2-n1"],
        ["a1b", "a2b", "x" * 100],
        ["n" + "9" * 30],
    ],
)
def test_folded_names_are_those_that_expand_gives(names: list[str]) -> None:
    again = [name for text in fold(names).split(", ") for name in expand(text)]
    assert sorted(again) == sorted(names)


def test_ranges_are_short() -> None:
    assert fold(["oss03", "oss01", "mds1", "oss02", "oss07"]) == "mds1, oss[01-03,07]"


def disk(scheduler: str) -> Condition:
    return condition("scheduler", scheduler, "disk", "naa.1", "ST16000NM004J")


def fleet(count: int, odd: dict[str, Condition], usual: Condition) -> list[Ledger]:
    return [begun(bill(odd.get(node, usual), node=node)) for node in SERVERS[:count]]


def test_one_node_that_differs_from_its_peers_is_named() -> None:
    (one,) = differences(fleet(24, {"oss07": disk("bfq")}, disk("mq-deadline")), KINDS)
    assert one.text == "oss07: scheduler of ST16000NM004J bfq, 23 peers mq-deadline"


def test_a_node_whose_disks_differ_among_themselves_is_named() -> None:
    ledgers = fleet(5, {}, disk("none"))
    odd = bill(disk("none"), disk("bfq")._replace(subject="naa.2"), node="oss09")
    (one,) = differences([*ledgers, begun(odd)], KINDS)
    assert one.text == "oss09: scheduler of ST16000NM004J bfq, none, 5 peers none"


@pytest.mark.parametrize(("count", "odd"), [(3, 1), (2, 1), (24, 7), (24, 12)])
def test_without_a_clear_majority_nobody_differs(count: int, odd: int) -> None:
    others = dict.fromkeys(SERVERS[:odd], disk("bfq"))
    assert differences(fleet(count, others, disk("none")), KINDS) == ()


def test_what_a_node_does_not_have_is_no_difference() -> None:
    ledgers = [*fleet(5, {}, disk("none")), begun(bill(node="oss09"))]
    assert differences(ledgers, KINDS) == ()


def test_clients_are_no_peers_of_servers() -> None:
    client = begun(bill(lustre("2.15"), node="client1"))
    assert differences([*fleet(5, {}, lustre("2.14")), client], KINDS) == ()
