"""One table of all verdicts, and one sentence on what is not OK."""

from __future__ import annotations

from typing import Any

from ansible_collections.hpcops.plumbline.plugins.filter.verdict_summary import verdict_summary

PLAN = {
    "nodes": {
        "oss1": {"entries": [{"layer": "raw", "component": "d1"}]},
        "oss2": {
            "entries": [{"layer": "raw", "component": "d2"}, {"layer": "net", "component": "oss2"}]
        },
    }
}
HOSTS = ["oss1", "oss2"]


def verdict(state: str, component: str, **more: Any) -> dict[str, Any]:
    given = {"state": state, "layer": "raw", "component": component, "group": "", "counts": True}
    return {**given, "sentence": f"{component} is {state}", **more}


def test_verdicts_stand_by_layer_and_component() -> None:
    found = {"oss2": [verdict("OK", "d2")], "oss1": [verdict("OK", "d1")]}
    assert verdict_summary(found, PLAN, HOSTS, ["raw"]) == {
        "lines": ["OK        d1 is OK", "OK        d2 is OK"],
        "bad": [],
        "sentence": "All 2 verdicts are OK",
    }


def test_what_is_not_ok_is_named_once() -> None:
    found = {"oss1": [verdict("CRITICAL", "d1"), verdict("CRITICAL", "d1")], "oss2": []}
    summary = verdict_summary(found, PLAN, HOSTS, ["raw"])
    assert summary["bad"] == ["CRITICAL d1"]
    assert summary["sentence"] == "Not OK: CRITICAL d1"


def test_a_group_that_lacks_a_firm_baseline_is_named_and_does_not_count() -> None:
    group = verdict("UNKNOWN", "scratch", group="scratch", counts=False)
    summary = verdict_summary({"oss1": [group], "oss2": []}, PLAN, HOSTS, ["raw"])
    assert summary["bad"] == []
    assert summary["sentence"] == "All 1 verdicts are OK, scratch without a firm baseline"
    counts = {**group, "counts": True}
    summary = verdict_summary({"oss1": [counts], "oss2": []}, PLAN, HOSTS, ["raw"])
    assert summary["bad"] == ["UNKNOWN scratch"]


def test_what_a_node_without_an_answer_measures_is_unknown() -> None:
    summary = verdict_summary({"oss1": []}, PLAN, HOSTS, ["raw", "net"])
    assert summary["lines"] == [
        "UNKNOWN   oss2 does not answer, or failed above: nothing is known of raw d2, net oss2"
    ]
    assert summary["sentence"] == "Not OK: UNKNOWN oss2"
    assert verdict_summary({"oss1": []}, PLAN, HOSTS, ["raw"], "d1")["bad"] == []


def test_a_node_outside_of_the_limit_is_not_missed() -> None:
    assert verdict_summary({"oss1": []}, PLAN, ["oss1"], ["raw"])["bad"] == []
