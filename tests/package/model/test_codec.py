"""Typed values read from JSON by their annotations, and refusals."""

from __future__ import annotations

import json
from enum import Enum, IntEnum
from typing import Annotated, Any, Mapping, NamedTuple, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.model.codec import AtMost, lenient, positional, read, read_document, write
from plumbline.model.errors import DocumentError
from plumbline.model.limits import Range
from plumbline.model.units import LARGEST
from plumbline.model.validation import Within, rates
from plumbline.store.plan import SitePlan


class Level(IntEnum):
    """Numbers in Python, names in a document."""

    LOW = 0
    HIGH = 1


class Colour(str, Enum):
    """Values in a document."""

    RED = "red"
    BLUE = "blue"


class Part(NamedTuple):
    """A nested value."""

    name: str
    size: Annotated[float, Within(0, 10)] = 1.0


@lenient
class Loose(NamedTuple):
    """A value that may have keys of a newer version."""

    number: int


@positional
class Row(NamedTuple):
    """A value without the names of its fields."""

    number: int
    parts: Annotated[tuple[Part, ...], AtMost(2)] = ()


@positional
class Line(NamedTuple):
    """A row with each form that a large table has."""

    name: str
    level: Level
    flag: bool
    number: int
    rate: Annotated[float, rates]
    maybe: Optional[float]
    marks: tuple[str, ...]
    figures: tuple[tuple[str, Optional[float]], ...]


class Table(NamedTuple):
    """A value with many rows."""

    lines: tuple[Line, ...]


class Whole(NamedTuple):
    """A value with each form of annotation."""

    level: Level
    colour: Colour
    rate: Annotated[float, rates]
    parts: tuple[Part, ...]
    by_name: Mapping[str, Part]
    flag: bool = False
    number: int = 0
    maybe: Optional[float] = None
    range: Range = Range(1, 2)
    loose: Optional[Loose] = None
    anything: Any = None
    row: Row = Row(0)
    by_number: Mapping[int, Colour] = {}
    by_colour: Mapping[Colour, int] = {}
    pair: tuple[str, float] = ("", 0.0)


PART = st.builds(Part, st.text(), st.floats(0, 10))
WHOLE = st.builds(
    Whole,
    st.sampled_from(Level),
    st.sampled_from(Colour),
    st.floats(1e-9, LARGEST),
    st.lists(PART).map(tuple),
    st.dictionaries(st.text(), PART),
    st.booleans(),
    st.integers(-1000, 1000),
    st.none() | st.floats(-LARGEST, LARGEST),
    st.integers(0, 9).map(lambda start: Range(start, start + 1)),
    st.none() | st.builds(Loose, st.integers(0, 9)),
    st.none() | st.dictionaries(st.text(), st.integers()),
    st.builds(Row, st.integers(0, 9), st.lists(PART, max_size=2).map(tuple)),
    st.dictionaries(st.integers(-99, 99), st.sampled_from(Colour)),
    st.dictionaries(st.sampled_from(Colour), st.integers(0, 9)),
    st.tuples(st.text(), st.floats(0, 10)),
)

FLOAT = st.floats(-LARGEST, LARGEST)
LINE = st.builds(
    Line,
    st.text(),
    st.sampled_from(Level),
    st.booleans(),
    st.integers(-1000, 1000),
    st.floats(1e-9, LARGEST),
    st.none() | FLOAT,
    st.lists(st.text()).map(tuple),
    st.lists(st.tuples(st.text(), st.none() | FLOAT)).map(tuple),
)
SOUND = ["a", "LOW", True, 1, 1.5, None, ["b"], [["c", 2.0]]]

RAW = {"level": "LOW", "colour": "red", "rate": 1.5, "parts": [], "by_name": {}}


@given(WHOLE)
def test_a_value_is_read_as_it_was_written(value: Whole) -> None:
    assert read(Whole, json.loads(json.dumps(write(value)))) == value


