"""A node that does not answer is named itself; nothing beyond it is accused or cleared."""

from __future__ import annotations

from typing import Any, Iterable

import pytest

from plumbline.locate.observation import Site
from plumbline.model.record import Record
from plumbline.model.rounds import Role, pairing
from tests.package.cli.test_investigate import WHOLE, Ask, ask, done
from tests.package.cli.test_locate import LAB, measured
from tests.package.locate.scenes import Left, both
from tests.package.records import failed

__all__ = ["ask"]

SILENT = (
    "Does not answer: server oss2; nothing is concluded about raw oss2-disk1, raw oss2-disk2, "
    "net oss2, which it measures."
)
BEHIND = {
    placed.of.component
    for placed in Site(LAB.plan.expectations).measurables()
    if placed.of.layer == "ost" and "oss2" in placed.of.path
}


def without_oss2(left: Left) -> list[Record]:
    """Return what the others have measured of what does not need it."""
    return [
        one
        for one in measured(left)
        if one.component not in BEHIND
        and not one.component.startswith("oss2")
        and one.partner != "oss2"
    ]


def failing(components: Iterable[str]) -> list[Record]:
    """Return failures of these targets, as their client keeps them."""
    return [
        failed(
            layer="ost",
            component=one.component,
            operation=one.operation,
            scenario=one.scenario,
            started_at=one.started_at,
        )
        for one in measured({})
        if one.layer == "ost" and one.component in components
    ]


@pytest.fixture
def end(ask: Ask) -> Any:
    """Return the last answer of an investigation without oss2, from its records."""
    request = {"done": done(*WHOLE), "silent": ["oss2"]}
    return lambda records: ask(records, **request)


def test_the_others_are_judged_and_the_silent_one_is_said(end: Any) -> None:
    answer = end(without_oss2({}))
    assert answer["sentences"] == [SILENT, "Nothing that could be judged is slow."]
    answer = end(without_oss2({"oss1-disk1": both(60e6)}))
    assert answer["sentences"][0] == SILENT
    assert answer["sentences"][1].startswith("Suspect: disk oss1-disk1 (1 of 1 slow target")
    assert len(answer["sentences"]) == 2


def test_what_fails_because_of_it_accuses_nothing_else(end: Any) -> None:
    answer = end([*without_oss2({}), *failing(BEHIND)])
    [told] = [text for text in answer["sentences"] if text.startswith("Does not answer")]
    assert told == (
        f"{SILENT} That explains 4 failed measurements that cross it; nothing else is accused."
    )
    assert [text for text in answer["sentences"] if "Failing" in text or "Suspect" in text] == []
    assert (answer["failed"], answer["slow"]["sets"], answer["table"]) == ([], [], [])
    # nor is it a reason to end with
    assert answer["reason"] == "nothing slow"


def test_what_it_alone_explains_is_not_divided_any_further(ask: Ask) -> None:
    target = sorted(BEHIND)[:1]
    request = {"targets": target, "silent": ["oss2"], "budget": "1h"}
    tried = [*done("net", "ost"), *done("raw")]
    answer = ask(failing(target), done=tried, **request)
    assert (answer["failed"], answer["reason"]) == ([], "nothing was measured")
    assert "nothing is known to be healthy" in answer["sentences"][-1]


def test_what_works_although_nobody_can_log_in_is_no_excuse(end: Any) -> None:
    broken = sorted(BEHIND)[:1]
    alive = [one for one in measured({}) if one.component in BEHIND - {*broken}]
    answer = end([*without_oss2({}), *alive, *failing(broken)])
    assert answer["sentences"][0] == SILENT
    assert answer["sentences"][1].startswith("Failing: ")


def test_nothing_measured_is_not_nothing_slow(end: Any) -> None:
    answer = end([])
    assert answer["reason"] == "nothing was measured"
    assert answer["sentences"] == [
        SILENT,
        "Nothing was measured that could be judged, so nothing is known to be healthy.",
    ]


def test_nobody_waits_for_a_silent_partner(ask: Ask) -> None:
    answer = ask([], silent=["oss2"])
    hosts = ("client1", "oss1", "oss2", "oss3")
    for slot in answer["next"]["slots"]:
        met = pairing(hosts, slot)["oss2"]
        waiting = [met.partner] if met.role is Role.RESPONDER else []
        assert answer["idle"][str(slot)] == waiting


def test_nothing_is_measured_outside_of_the_limit_and_one_sentence_says_so(ask: Ask) -> None:
    first = ask([], outside=["oss2", "oss3"])
    assert first["sentences"] == [
        "Outside of the limit, so not measured on: server oss2, server oss3."
    ]
    waiting = {node for nodes in first["idle"].values() for node in nodes}
    assert {"client1", "oss1"} <= waiting
    answer = ask([], targets=["oss2-disk1"], outside=["oss2"])
    assert (answer["next"] or {}).get("node") != "oss2"


def test_a_node_outside_of_the_limit_explains_no_failure(ask: Ask) -> None:
    records = [*without_oss2({}), *failing(BEHIND)]
    answer = ask(records, done=done(*WHOLE), outside=["oss2"])
    assert any(text.startswith("Failing: ") for text in answer["sentences"])
    assert not any("explains" in text for text in answer["sentences"])
