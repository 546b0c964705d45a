"""Documents written by people are read strictly or refused in one sentence."""

from __future__ import annotations

from typing import Any, Optional

import pytest

from plumbline.model.errors import DocumentError
from plumbline.topology.strict import Duration, Names, Percent, Rate, Size, Strict, parse


class Inner(Strict):
    name: str
    rate: Optional[Rate] = None
    number: int = 1


class Outer(Strict):
    entries: list[Inner] = []
    size: Size = 1
    wait: Duration = 1.0
    share: Percent = 0.0
    names: Names = []


def read(**document: Any) -> Outer:
    return parse(Outer, document, "notes")


def test_quantities_become_base_units() -> None:
    notes = read(size="128 MiB", wait="36 h", share="2.5 %", names="a")
    assert (notes.size, notes.wait, notes.share, notes.names) == (128 << 20, 129600.0, 0.025, ["a"])
    assert read(entries=[{"name": "x", "rate": "2 Gbit/s"}]).entries[0].rate == 250e6


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        ({"siez": "1 MiB"}, "notes: the key 'siez' is unknown; did you mean 'size'"),
        (
            {"zzz": 1},
            "notes: the key 'zzz' is unknown; known keys are entries, size, wait, share, names",
        ),
        (
            {"entries": [{"name": "x", True: 1}]},
            "notes: entries 'x': YAML reads the words on, off, yes and no as true and false",
        ),
        ({"entries": [{"name": "x", "raet": 1}]}, "did you mean 'rate'"),
        ({"entries": [{"rate": "1 MB/s"}]}, "notes: entries number 1 key 'name' is missing"),
        ({"entries": [{"name": "x", "rate": "0 MB/s"}]}, "'x' rate: '0 MB/s' is not above zero"),
        ({"entries": [{"name": "x", "rate": "-5 MB/s"}]}, "'x' rate: '-5 MB/s' is not above zero"),
        ({"entries": [{"name": "x", "rate": "nan MB/s"}]}, "'nan MB/s' is not a number"),
        ({"entries": [{"name": "x", "rate": float("nan")}]}, "nan is no text with a unit"),
        ({"entries": [{"name": "x", "rate": 200}]}, "200 is no text with a unit; write for exam"),
        ({"entries": [{"name": "x", "rate": "200 MB"}]}, "has no known unit"),
        ({"entries": [{"name": "x", "number": "2"}]}, "should be a valid integer, not '2'"),
        ({"entries": {"name": "x"}}, "notes: entries: must be a list"),
        ({"entries": [["x"]]}, "notes: entries number 1: must be a mapping of keys, not ['x']"),
        ({"entries": [{"name": "x", "rate": "1e300 GB/s"}]}, "is more than any machine has"),
        ({"share": "110 %"}, "share: '110 %' is not between 0 % and 100 %"),
        ({"share": "0.1"}, "share: '0.1' is no percentage"),
        ({"share": "x %"}, "share: 'x %' is no percentage"),
        ({"wait": "3 fortnights"}, "wait: duration '3 fortnights' has no known unit"),
    ],
)
def test_an_error_names_place_value_and_remedy(document: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DocumentError) as caught:
        parse(Outer, document, "notes")
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_document_that_is_no_mapping_is_refused() -> None:
    with pytest.raises(
        DocumentError, match=r"notes: the document: must be a mapping of keys, not \['a'\]"
    ):
        parse(Outer, ["a"], "notes")