@given(st.lists(LINE))
def test_many_rows_are_read_as_they_were_written(lines: list[Line]) -> None:
    table = Table(tuple(lines))
    assert read(Table, json.loads(json.dumps(write(table)))) == table
    # rows that are already built, too
    assert read(Table, {"lines": table.lines}) == table


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (0, 1, "name has 1, which is no text"),
        (1, "MIDDLE", "level is 'MIDDLE', which is no Level"),
        (2, 1, "flag is 1, which is neither true nor false"),
        (3, True, "number is True, which is no plausible number"),
        (3, 10**400, "number is 1000"),
        (4, float("nan"), "rate is nan, which is no plausible number"),
        (4, None, "rate is None, which is no plausible number"),
        (5, float("inf"), "maybe is inf, which is no plausible number"),
        (6, "text", "marks is 'text', which is no list"),
        (7, [["c"]], r"figures is \['c'\], which is no list of its fields"),
        (7, [["c", float("nan")]], "figures is nan, which is no plausible number"),
    ],
)
def test_the_one_damaged_row_of_many_is_refused_by_its_key(
    place: int, value: Any, words: str
) -> None:
    damaged = [*SOUND[:place], value, *SOUND[place + 1 :]]
    with pytest.raises(TypeError, match=words):
        read(Table, {"lines": [SOUND, damaged, SOUND]})


@pytest.mark.parametrize("lines", [{}, {"a": 1}, "", [[]], [SOUND[:-1]], [[*SOUND, 1]]])
def test_what_is_no_list_of_rows_is_refused(lines: Any) -> None:
    with pytest.raises(TypeError, match="which is no list"):
        read(Table, {"lines": lines})


def test_missing_keys_have_their_defaults() -> None:
    assert read(Whole, RAW) == Whole(Level.LOW, Colour.RED, 1.5, (), {})


def test_a_whole_number_is_a_valid_float_and_stays_whole() -> None:
    assert repr(read(Part, {"name": "a", "size": 2}).size) == "2"


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("level", "MIDDLE", "level is 'MIDDLE', which is no Level"),
        ("colour", "green", "colour is 'green', which is no Colour"),
        ("rate", 0, "rate is 0, which is no rate"),
        ("rate", float("nan"), "rate is nan, which is no plausible number"),
        ("parts", "text", "parts is 'text', which is no list"),
        ("parts", [1], "Part is 1, which is no mapping"),
        ("parts", [{"name": 1}], "name has 1, which is no text"),
        ("parts", [{"name": "", "size": 11}], "size is 11, which is not from 0 to 10"),
        ("parts", [{"name": "", "shape": 1}], "'shape' is no key of Part"),
        ("by_name", [], r"by_name is \[\], which is no mapping"),
        ("flag", 1, "flag is 1, which is neither true nor false"),
        ("number", 1.5, "number is 1.5, which is no whole number"),
        ("row", {"number": 1}, "Row is {'number': 1}, which is no list of its fields"),
        ("row", [1, [], 2], "which is no list of its fields"),
        ("row", [1], "which is no list of its fields"),
        ("row", [1, [{"name": ""}] * 3], "parts has 3 entries, 2 at most"),
        ("by_number", {"one": "red"}, "by_number has the key 'one', which is no whole number"),
        ("by_colour", {"green": 1}, "by_colour is 'green', which is no Colour"),
        ("number", True, "number is True, which is no plausible number"),
        ("maybe", 1e300, r"maybe is 1e\+300, which is no plausible number"),
        ("range", 5, "range has 5, which is no text"),
        ("pair", ["a"], r"pair is \['a'\], which is no list of its fields"),
        ("pair", ["a", "b"], "pair is 'b', which is no plausible number"),
    ],
)
def test_an_impossible_value_is_refused_by_its_key(key: str, value: Any, words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        read(Whole, {**RAW, key: value})


def test_a_text_that_cannot_be_parsed_is_a_document_error() -> None:
    with pytest.raises(DocumentError, match="not a Nagios range"):
        read(Whole, {**RAW, "range": "x"})


def test_a_missing_key_is_named() -> None:
    with pytest.raises(KeyError, match="colour"):
        read(Whole, {key: value for key, value in RAW.items() if key != "colour"})


def test_unknown_keys_of_a_lenient_class_are_ignored() -> None:
    assert read(Loose, {"number": 2, "newer": 1}) == Loose(2)


class Box(NamedTuple):
    """A value with parts by name."""

    parts: Mapping[str, Part]


def test_what_is_built_already_is_not_kept_twice() -> None:
    parts = {"lid": Part("lid")}
    assert read(Box, {"parts": parts}).parts is parts
    # a member of an enumeration equals its text, which is another value
    assert type(read(Chosen, {"colours": {"lid": "red"}}).colours["lid"]) is Colour
    plan = SitePlan({}, ())
    assert read_document(SitePlan, plan) is plan


class Chosen(NamedTuple):
    """Values of an enumeration by name."""

    colours: Mapping[str, Colour]


def test_an_unsupported_annotation_is_refused() -> None:
    class Odd(NamedTuple):
        value: complex

    with pytest.raises(NotImplementedError, match="value"):
        read(Odd, {"value": 1})
