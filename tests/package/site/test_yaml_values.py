"""A document is read as PyYAML reads it, or refused."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from plumbline.site.inventory import read_yaml

LINES = st.sampled_from(
    [
        "a: b",
        "a:",
        "b:",
        "  c: d",
        "  c:",
        "    e: 12",
        "    f: 'x y'",
        "   g: h",
        "  - i",
        "",
        "# j",
        "  # k",
        "l: m # n",
        "o: |",
        "  p",
        "q: 'r",
        "s'",
        "t: {}",
        "u: [1]",
        "v: null",
        "w: 1_000",
        "x: 010",
        "---",
        "...",
        "y: &z a",
        "aa: *z",
        "<<: {}",
        "? k",
        "bb: !!str 1",
        "\tcc: d",
        "dd : e",
        "ee:f",
        "'ff': g",
        "hh: i:",
        "jj: k: l",
        "ll: &mm {n: 1, o: x}",
        "pp: {<<: *mm, n: 2}",
        "qq: [*mm, 1.5, ~, yes]",
        "rr: 2026-11-01",
        "ss: !!str 010",
        "tt: ! 12",
        "1: 2",
    ]
)


@given(st.lists(LINES, max_size=7))
@example(["ll: &mm {n: 1, o: x}", "pp: {<<: *mm, n: 2}", "qq: [*mm, 1.5, ~, yes]"])
@example(["a: &b {c: 1}", "d: {<<: [{c: 2, e: 3}, *b], f: 4}"])
@example(["- i", "- [j, 'k']"])
@example([""])
def test_what_is_read_is_what_pyyaml_reads(lines: list[str]) -> None:
    text = "\n".join(lines)
    try:
        value = read_yaml(text)
    except yaml.YAMLError:
        return
    assert value == yaml.safe_load(text)


@pytest.mark.parametrize(
    "text",
    ["a: b", "- i", "", "a: {b: [1, 2.5, yes, ~]}", "a: &b {c: 1}\nd: {<<: *b}", "? a\n: b"],
    ids=repr,
)
def test_what_a_person_writes_is_read(text: str) -> None:
    assert read_yaml(text) == yaml.safe_load(text)
