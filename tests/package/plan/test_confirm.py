"""What the plan says of confirmation: terms for each node and layer, and timers."""

from __future__ import annotations

from typing import Any

import pytest

from plumbline.model.errors import DocumentError
from plumbline.model.expectation import OFF, Expectation
from plumbline.plan.expectations import Plan, compile_plan
from plumbline.plan.policy import load
from plumbline.topology.graph import build
from tests.package.sites import site


def plan(**layers: dict[str, Any]) -> Plan:
    return compile_plan(build(site()), load({"layers": layers}), {})


def entries(of: Plan, layer: str) -> list[Expectation]:
    return [one for found in of.expectations.values() for one in found if one.layer == layer]


def test_targets_and_devices_are_confirmed_and_nothing_else() -> None:
    of = plan()
    assert {one.confirm.runs for layer in ("ost", "raw") for one in entries(of, layer)} == {7}
    assert {one.confirm for one in entries(of, "net")} <= {OFF}
    assert of.confirm["ost"] == {
        "calendar": "*-*-* 05..11:06",
        "randomized_delay_s": 300,
        "limit_s": 1500,
    }
    assert of.confirm["raw"]["calendar"] == "*-*-* 05..11:36"


def test_the_bytes_are_a_share_of_what_a_node_moves_and_pay_for_one_confirmation() -> None:
    confirm = {"runs": 4, "bytes": "10 %"}
    schedule = {"calendar": "*-*-1/2 02:06", "every": "2 d"}
    of = plan(ost={"probe": {"bytes": "1 MiB", "repeats": 2}, "confirm": confirm})
    every = entries(of, "ost")
    each = 2 * 2 * (1 << 20)
    terms = every[0].confirm
    assert terms.daily_bytes == pytest.approx(0.1 * each * len(every))
    assert terms.most_bytes == pytest.approx(terms.daily_bytes + 4 * 3 * each)
    seldom = plan(
        ost={
            "probe": {"bytes": "1 MiB", "repeats": 2},
            "confirm": confirm,
            "schedule": schedule,
        }
    )
    assert entries(seldom, "ost")[0].confirm.daily_bytes == pytest.approx(terms.daily_bytes / 2)


def test_no_runs_switch_it_off() -> None:
    of = plan(ost={"confirm": {"runs": 0}})
    assert "ost" not in of.confirm
    assert "raw" in of.confirm
    assert {one.confirm.runs for one in entries(of, "ost")} == {0}


@pytest.mark.parametrize(
    ("layer", "said"),
    [
        ("ost", {"bytes": "0 %"}),
        ("ost", {"runs": -1}),
        ("ost", {"runs": 101}),
        ("raw", {"calendar": "at; once"}),
        ("raw", {"hours": 3}),
        ("net", {"runs": 3}),
        ("fs", {"runs": 3}),
    ],
)
def test_what_makes_no_sense_is_refused(layer: str, said: dict[str, Any]) -> None:
    with pytest.raises(DocumentError):
        load({"layers": {layer: {"confirm": said}}})


def test_the_document_of_a_node_keeps_the_terms_and_an_older_one_has_none() -> None:
    one = entries(plan(), "ost")[0]
    raw = one.to_json()
    assert Expectation.from_json(raw) == one
    del raw["confirm"]
    assert Expectation.from_json(raw).confirm == OFF
