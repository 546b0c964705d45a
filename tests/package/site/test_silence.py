"""Nodes that do not answer or lie beyond a limit: nothing beyond them is accused or cleared."""

from __future__ import annotations

from typing import Any, Iterable

import pytest

from plumbline.locate.observation import Site
from plumbline.model.errors import UsageError
from plumbline.model.record import Record
from plumbline.model.rounds import Role, pairing
from tests.package.cli.test_investigate import WHOLE, Ask, ask, done
from tests.package.cli.test_locate import LAB, measured
from tests.package.locate.scenes import Left, both
from tests.package.records import failed

__all__ = ["ask"]

# --- A node that does not answer is named itself; nothing beyond it is accused or cleared.


HOSTS = ("client1", "oss1", "oss2", "oss3")
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


@pytest.mark.parametrize("left_out", ["silent", "outside"])
def test_nobody_waits_for_a_partner_that_is_left_out(ask: Ask, left_out: str) -> None:
    answer = ask([], **{left_out: ["oss2"]})
    assert answer["next"]["layer"] == "net"
    for slot in answer["next"]["slots"]:
        met = pairing(HOSTS, slot)["oss2"]
        waiting = [met.partner] if met.role is Role.RESPONDER else []
        assert [node for node in answer["idle"][str(slot)] if node != "oss2"] == waiting


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


# --- Within a limit an investigation begins nothing on other nodes, and says whom it has not asked.


SERVERS = ("oss1", "oss2", "oss3")


def left_out(*nodes: str) -> str:
    servers = ", ".join(f"server {name}" for name in nodes)
    return f"Outside of the limit, so not measured on: {servers}."


def test_nothing_is_begun_on_a_node_beyond_it(ask: Ask) -> None:
    """Whatever is slow: the disk that divides the suspects is read by oss2 alone."""
    steps: list[dict[str, Any]] = []
    slow = [one for one in measured({"oss2-disk1": both(8e6)}) if one.host == "client1"]
    while True:
        made = {one["layer"] for one in steps}
        records = [one for one in slow if one.layer in made]
        request = {"outside": SERVERS, "done": steps, "budget": "1h"}
        answer = ask(records, **request)
        if answer["next"] is None:
            break
        steps.append(answer["next"])
    assert [(one["layer"], one["node"] or "all") for one in steps] == [("ost", "all")]
    (suspects,) = (one for one in answer["sentences"] if one.startswith("Suspects, ambiguous: "))
    assert "disk oss2-disk1" in suspects
    assert left_out(*SERVERS) in answer["sentences"]


def test_what_all_measure_costs_what_those_within_it_take(ask: Ask) -> None:
    request = {"done": done("net", "ost")}
    every = ask(measured({}), **request)["next"]
    within = ask(measured({}), **request, outside=["oss3"])["next"]
    assert (every["layer"], within["layer"]) == ("raw", "raw")
    assert within["bytes"] == every["bytes"] * 2 / 3


def test_what_fails_beyond_it_is_judged_as_anywhere(ask: Ask) -> None:
    """Nobody has asked oss2, so it is no excuse, as it would be where it does not answer."""
    healthy = [one for one in measured({}) if one.host == "client1" and one.component not in BEHIND]
    request = {"outside": SERVERS, "done": done(*WHOLE)}
    answer = ask([*healthy, *failing(BEHIND)], **request)
    told = [text for text in answer["sentences"] if text.startswith("Failing: ")]
    assert [name for name, text in zip(sorted(BEHIND), told) if name not in text] == []
    assert len(told) == len(BEHIND)
    assert left_out(*SERVERS) in answer["sentences"]


@pytest.mark.parametrize("target", ["scratch-OST0002", "client1"])
def test_what_only_others_measure_is_refused_with_who_does(ask: Ask, target: str) -> None:
    others = {"scratch-OST0002": ["client1"], "client1": list(HOSTS)}[target]
    outside = [name for name in HOSTS if name in others]
    with pytest.raises(UsageError) as refused:
        ask([], outside=outside, targets=[target])
    assert "limit" in str(refused.value)
    if len(outside) == 1:
        assert str(refused.value) == (
            "scratch-OST0002 is measured by client1, which --limit leaves out; take it into the "
            "limit"
        )


def test_a_part_on_the_way_of_what_is_within_it_can_be_asked_about(ask: Ask) -> None:
    request = {"outside": SERVERS, "targets": ["oss2-disk1"], "budget": "1h"}
    following = ask([], **request)["next"]
    assert (following["layer"], following["node"]) == ("ost", "client1")


def test_a_name_that_the_site_does_not_have_is_still_refused_as_such(ask: Ask) -> None:
    with pytest.raises(UsageError, match="'oss9' is no part of this site"):
        ask([], outside=["oss1"], targets=["oss9"])
    assert set(LAB.plan.expectations) == set(HOSTS)
