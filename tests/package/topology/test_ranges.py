"""Ranges of names, and the assignment of one range to another."""

from __future__ import annotations

import pytest

from plumbline.model.errors import DocumentError
from plumbline.topology.names import HEXADECIMAL, expand, meet, repeat


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("client1", ("client1",)),
        ("oss[1-3]", ("oss1", "oss2", "oss3")),
        ("oss[08-11]", ("oss08", "oss09", "oss10", "oss11")),
        ("oss[9-11]", ("oss9", "oss10", "oss11")),
        ("oss[1,3,5-6]-ib", ("oss1-ib", "oss3-ib", "oss5-ib", "oss6-ib")),
        ("oss[1-2]-disk[1-2]", ("oss1-disk1", "oss1-disk2", "oss2-disk1", "oss2-disk2")),
        ("10.77.0.[11-12]", ("10.77.0.11", "10.77.0.12")),
    ],
)
def test_a_range_stands_for_its_names_in_order(text: str, names: tuple[str, ...]) -> None:
    assert expand(text) == names


def test_lustre_targets_are_numbered_hexadecimally() -> None:
    names = expand("scratch-OST[0008-0017]", HEXADECIMAL)
    assert len(names) == 16
    assert names[:3] == ("scratch-OST0008", "scratch-OST0009", "scratch-OST000a")
    assert names[-1] == "scratch-OST0017"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("oss[1-3", "bracket without its partner"),
        ("oss1-3]", "bracket without its partner"),
        ("oss[[1-3]]", "bracket without its partner"),
        ("oss[]", r"\[\] is not a range; write for example"),
        ("oss[a-c]", r"\[a-c\] is not a range"),
        ("oss[1-]", r"\[1-\] is not a range"),
        ("oss[3-1]", "runs backwards"),
        ("oss[1-999999999]", "more than 100000 names"),
        ("oss[1-9999][1-9999]", "more than 100000 names"),
    ],
)
def test_a_damaged_range_is_quoted(text: str, message: str) -> None:
    with pytest.raises(DocumentError, match=message) as caught:
        expand(text)
    assert text in str(caught.value)


def test_six_names_are_assigned_to_three_two_by_two() -> None:
    assigned = meet(["a1", "a2", "b1", "b2", "c1", "c2"], ["a", "b", "c"])
    assert assigned == [("a",), ("a",), ("b",), ("b",), ("c",), ("c",)]


def test_two_names_have_two_of_four_each() -> None:
    assert meet(["a", "b"], ["a1", "a2", "b1", "b2"]) == [("a1", "a2"), ("b1", "b2")]


def test_targets_numbered_in_decimal_are_refused_with_their_hexadecimal_range() -> None:
    names, arrays = expand("fs-OST[0000-0047]", HEXADECIMAL), expand("oss[01-48]")
    with pytest.raises(DocumentError, match=r"in hexadecimal: 48 of them are fs-OST\[0000-002f\]"):
        meet(names, arrays)


def test_ranges_that_do_not_divide_evenly_are_refused() -> None:
    with pytest.raises(DocumentError, match=r"4 names \(d1 to d4\) .* over 3 \(oss1 to oss3\)"):
        meet(expand("d[1-4]"), expand("oss[1-3]"))


def test_fewer_values_are_repeated() -> None:
    assert repeat(["a", "b", "c", "d"], ["x", "y"]) == ["x", "y", "x", "y"]
    with pytest.raises(DocumentError, match="do not come out even for 3 names"):
        repeat(["a", "b", "c"], ["x", "y"])
