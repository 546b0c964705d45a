"""A table of all verdicts, and a sentence on the bad ones."""

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
    values = {"state": state, "layer": "raw", "component": component, "group": "", "counts": True}
    return {**values, "sentence": f"{component} is {state}", **more}


def test_verdicts_are_sorted_by_layer_and_component() -> None:
    verdicts = {"oss2": [verdict("OK", "d2")], "oss1": [verdict("OK", "d1")]}
    assert verdict_summary(verdicts, PLAN, HOSTS, ["raw"]) == {
        "lines": ["OK        d1 is OK", "OK        d2 is OK"],
        "bad": [],
        "sentence": "All 2 verdicts are OK",
    }


def test_a_bad_component_is_named_once() -> None:
    verdicts = {"oss1": [verdict("CRITICAL", "d1"), verdict("CRITICAL", "d1")], "oss2": []}
    summary = verdict_summary(verdicts, PLAN, HOSTS, ["raw"])
    assert summary["bad"] == ["CRITICAL d1"]
    assert summary["sentence"] == "Not OK: CRITICAL d1"


def test_a_group_without_a_firm_baseline_is_named_and_does_not_count() -> None:
    group = verdict("UNKNOWN", "scratch", group="scratch", counts=False)
    summary = verdict_summary({"oss1": [group], "oss2": []}, PLAN, HOSTS, ["raw"])
    assert summary["bad"] == []
    assert summary["sentence"] == "The only verdict is OK, scratch without a firm baseline"
    counts = {**group, "counts": True}
    summary = verdict_summary({"oss1": [counts], "oss2": []}, PLAN, HOSTS, ["raw"])
    assert summary["bad"] == ["UNKNOWN scratch"]


def test_components_of_an_unreachable_node_are_unknown() -> None:
    summary = verdict_summary({"oss1": []}, PLAN, HOSTS, ["raw", "net"])
    assert summary["lines"] == [
        "UNKNOWN   oss2 does not answer, or failed above: nothing is known of raw d2, net oss2"
    ]
    assert summary["sentence"] == "Not OK: UNKNOWN oss2"
    assert verdict_summary({"oss1": []}, PLAN, HOSTS, ["raw"], "d1")["bad"] == []


def test_a_node_outside_of_the_limit_is_not_missed() -> None:
    assert verdict_summary({"oss1": []}, PLAN, ["oss1"], ["raw"])["bad"] == []
