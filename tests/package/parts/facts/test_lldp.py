"""Switches that Ethernet links hear: what a look remembers, and which names are one."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline.model.errors import ToolError
from plumbline.parts.facts import lldp
from plumbline.parts.facts.node import Counters, Past
from tests.package.parts.facts.symptoms_nodes import NOW, make_node, with_switches
from tests.package.recorded import data

HEARD = data("lldp/one-link.json0")
SWITCHES = [["leaf1"], ["leaf2"]]


def look_at(folder: Path, output: str, past: Past) -> tuple[list[str], Past]:
    """Return the sentences of a look, or why it was not available, and what it remembers."""
    node = with_switches(
        make_node(folder, answers={"lldpctl -f json0": output})._replace(counters=Counters(past)),
        SWITCHES,
    )
    try:
        sentences = [symptom.sentence for symptom in lldp.look(node).symptoms]
    except ToolError as error:
        sentences = [f"not available: {error}"]
    return sentences, node.counters.after(NOW)


def test_a_link_that_leaves_its_switch_for_an_unknown_one_is_a_symptom(tmp_path: Path) -> None:
    moved = HEARD.replace("Leaf1.example.com", "office7").replace("swp7", "12")
    assert look_at(tmp_path, moved, Past())[0] == [
        "not available: link ens1f0 hears office7 port 12, which the topology does not have; if it "
        "is leaf1, give that part this name"
    ]
    sentences, past = look_at(tmp_path, HEARD, Past())
    assert sentences == []
    # an unknown switch is a symptom again and again, not in the first look alone
    for _ in range(2):
        sentences, past = look_at(tmp_path, moved, past)
        assert sentences == [
            "link ens1f0 hears switch office7 port 12, the topology has leaf1 there; move the "
            "cable, or correct the topology"
        ]


def test_a_name_with_control_characters_is_safe_to_print(tmp_path: Path) -> None:
    foreign = HEARD.replace("Leaf1.example.com", r"leaf2.\u001b[2J" + "x" * 300)
    (sentence,), _ = look_at(tmp_path, foreign, Past())
    assert sentence.isprintable()
    assert len(sentence) < 250


def test_more_than_lldpd_can_keep_is_refused(tmp_path: Path) -> None:
    text = HEARD + " " * (5 << 20)
    assert look_at(tmp_path, text, Past())[0] == ["not available: lldpctl printed more than 4 MiB"]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("leaf1", "LEAF1", True),
        ("leaf1.example.com", "Leaf1", True),
        ("leaf1", "leaf1.example.com", True),
        ("leaf1", "leaf10", False),
        ("rack.1", "rack.2", False),
        ("", "leaf1", False),
    ],
)
def test_names_of_switches_compare_without_case_and_domain(
    one: str, other: str, same: bool
) -> None:
    assert lldp.is_same(one, other) is same
