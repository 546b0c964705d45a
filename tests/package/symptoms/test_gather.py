"""All collectors together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from plumbline.errors import DocumentError
from plumbline.symptoms.gather import COLLECTORS, gather
from plumbline.symptoms.symptom import Report
from tests.package.symptoms.nodes import NOW, data, make_node


def test_a_bare_node_has_a_reason_for_everything_that_was_not_looked_at(tmp_path: Path) -> None:
    report = gather(make_node(tmp_path))
    assert [look.collector for look in report.looks] == list(COLLECTORS)
    assert all(look.unavailable for look in report.looks)
    assert report.symptoms == ()


def test_one_collector_that_fails_takes_no_other_with_it(tmp_path: Path) -> None:
    files = {"/proc/mdstat": data("md/mdstat-rebuild.txt")}
    report = gather(make_node(tmp_path, files, {"zpool": "nonsense"}))
    assert {one.collector for one in report.symptoms} == {"md"}


def test_a_report_survives_its_document(tmp_path: Path) -> None:
    report = gather(make_node(tmp_path, {"/proc/mdstat": data("md/mdstat-rebuild.txt")}))
    assert report.looked_at == NOW
    assert Report.from_json(json.loads(json.dumps(report.to_json()))) == report


@pytest.mark.parametrize(
    "damage",
    [
        {"schema": 2},
        {"looks": [{}]},
        {"looks": 3},
        {"node": 7},
        {"looked_at": "now"},
        {"looks": [{"collector": "md", "examined": 1, "symptoms": [{"severity": "BAD"}]}]},
    ],
)
def test_a_damaged_report_is_one_sentence(damage: dict[str, object]) -> None:
    raw = {"schema": 1, "node": "oss1", "looked_at": NOW, "looks": [], **damage}
    with pytest.raises(DocumentError, match="look again with plumbline symptoms --json"):
        Report.from_json(raw)
