"""The plain form is read as PyYAML reads it, or left to PyYAML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from plumbline.site.plain_yaml import read_plain, write_lines

ROOT = Path(__file__).parents[3]
ACCEPTED = ROOT / "tests/data/baseline/accepted.yml"

SCALARS = st.text(st.characters(exclude_categories=["Cs"])) | st.integers(0, 10**9)
KEYS = st.text("abn0./# :'\"\n-~", min_size=1)
WORDS = st.sampled_from(
    ["115.2 MB/s", "0.42 %", "fio, 1 GiB", "2.17", "1e5", "0x1f", "No", "~", "2026-11-01", "12:30"]
)


def written(document: dict[str, Any]) -> str:
    return "".join(f"{line}\n" for line in ("---", "# Why.", *write_lines(document)))


@pytest.mark.slow
@given(
    st.dictionaries(
        KEYS,
        st.recursive(SCALARS | WORDS, lambda inner: st.dictionaries(KEYS, inner), max_leaves=8),
        min_size=1,
    )
)
def test_what_was_written_is_read_alike_by_both(document: dict[str, Any]) -> None:
    text = written(document)
    assert yaml.safe_load(text) == document
    assert read_plain(text) in (document, None)


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
    ]
)


@given(st.lists(LINES, max_size=7))
@example(["---", "---", "a: b"])
@example(["a:", "  c:", "b:"])
@example(["a: b", "  c: d"])
def test_whatever_stands_there_is_not_read_otherwise(lines: list[str]) -> None:
    text = "\n".join(lines)
    found = read_plain(text)
    assert found is None or yaml.safe_load(text) == found


@pytest.mark.parametrize("text", ["", "---\n", "a:\n", "a: 1\na: 2\n", "a: 2026-11-01\n"])
def test_what_needs_a_word_of_its_own_is_left_to_pyyaml(text: str) -> None:
    assert read_plain(text) is None


def test_the_baselines_have_the_plain_form() -> None:
    text = ACCEPTED.read_text(encoding="utf-8")
    assert read_plain(text) == yaml.safe_load(text)
