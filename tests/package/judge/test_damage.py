"""A value of the wrong kind anywhere in a document is refused or harmless."""

from __future__ import annotations

import copy
import json
from typing import Any, Iterator

import pytest

from plumbline.doors.plugin import plugin_output
from plumbline.model.codec import read_document
from plumbline.model.errors import DocumentError
from plumbline.model.expectation import Expectations
from plumbline.model.record import Flag, Operation
from plumbline.model.series import Running, Snapshot
from tests.package.judgements import (
    NOW,
    expectation,
    host_expectation,
    judge,
    judge_host,
    sent,
    series,
    snapshot,
)

Place = tuple[Any, ...]

FULL: dict[str, Any] = {
    "coverage": 0.95,
    "fill": 0.4,
    "retransmits": 3,
    "versions": {"client": "2.17.57"},
    "flags": (Flag.SHORT,),
    "quantities": {"mean": 0.1, "p50": 0.1, "p99": 0.2, "max": 0.3},
}
EXPECTED: Any = json.loads(
    json.dumps(
        Expectations(
            "client1", "lab", (expectation().to_json(), host_expectation("oss1").to_json())
        ).to_json()
    )
)
TAKEN: Any = json.loads(
    json.dumps(
        snapshot(
            series(80e6, operation=Operation.WRITE, **FULL),
            series(150e6, **FULL),
            sent("oss1", 24e6, **FULL),
            running=[Running("ost", "scratch-OST0003", NOW - 10)],
        ).to_json()
    )
)
WRONG: list[Any] = [None, "x", -1, 0, 1e308, 10**400, True, [], [1], {}, {"a": 1}]


def places(value: Any, here: Place = ()) -> Iterator[Place]:
    """Yield the keys to each value within a document."""
    yield here
    pairs: Any = ()
    if isinstance(value, dict):
        pairs = value.items()
    elif isinstance(value, list):
        pairs = enumerate(value)
    for key, inner in pairs:
        yield from places(inner, (*here, key))


def changed(document: Any, place: Place, value: Any) -> Any:
    """Return a copy with one value replaced."""
    if not place:
        return value
    whole = copy.deepcopy(document)
    inner = whole
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return whole


def outputs(expected: Any, raw: Any) -> Iterator[str]:
    """Yield the output of the checks of both components."""
    yield output(expected, raw, ("ost", "scratch-OST0003"))
    yield output(expected, raw, ("net", "oss3"))


def output(expected: Any, raw: Any, only: tuple[str, str]) -> str:
    judging = judge_host if only[0] == "net" else judge
    try:
        (entry,) = read_document(Expectations, expected).find(*only)
        recorded = read_document(Snapshot, raw)
        verdict = judging(entry, recorded.of(*only), recorded.running, NOW)
        return plugin_output("OST", verdict, 3)
    except DocumentError as error:
        return f"{error}\n"


@pytest.mark.slow
@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: repr(wrong)[:12])
def test_a_wrong_value_anywhere_gives_a_line_of_output(wrong: Any) -> None:
    printed = [
        *(
            text
            for place in places(EXPECTED)
            for text in outputs(changed(EXPECTED, place, wrong), TAKEN)
        ),
        *(
            text
            for place in places(TAKEN)
            for text in outputs(EXPECTED, changed(TAKEN, place, wrong))
        ),
    ]
    assert len(printed) > 500
    assert all(text.endswith("\n") for text in printed)


def test_undamaged_documents_are_judged() -> None:
    first, second = outputs(EXPECTED, TAKEN)
    assert first.startswith("OST CRITICAL - scratch-OST0003 write 80.0 MB/s")
    assert second.startswith("OST UNKNOWN - oss3 send measured 24.0 MB/s but nothing to compare")
