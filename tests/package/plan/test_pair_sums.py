"""Pairs of hosts at once through one part: their slots, their ceiling, and the slow ones."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Iterable, Sequence

import pytest

from plumbline.model.errors import UsageError
from plumbline.model.record import Operation, Record
from plumbline.plan.expectations import Plan, compile_plan
from plumbline.plan.pair_sums import PairNetwork, PartSlot, slots_through, sums_of
from plumbline.plan.policy import load
from plumbline.site.inventory import compiled, read_inventory, topology_of
from plumbline.topology.graph import build
from tests.package.rails import POLICY, rails
from tests.package.records import record
from tests.package.sites import INVENTORIES

GB = 1e9
HOSTS = tuple(f"h{number}" for number in range(1, 9))


def two_switches() -> Plan:
    """Return eight hosts of 1 GB/s, four at each switch, with 2 GB/s to the core from each."""
    parts = [
        {"name": "core", "kind": "switch"},
        {"name": "attic", "kind": "switch", "feeds": "core"},
        {"name": "s[1-2]-up", "kind": "link", "rate": "2 GB/s", "feeds": "core"},
        {"name": "s[1-2]", "kind": "switch", "feeds": "s[1-2]-up"},
        *(
            {"name": name, "kind": "client", "address": name, "rate": "1 GB/s", "feeds": switch}
            for name, switch in zip(HOSTS, ("s1",) * 4 + ("s2",) * 4)
        ),
    ]
    topology = build({"schema": 1, "site": "two", "parts": parts, "file_systems": []})
    return compile_plan(topology, load({}), {})


def network_of(plan: Plan) -> PairNetwork:
    entries = [entry for entries in plan.expectations.values() for entry in entries]
    return PairNetwork(entries, plan.parts)


@cache
def small() -> PairNetwork:
    return network_of(two_switches())


@cache
def bgl() -> PairNetwork:
    inventory = read_inventory(str(INVENTORIES / "bgl"))
    plan = compiled(inventory, topology_of(inventory)).plan
    return network_of(plan)


def measured(
    slots: Iterable[PartSlot], rate_Bps: float, slow: Sequence[str] = (), at: float = 1000.0
) -> list[Record]:
    """Return records of all pairs; those with a slow host have a third of the rate."""
    return [
        record(
            layer="net",
            component=pair[0],
            partner=pair[1],
            operation=Operation.SEND,
            rate=rate_Bps / 3 if set(slow) & set(pair) else rate_Bps,
            started_at=at,
            finished_at=at + 10,
        )
        for slot in slots
        for pair in slot.pairs
    ]


def test_only_pairs_that_cross_the_part_are_in_its_slots() -> None:
    slots = slots_through(small(), "s1-up")
    assert slots
    for slot in slots:
        assert slot.within == ()
        assert all(len({*pair} & {*HOSTS[:4]}) == 1 for pair in slot.leaving)


def test_pairs_within_a_switch_and_pairs_that_leave_it_are_told_apart() -> None:
    slots = slots_through(small(), "s1")
    both = [slot for slot in slots if slot.within and slot.leaving]
    assert both
    for slot in both:
        hosts = [host for pair in slot.pairs for host in pair]
        assert len(hosts) == len(set(hosts))
        assert {*HOSTS[:4]} == {host for host in hosts if host in HOSTS[:4]}
        assert {host for pair in slot.within for host in pair} <= {*HOSTS[:4]}


def test_an_unbalanced_slot_is_limited_by_the_uplink_and_a_balanced_one_fits() -> None:
    slots = slots_through(small(), "s1")
    crowded = next(slot for slot in slots if len(slot.leaving) == 4)
    assert crowded.ceiling
    assert crowded.ceiling.rate == pytest.approx(2 * GB)
    assert {*crowded.ceiling.limited_by} == {"s1-up", "s2-up"}
    balanced = small().balanced(crowded)
    assert len(balanced.leaving) == 2
    assert balanced.ceiling
    assert balanced.ceiling.rate == pytest.approx(2 * GB)
    assert all(small().shares(balanced.pairs)[pair] == pytest.approx(GB) for pair in balanced.pairs)


def test_each_direction_of_a_pair_is_in_one_slot() -> None:
    pairs = Counter(pair for slot in slots_through(small(), "core") for pair in slot.pairs)
    assert set(pairs.values()) == {1}


def test_the_slots_that_load_the_part_most_are_taken() -> None:
    most = max(len(small().slot("s1-up", number).pairs) for number in range(14))
    slots = slots_through(small(), "s1-up")
    assert max(len(slot.pairs) for slot in slots) == most == 4
    assert [slot.number for slot in slots] == sorted(slot.number for slot in slots)


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        ("s3", "the plan has no part s3; pairs of hosts cross s1, s1-up, core, s2-up, s2"),
        ("attic", "no pair of hosts crosses switch attic; layer net measures pairs of 8 hosts"),
    ],
)
def test_a_part_that_no_pair_crosses_is_refused(part: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=f"^{sentence}$"):
        slots_through(small(), part)


def test_a_part_that_only_adapters_cross_is_refused_with_the_reason() -> None:
    """Two rails: the adapters of a host take turns, so no slot has their pairs at once."""
    plan = compile_plan(build(rails()), load(POLICY), {})
    network = PairNetwork(
        [entry for own in plan.expectations.values() for entry in own], plan.parts
    )
    assert "leaf3" in network.adapters[-1].path
    with pytest.raises(UsageError) as caught:
        slots_through(network, "leaf3")
    assert str(caught.value) == (
        "no pair of hosts crosses switch leaf3; layer net measures pairs of 6 hosts; pairs of "
        "adapters cross it, but the adapters of a host take turns in a slot, so these have no sum: "
        "look at the services RDMA"
    )


def test_a_switch_of_bluegene_has_the_papers_ceiling() -> None:
    """Section 2: six 10 GigE links, 7.5 GB/s, saturated with fewer than 10 links a line card."""
    slot = slots_through(bgl(), "switch1")[0]
    assert len(slot.pairs) == 192
    assert slot.ceiling
    assert slot.ceiling.rate == pytest.approx(7.5 * GB)
    assert slot.ceiling.limited_by == ("switch1",)
    balanced = slots_through(bgl(), "switch1", balanced=True)[0]
    assert balanced.ceiling
    assert balanced.ceiling.rate == pytest.approx(7.5 * GB)
    assert balanced.ceiling.limited_by[0] == "switch1"
    cards = Counter(
        name for pair in balanced.pairs for name in bgl().paths[pair] if name.startswith("card")
    )
    own = [cards[f"card{number:02}"] for number in range(1, 9)]
    assert (sum(own), min(own), max(own)) == (60, 7, 8)


def test_twenty_ports_fill_a_line_card_of_bluegene() -> None:
    slot = slots_through(bgl(), "card01")[0]
    assert slot.ceiling
    assert (len(slot.pairs), slot.ceiling.limited_by) == (24, ("card01",))
    assert slot.ceiling.rate == pytest.approx(2.5 * GB)
    assert len(slots_through(bgl(), "card01", balanced=True)[0].pairs) == 20


def test_the_sum_of_a_slot_is_set_against_its_ceiling() -> None:
    """BlueGene/L, section 2: approximately 6 GB/s per switch, 80 % of 7.5 GB/s."""
    slots = slots_through(bgl(), "switch1")[:2]
    sums = sums_of(bgl(), slots, measured(slots, 6 * GB / 192))
    assert [(one.slot.number, one.operation) for one in sums] == [(0, "send"), (1, "send")]
    for one in sums:
        assert one.moved_Bps == pytest.approx(6 * GB)
        assert one.share == pytest.approx(0.8)
        assert one.slow == ()


def test_a_pair_that_is_slow_by_itself_is_named() -> None:
    slots = slots_through(small(), "s1")
    sums = sums_of(small(), slots, measured(slots, 0.5 * GB, slow=["h2"]))
    named = {host for one in sums for slow in one.slow for host in slow.pair if host == "h2"}
    assert named == {"h2"}
    assert all("h2" in slow.pair for one in sums for slow in one.slow)
    (slow,) = next(one.slow for one in sums if len(one.slot.leaving) == 4)
    assert slow.share == pytest.approx(1 / 3)
    assert slow.others == pytest.approx(1.0)


def test_of_two_pairs_alone_none_is_accused() -> None:
    two = [slot for slot in slots_through(small(), "s1") if len(slot.pairs) == 2]
    two += [small().balanced(slot) for slot in slots_through(small(), "s1-up")]
    assert {len(slot.pairs) for slot in two} == {2}
    sums = sums_of(small(), two, measured(two, 0.5 * GB, slow=["h2"]))
    assert [slow for one in sums for slow in one.slow] == []


def test_a_part_that_slows_all_pairs_accuses_none() -> None:
    slots = slots_through(small(), "s1")
    sums = sums_of(small(), slots, measured(slots, 0.1 * GB))
    assert [slow for one in sums for slow in one.slow] == []


def test_pairs_without_a_rate_are_in_neither_the_sum_nor_its_ceiling() -> None:
    slots = slots_through(small(), "s1-up")
    (first, *rest) = measured(slots, 0.5 * GB)
    sums = sums_of(small(), slots, rest)
    missing = next(one for one in sums if len(one.measured) < len(one.slot.pairs))
    assert (first.component, first.partner) not in missing.measured
    assert missing.moved_Bps == pytest.approx(0.5 * GB * len(missing.measured))
    assert missing.ceiling
    assert missing.ceiling.rate == pytest.approx(min(2.0, len(missing.measured)) * GB)


def test_retransmits_of_a_slot_are_added_if_they_were_counted() -> None:
    slots = slots_through(small(), "s1-up")
    plain = measured(slots, 0.5 * GB)
    assert all(one.retransmits is None for one in sums_of(small(), slots, plain))
    counted = [test._replace(retransmits=7) for test in plain]
    for one in sums_of(small(), slots, counted):
        assert one.retransmits == 7 * len(one.measured)


def test_records_of_other_layers_count_in_no_sum() -> None:
    slots = slots_through(small(), "s1-up")
    others = [
        test._replace(layer=layer) for test in measured(slots, GB) for layer in ("flows", "rdma")
    ]
    assert sums_of(small(), slots, others) == []


def test_the_newest_record_of_a_pair_counts() -> None:
    slots = slots_through(small(), "s1-up")
    records = [*measured(slots, 0.5 * GB, at=2000.0), *measured(slots, 0.1 * GB)]
    for one in sums_of(small(), slots, records):
        assert one.moved_Bps == pytest.approx(0.5 * GB * len(one.measured))


def test_pairs_that_measured_one_after_the_other_have_no_sum() -> None:
    slots = slots_through(small(), "s1-up")
    (first, *rest) = measured(slots, 0.5 * GB, slow=["h2"])
    late = first._replace(started_at=first.started_at + 0.6 * first.seconds)
    apart, *others = sums_of(small(), slots, [late, *rest])
    assert (first.component, first.partner) in apart.measured
    assert apart.overlap == pytest.approx(0.4)
    assert (apart.at_once, apart.share, apart.slow) == (False, None, ())
    assert all(one.at_once and one.share for one in others)
