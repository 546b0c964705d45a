"""Comparison of answers; parsers lose no object."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.characterization.formats import batch, metrics, nagios
from tests.characterization.trees import LARGE, differences, load, reduced, write

BEFORE = {"state": "OK", "rate_Bps": 1e8, "sentence": "fine", "figures": [{"name": "ratio"}]}


@pytest.mark.parametrize(
    ("change", "paths"),
    [
        ({}, []),
        ({"sentence": "all is well"}, []),
        ({"rate_Bps": 1e8 * (1 + 1e-7)}, []),
        ({"rate_Bps": 1e8 * (1 + 1e-5)}, ["/rate_Bps: 100001000.0, was 100000000.0"]),
        ({"state": "WARNING"}, ['/state: "WARNING", was "OK"']),
        ({"rate_Bps": None}, ["/rate_Bps: null, was 100000000.0"]),
        ({"figures": []}, ["/figures: 0 entries, were 1"]),
        ({"figures": [{"name": "odds"}]}, ['/figures[0 ratio]/name: "odds", was "ratio"']),
        ({"reason": "slow"}, ['/reason: new, "slow"']),
    ],
)
def test_a_difference_is_named_by_its_path(change: dict[str, Any], paths: list[str]) -> None:
    assert list(differences(BEFORE, {**BEFORE, **change})) == paths


def test_a_missing_key_is_a_difference() -> None:
    assert list(differences(BEFORE, {"state": "OK", "rate_Bps": 1e8, "figures": [{}]})) == [
        '/figures[0 ratio]/name: missing, was "ratio"'
    ]


def test_times_are_compared_to_a_second() -> None:
    assert not list(differences({"since": 1.768e9}, {"since": 1.768e9 + 0.5}))
    assert list(differences({"since": 1.768e9}, {"since": 1.768e9 + 60}))
    assert not list(differences({"rate_Bps": 1.768e9}, {"rate_Bps": 1.768e9 + 60}))


def test_a_boolean_is_no_number() -> None:
    assert list(differences({"a": True}, {"a": 1})) == ["/a: 1, was true"]


@pytest.mark.parametrize("entries", [1, LARGE])
def test_a_tree_survives_writing_and_reading(tmp_path: Path, entries: int) -> None:
    tree = {"values": [1.25] * entries}
    write(tmp_path, "name", tree)
    assert load(tmp_path, "name") == tree
    (path,) = tmp_path.iterdir()
    before = path.read_bytes()
    write(tmp_path, "name", tree)
    assert path.read_bytes() == before


def test_sentences_are_not_recorded() -> None:
    assert reduced(BEFORE) == {"state": "OK", "rate_Bps": 1e8, "figures": [{"name": "ratio"}]}


def test_objects_of_the_same_name_are_all_kept() -> None:
    text = "define host {\n  # why\n  host_name  a\n  alias  host a\n}\n"
    assert nagios(2 * text) == {"host a": {"host_name": "a"}, "host a #2": {"host_name": "a"}}


def test_a_passive_result_keeps_its_state_and_performance_data() -> None:
    line = "[5] PROCESS_SERVICE_CHECK_RESULT;oss1;OST a;2;CRITICAL: slow|'a b'=1.5B;2: c=3\\nmore"
    values = {"at": "5", "command": "PROCESS_SERVICE_CHECK_RESULT", "state": "2"}
    assert batch(line) == {"oss1 / OST a": {**values, "perfdata": {"a b": "1.5B;2:", "c": "3"}}}


def test_metrics_keep_their_labels() -> None:
    text = '# HELP m what\n# TYPE m gauge\nm{a="b c"} 2e3\n'
    assert metrics(text) == {"type of m": "gauge", 'm{a="b c"}': 2000.0}
