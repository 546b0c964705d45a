"""Allowed names, and their anchors in the report."""

from __future__ import annotations

import re

import pytest

from plumbline.model import names as allowed
from plumbline.model.errors import DocumentError
from plumbline.model.names import Allowed, anchor, group_anchor, several
from tests.package.parts.report.sites import HOSTILE
from tests.package.recorded import table

KINDS = {name: kind for name, kind in vars(allowed).items() if isinstance(kind, Allowed)}

NAMES = table("names.yml")


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ("", ""),
        ("a", "a"),
        ("abc", "a, b, c"),
        ("abcd", "a, b, c and 1 more"),
        ("abcdef", "a, b, c and 3 more"),
    ],
)
def test_three_names_are_listed_and_the_others_counted(names: str, words: str) -> None:
    assert several(names) == words


@pytest.mark.parametrize("text", ["10.0.0.256", "10.0.0.321", "10.0.0", "10", "1.2.3.4.5"])
def test_digits_that_are_no_address_are_refused(text: str) -> None:
    with pytest.raises(DocumentError, match="is not an address"):
        allowed.ADDRESS.refuse("address", text)


def test_each_kind_has_examples() -> None:
    assert KINDS.keys() == NAMES["allowed"].keys()


@pytest.mark.parametrize("kind", KINDS)
def test_plain_names_are_allowed(kind: str) -> None:
    for text in NAMES["allowed"][kind]:
        assert KINDS[kind].match("it", text)[0] == text


@pytest.mark.parametrize("kind", KINDS)
def test_names_unsafe_for_shell_terminal_or_nagios_are_refused(kind: str) -> None:
    for text in NAMES["unsafe"]:
        with pytest.raises(DocumentError, match=r"^the thing ") as caught:
            KINDS[kind].refuse("the thing", text)
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 250


def test_a_plain_name_is_its_own_anchor() -> None:
    assert anchor("ost", "scratch-OST0003") == "ost-scratch-OST0003"
    assert group_anchor("raw", "oss1") == "raw-group-oss1"


@pytest.mark.parametrize("name", [*HOSTILE, "", "ümlaut", "\ud800"])
def test_any_name_has_a_plain_anchor(name: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_.-]{1,90}", anchor("ost", name))


def test_different_names_have_different_anchors() -> None:
    names = ["a b", "a_b", "a/b", "x" * 200, "x" * 201]
    assert len({anchor("ost", name) for name in names}) == len(names)
