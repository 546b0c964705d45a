"""Unreachable nodes and nodes outside the limit neither incriminate nor clear other parts."""

from __future__ import annotations

from typing import Any, Iterable

import pytest

from plumbline.model.errors import UsageError
from plumbline.model.record import Record
from plumbline.model.rounds import Role, pairing
from plumbline.parts.locate.observation import Site
from tests.package.parts.locate.scenes import LAB, LaneRates, both
from tests.package.parts.locate.test_verb_investigate import LAYERS, Ask, ask, done
from tests.package.parts.locate.test_verb_locate import measured
from tests.package.records import failed

__all__ = ["ask"]

# --- An unreachable node is named; parts behind it are neither incriminated nor cleared.


HOSTS = ("client1", "oss1", "oss2", "oss3")
UNREACHABLE = (
    "Does not answer: server oss2; nothing is concluded about raw oss2-disk1, raw oss2-disk2, "
    "net oss2, which it measures."
)
BEHIND = {
    planned.of.component
    for planned in Site(LAB.plan.expectations).measurables()
    if planned.of.layer == "ost" and "oss2" in planned.of.path
}


def without_oss2(faults: LaneRates) -> list[Record]:
    """Return records of the other nodes on components that do not need oss2."""
    return [
        record
        for record in measured(faults)
        if record.component not in BEHIND
        and not record.component.startswith("oss2")
        and record.partner != "oss2"
    ]


def failing(components: Iterable[str]) -> list[Record]:
    """Return failed records of these targets from their client."""
    return [
        failed(
            layer="ost",
            component=record.component,
            operation=record.operation,
            scenario=record.scenario,
            started_at=record.started_at,
        )
        for record in measured({})
        if record.layer == "ost" and record.component in components
    ]


@pytest.fixture
def end(ask: Ask) -> Any:
    """Return a function that gives the last answer of an investigation without oss2."""
    request = {"done": done(*LAYERS), "silent": ["oss2"]}
    return lambda records: ask(records, **request)


def test_an_unreachable_node_is_reported_and_the_others_are_judged(end: Any) -> None:
    answer = end(without_oss2({}))
    assert answer["sentences"] == [UNREACHABLE, "Nothing that could be judged is slow."]
    answer = end(without_oss2({"oss1-disk1": both(60e6)}))
    assert answer["sentences"][0] == UNREACHABLE
    assert answer["sentences"][1].startswith("Suspect: disk oss1-disk1 (1 of 1 slow target")
    assert len(answer["sentences"]) == 2


def test_failures_behind_an_unreachable_node_incriminate_nothing_else(end: Any) -> None:
    answer = end([*without_oss2({}), *failing(BEHIND)])
    [sentence] = [text for text in answer["sentences"] if text.startswith("Does not answer")]
    assert sentence == (
        f"{UNREACHABLE} That explains 4 failed measurements that cross it; nothing else is accused."
    )
    assert [text for text in answer["sentences"] if "Failing" in text or "Suspect" in text] == []
    assert (answer["failed"], answer["slow"]["sets"], answer["table"]) == ([], [], [])
    # the reason does not mention it either
    assert answer["reason"] == "nothing slow"


def test_failures_explained_by_an_unreachable_node_are_not_investigated_further(ask: Ask) -> None:
    target = sorted(BEHIND)[:1]
    request = {"targets": target, "silent": ["oss2"], "budget": "1h"}
    steps = [*done("net", "ost"), *done("raw")]
    answer = ask(failing(target), done=steps, **request)
    assert (answer["failed"], answer["reason"]) == ([], "nothing was measured")
    assert "nothing is known to be healthy" in answer["sentences"][-1]


def test_an_unreachable_node_with_working_targets_explains_no_failure(end: Any) -> None:
    broken = sorted(BEHIND)[:1]
    working = [record for record in measured({}) if record.component in BEHIND - {*broken}]
    answer = end([*without_oss2({}), *working, *failing(broken)])
    assert answer["sentences"][0] == UNREACHABLE
    assert answer["sentences"][1].startswith("Failing: ")


def test_without_measurements_nothing_is_called_healthy(end: Any) -> None:
    answer = end([])
    assert answer["reason"] == "nothing was measured"
    assert answer["sentences"] == [
        UNREACHABLE,
        "Nothing was measured that could be judged, so nothing is known to be healthy.",
    ]


