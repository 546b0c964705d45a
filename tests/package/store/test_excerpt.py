"""The shortcut to one component finds what a full parse finds, or leaves it to that."""

from __future__ import annotations

import json
from typing import Any, Optional

import pytest

from plumbline.model.expectation import Expectations, Neighbour
from plumbline.model.series import Snapshot
from plumbline.store.excerpt import entry_alone, series_alone
from tests.package.judgements import (
    evidence,
    expectation,
    host_expectation,
    series,
    snapshot,
)

NAMES = ("OST0", "OST00", 'odd"name', "ost/OST0", "Öst")
TAKEN = snapshot(
    *(series(1e6 * (number + 1), component=name) for number, name in enumerate(NAMES)),
    series(99e6, layer="raw", component="OST0"),
    known={
        ("ost", "OST0", False): evidence(against='"series": of "ost/OST0"'),
        ("ost", 'odd"name', False): evidence(alarm=False, ratio=None),
        ("ost", "OST0", True): evidence(what="write"),
        ("ost", "group of none", True): evidence(odds=4.0, alarm=False),
        ("raw", "OST0", True): evidence(what='"series": {"ost/OST00": {}}'),
    },
).to_json()
EXPECTED = Expectations(
    "client1",
    "lab",
    (
        host_expectation("OST0", "OST00").to_json(),
        *(expectation(component=name, group="OST0").to_json() for name in NAMES),
        expectation(layer="raw", component="OST0").to_json(),
    ),
    (Neighbour("client1-nic", "nic", 125e6),),
    NAMES,
).to_json()
FORMS: list[dict[str, Any]] = [
    {},
    {"indent": 1},
    {"separators": (",", ":")},
    {"ensure_ascii": False},
    {"sort_keys": True},
]


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("layer", ["ost", "raw"])
def test_what_is_found_is_what_the_document_says(
    form: dict[str, Any], name: str, layer: str
) -> None:
    taken = json.loads(json.dumps(TAKEN))
    part = series_alone(json.dumps(TAKEN, **form), layer, name)
    key = f"{layer}/{name}"
    if part is not None:
        assert part["series"].get(key) == taken["series"].get(key)
        excerpt, whole = Snapshot.from_json(part), Snapshot.from_json(taken)
        for subject in ((layer, name, False), (layer, name, True)):
            assert excerpt.evidence(subject) == whole.evidence(subject)
        assert excerpt.of(layer, name) == whole.of(layer, name)
        assert {**part, "series": {}} == {**taken, "series": {}}
    wanted = [
        entry
        for entry in json.loads(json.dumps(EXPECTED))["entries"]
        if (entry["layer"], entry["component"]) == (layer, name)
    ]
    found = entry_alone(json.dumps(EXPECTED, **form), layer, name)
    if found is not None:
        assert found["entries"] == wanted
        assert (found["schema"], found["node"]) == (1, "client1")


@pytest.mark.parametrize("form", FORMS[:3], ids=str)
def test_the_forms_that_are_written_take_the_shortcut(form: dict[str, Any]) -> None:
    assert series_alone(json.dumps(TAKEN, **form), "ost", "OST0") is not None
    assert entry_alone(json.dumps(EXPECTED, **form), "ost", "OST0") is not None


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"series":', '{"series": 3}', "no", '"series":'])
def test_what_is_no_such_document_is_left_to_the_full_parse(text: str) -> None:
    assert series_alone(text, "ost", "OST0") is None
    assert entry_alone(text, "ost", "OST0") is None


def decoded(part: Optional[dict[str, Any]], member: str) -> Any:
    return part and part[member]


def test_of_a_document_that_was_cut_nothing_but_a_whole_component_is_taken() -> None:
    whole, expected = json.dumps(TAKEN), json.dumps(EXPECTED)
    right = json.loads(whole)["series"]["ost/OST0"]
    for end in range(len(whole)):
        taken = decoded(series_alone(whole[:end], "ost", "OST0"), "series")
        assert taken in (None, {"ost/OST0": right})
    wanted = json.loads(expected)["entries"][1]
    for end in range(len(expected)):
        found = decoded(entry_alone(expected[:end], "ost", "OST0"), "entries")
        assert found in (None, [wanted])
