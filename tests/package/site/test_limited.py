"""Within a limit an investigation begins nothing on other nodes, and says whom it has not asked."""

from __future__ import annotations

from typing import Any

import pytest

from plumbline.model.errors import UsageError
from plumbline.model.rounds import Role, pairing
from tests.package.cli.test_investigate import WHOLE, Ask, ask, done
from tests.package.cli.test_locate import LAB, measured
from tests.package.locate.scenes import both
from tests.package.site.test_unreachable import BEHIND, failing

__all__ = ["ask"]

HOSTS = ("client1", "oss1", "oss2", "oss3")
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


def test_nobody_waits_for_a_partner_beyond_it(ask: Ask) -> None:
    answer = ask([], outside=["oss2"])
    assert answer["next"]["layer"] == "net"
    for slot in answer["next"]["slots"]:
        met = pairing(HOSTS, slot)["oss2"]
        waiting = [met.partner] if met.role is Role.RESPONDER else []
        assert [one for one in answer["idle"][str(slot)] if one != "oss2"] == waiting


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