@pytest.mark.parametrize("reason", ["silent", "outside"])
def test_no_node_waits_for_an_excluded_partner(ask: Ask, reason: str) -> None:
    answer = ask([], **{reason: ["oss2"]})
    assert answer["next"]["layer"] == "net"
    for slot in answer["next"]["slots"]:
        pair = pairing(HOSTS, slot)["oss2"]
        waiting = [pair.partner] if pair.role is Role.RESPONDER else []
        assert [node for node in answer["idle"][str(slot)] if node != "oss2"] == waiting


def test_nodes_outside_the_limit_are_not_measured_and_are_named(ask: Ask) -> None:
    first = ask([], outside=["oss2", "oss3"])
    assert first["sentences"] == [
        "Outside of the limit, so not measured on: server oss2, server oss3."
    ]
    waiting = {node for nodes in first["idle"].values() for node in nodes}
    assert {"client1", "oss1"} <= waiting
    answer = ask([], targets=["oss2-disk1"], outside=["oss2"])
    assert (answer["next"] or {}).get("node") != "oss2"


# --- An investigation with a limit starts nothing on other nodes, and names them.


SERVERS = ("oss1", "oss2", "oss3")


def outside_sentence(*nodes: str) -> str:
    servers = ", ".join(f"server {name}" for name in nodes)
    return f"Outside of the limit, so not measured on: {servers}."


def test_no_step_starts_on_a_node_outside_the_limit(ask: Ask) -> None:
    """Only oss2 could read the disk that divides the suspects."""
    steps: list[dict[str, Any]] = []
    slow = [record for record in measured({"oss2-disk1": both(8e6)}) if record.host == "client1"]
    while True:
        layers = {step["layer"] for step in steps}
        records = [record for record in slow if record.layer in layers]
        request = {"outside": SERVERS, "done": steps, "budget": "1h"}
        answer = ask(records, **request)
        if answer["next"] is None:
            break
        steps.append(answer["next"])
    assert [(step["layer"], step["node"] or "all") for step in steps] == [("ost", "all")]
    (suspects,) = (text for text in answer["sentences"] if text.startswith("Suspects, ambiguous: "))
    assert "disk oss2-disk1" in suspects
    assert outside_sentence(*SERVERS) in answer["sentences"]


def test_the_cost_of_a_step_counts_only_nodes_within_the_limit(ask: Ask) -> None:
    request = {"done": done("net", "ost")}
    unlimited = ask(measured({}), **request)["next"]
    within = ask(measured({}), **request, outside=["oss3"])["next"]
    assert (unlimited["layer"], within["layer"]) == ("raw", "raw")
    assert within["bytes"] == unlimited["bytes"] * 2 / 3


def test_failures_behind_a_node_outside_the_limit_are_judged_as_usual(ask: Ask) -> None:
    """Unlike an unreachable oss2, one outside the limit explains no failures."""
    healthy = [
        record
        for record in measured({})
        if record.host == "client1" and record.component not in BEHIND
    ]
    request = {"outside": SERVERS, "done": done(*LAYERS)}
    answer = ask([*healthy, *failing(BEHIND)], **request)
    failing_sentences = [text for text in answer["sentences"] if text.startswith("Failing: ")]
    assert [name for name, text in zip(sorted(BEHIND), failing_sentences) if name not in text] == []
    assert len(failing_sentences) == len(BEHIND)
    assert not any("explains" in text for text in answer["sentences"])
    assert outside_sentence(*SERVERS) in answer["sentences"]


@pytest.mark.parametrize("target", ["scratch-OST0002", "client1"])
def test_a_target_measured_only_outside_the_limit_is_refused_with_its_client(
    ask: Ask, target: str
) -> None:
    clients = {"scratch-OST0002": ["client1"], "client1": list(HOSTS)}[target]
    outside = [name for name in HOSTS if name in clients]
    with pytest.raises(UsageError) as error:
        ask([], outside=outside, targets=[target])
    assert "limit" in str(error.value)
    if len(outside) == 1:
        assert str(error.value) == (
            "scratch-OST0002 is measured by client1, which --limit leaves out; take it into the "
            "limit"
        )


def test_a_part_on_the_path_of_a_target_within_the_limit_can_be_investigated(ask: Ask) -> None:
    request = {"outside": SERVERS, "targets": ["oss2-disk1"], "budget": "1h"}
    step = ask([], **request)["next"]
    assert (step["layer"], step["node"]) == ("ost", "client1")


def test_an_unknown_name_is_refused_as_unknown_with_a_limit_too(ask: Ask) -> None:
    with pytest.raises(UsageError, match="'oss9' is no part of this site"):
        ask([], outside=["oss1"], targets=["oss9"])
    assert set(LAB.plan.expectations) == set(HOSTS)
