"""Which messages of the kernel are understood, and what they are about."""

from __future__ import annotations

import pytest

from plumbline.observe.kernel import MESSAGES, understand
from tests.package.observe.symptoms_nodes import data

RECORDED = [line.split("\t") for line in data("messages/kernel.tsv").splitlines()]


@pytest.mark.parametrize(("kind", "name", "text"), RECORDED)
def test_a_message_is_understood(kind: str, name: str, text: str) -> None:
    told = understand(text)
    assert told is not None
    assert (told.message.kind, told.name) == (kind, name)


def test_each_kind_has_a_recorded_message() -> None:
    assert {message.kind for message in MESSAGES} == {kind for kind, _, _ in RECORDED}


def test_a_captured_outage_of_a_target_is_understood_and_its_chatter_is_not() -> None:
    lines = data("messages/lustre-ost-down.txt").splitlines()
    told = [understand(line.partition("] ")[2]) for line in lines]
    found = [(one.message.kind, one.name) for one in told if one]
    assert len(lines) > 40
    assert found == [
        ("connection_lost", "lustre-OST0003"),
        ("evicted", "lustre-OST0003"),
        ("connection_lost", "lustre-OST0003"),
        ("evicted", "lustre-OST0003"),
        ("failover", "lustre-OST0003"),
        ("connection_lost", "lustre-OST0003"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I/O error",
        "I/O error, dev ;rm -rf, sector",
        "EXT4-fs (sdb1): mounted filesystem with ordered data mode",
        "ixgbe 0000:3b:00.0 ens1f0: NIC Link is Up 10 Gbps, Flow Control: RX/TX",
        "Lustre: lustre-OST0000: local client 8d47695f w/o recovery",
    ],
)
def test_anything_else_is_not(text: str) -> None:
    assert understand(text) is None
