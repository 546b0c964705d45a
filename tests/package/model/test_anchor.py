"""Every name has a place in the page that an address can hold."""

from __future__ import annotations

import re

import pytest

from plumbline.model.names import anchor, group_anchor
from tests.package.report.sites import HOSTILE


def test_a_plain_name_is_its_own_place() -> None:
    assert anchor("ost", "scratch-OST0003") == "ost-scratch-OST0003"
    assert group_anchor("raw", "oss1") == "raw-group-oss1"


@pytest.mark.parametrize("name", [*HOSTILE, "", "ümlaut", "\ud800"])
def test_any_name_is_plain_in_an_address(name: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_.-]{1,90}", anchor("ost", name))


def test_names_that_differ_have_places_that_differ() -> None:
    names = ["a b", "a_b", "a/b", "x" * 200, "x" * 201]
    assert len({anchor("ost", name) for name in names}) == len(names)
