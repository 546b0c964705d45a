"""Pairing of hosts without a coordinator: disjoint in each slot, complete over a cycle."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.model.errors import DocumentError
from plumbline.model.rounds import Role, Turn, cycle, pairing, partners, slot_at, span, turn


def hosts(number: int) -> list[str]:
    return [f"oss{index:02d}" for index in range(number)]


@given(st.integers(2, 33), st.integers(0, 10**6))
def test_in_each_slot_every_host_is_in_one_pair_at_most(number: int, slot: int) -> None:
    turns = pairing(hosts(number), slot)
    assert len(turns) == number - number % 2
    for host, (partner, role) in turns.items():
        assert partner != host
        other = Role.RESPONDER if role is Role.INITIATOR else Role.INITIATOR
        assert turns[partner] == Turn(host, other)


@given(st.integers(2, 25), st.integers(0, 10**6))
def test_over_a_cycle_each_ordered_pair_occurs_exactly_once(number: int, first: int) -> None:
    names = hosts(number)
    begun = [
        (host, partner)
        for slot in range(first, first + cycle(number))
        for host, (partner, role) in pairing(names, slot).items()
        if role is Role.INITIATOR
    ]
    assert sorted(begun) == sorted(permutations(names, 2))


@pytest.mark.slow
@pytest.mark.parametrize(("number", "most"), [(63, 62), (64, 63), (65, 62), (66, 63), (130, 63)])
def test_a_host_has_at_most_as_many_partners_as_among_64(number: int, most: int) -> None:
    names = [f"oss{index:04d}" for index in range(number)]
    begun = [
        (host, own.partner)
        for slot in range(cycle(number))
        for host, own in pairing(names, slot).items()
        if own.role is Role.INITIATOR
    ]
    assert len(set(begun)) == len(begun)
    counts = Counter(host for host, _ in begun)
    assert set(counts.values()) <= {most, most + number % 2}
    assert set(begun) == {(other, host) for host, other in begun}
    assert set(partners(names, names[0])) == {other for host, other in begun if host == names[0]}


@given(st.integers(2, 33), st.integers(0, 1000))
def test_a_host_begins_with_all_others_or_five_within_the_span(number: int, first: int) -> None:
    names = hosts(number)
    for host in names:
        turns = [turn(names, host, slot) for slot in range(first, first + span(number))]
        met = {own.partner for own in turns if own and own.role is Role.INITIATOR}
        assert len(met) >= min(number - 1, 5)


def test_the_turn_of_a_host_does_not_depend_on_the_order_of_the_list() -> None:
    names = hosts(7)
    for slot in range(cycle(7)):
        assert turn(names, "oss03", slot) == turn(names[::-1], "oss03", slot)


def test_partners_come_in_the_order_of_the_rounds() -> None:
    names = hosts(5)
    turns = [turn(names, "oss02", slot) for slot in range(0, cycle(5), 2)]
    assert partners(names, "oss02") == tuple(own.partner for own in turns if own)
    assert sorted(partners(names, "oss02")) == ["oss00", "oss01", "oss03", "oss04"]


def test_four_hosts_need_six_slots() -> None:
    assert cycle(4) == 6
    begun = [
        {host: own.partner for host, own in pairing(hosts(4), slot).items() if not slot % 2}
        for slot in (0, 2, 4)
    ]
    assert [pairs["oss00"] for pairs in begun] == ["oss03", "oss01", "oss02"]


@pytest.mark.parametrize(
    ("names", "host"), [([], "a"), (["a"], "a"), (["a", "b"], "c"), (["a", "a"], "a")]
)
def test_a_host_that_cannot_be_paired_is_refused(names: list[str], host: str) -> None:
    with pytest.raises(DocumentError, match="needs two or more different hosts, itself included"):
        turn(names, host, 0)


def test_slots_count_from_the_epoch() -> None:
    assert slot_at(7199.9, 3600) == 1
    assert slot_at(7200.0, 3600) == 2
