"""Nodes read a part at one moment; the first of them records the sum."""

from __future__ import annotations

import json
from typing import Any, Optional

import pytest
from ansible_collections.hpcops.plumbline.plugins.plugin_utils.crew import Crew
from ansible_collections.hpcops.plumbline.plugins.plugin_utils.nodes import Completed
from ansible_collections.hpcops.plumbline.plugins.plugin_utils.together import (
    Impossible,
    Together,
)
from ansible_collections.hpcops.plumbline.tests.unit.plugins.plugin_utils.pretended import (
    DEAD,
    FakeNode,
    Site,
    export,
)

NOW = 1_795_930_000.0
MOMENT = 1_795_930_020
FLOWS = [
    {"node": node, "layer": "raw", "component": f"{node}-disk{number}", "free_Bps": 2e8}
    for number in (1, 2)
    for node in ("oss1", "oss2", "oss3", "oss4")
]
READS = {"component": "ctl", "flows": FLOWS, "seconds": 10.0}
PLAN = {"nodes": {f"oss{number}": {"entries": [], "shared": [READS]} for number in (1, 2, 3, 4)}}
SUM = "ctl: 8 reads of 4 nodes at once gave 750.0 MB/s, 94 % of its ceiling 800.0 MB/s."


def flows(node: str, at: int = MOMENT) -> dict[str, Any]:
    return {"id": node, "layer": "flows", "run_id": f"ctl@{at}", "host": node}


def node(name: str, **answers: Any) -> FakeNode:
    return FakeNode(
        name,
        {
            "date": f"{NOW + 0.2}\n",
            "systemctl": "",
            "export": export(flows(name), flows(name, MOMENT - 600)),
            "probe": f"{SUM}\nOK ctl\n",
            **answers,
        },
    )


class Run:
    """A read of four nodes, some of which have other answers."""

    def __init__(self, answering: Optional[list[str]] = None, **others: dict[str, Any]) -> None:
        names = [f"oss{number}" for number in (1, 2, 3, 4)]
        self.nodes = {name: node(name, **others.get(name, {})) for name in names}
        self.said: list[str] = []
        site = Site(*self.nodes.values())
        crew = Crew(PLAN, answering or names, names, site, self.said.extend)
        self.together = Together(PLAN, "ctl", crew, lambda: NOW)

    def started(self) -> list[str]:
        return [name for name, one in self.nodes.items() if one.units()]


def test_all_nodes_start_for_one_moment_and_the_first_records_the_sum() -> None:
    run = Run()
    found = run.together.run()
    assert (found["at"], found["sentence"], found["lines"]) == (MOMENT, SUM, ["OK ctl"])
    for one in run.nodes.values():
        assert one.units() == [f"start plumbline-shared@ctl@{MOMENT}.service"]
    probes = {name: [c for c in one.commands if "probe" in c] for name, one in run.nodes.items()}
    assert [name for name, calls in probes.items() if calls] == ["oss1"]
    (call,) = probes["oss1"]
    assert call.endswith(f"plumbline probe shared --component ctl@{MOMENT} --flows -")
    given = run.nodes["oss1"].inputs[-1]
    # the flows of this moment and no others
    assert [json.loads(line)["id"] for line in given.splitlines()] == [*run.nodes]


def test_a_record_of_before_the_moment_counts() -> None:
    """A node whose storage cannot be read records the reason at once."""
    run = Run()
    run.together.run()
    requests = [json.loads(text) for text in run.nodes["oss2"].inputs if '"since"' in text]
    assert [request["since"] for request in requests] == [NOW - 2]


def test_a_node_with_a_wrong_clock_stays_out_and_is_named() -> None:
    run = Run(oss3={"date": f"{NOW + 4.0}\n"})
    run.together.run()
    assert run.said == ["oss3 stays out: its clock is 4.0 s ahead; see chronyc tracking there"]
    assert run.started() == ["oss1", "oss2", "oss4"]
    run = Run(oss2={"date": f"{NOW - 61.5}\n"})
    run.together.run()
    assert "oss2 stays out: its clock is 61.5 s behind" in run.said[0]


def test_half_of_the_flows_missing_starts_nothing() -> None:
    for run in (
        Run(["oss1", "oss2"]),
        Run(oss3={"date": f"{NOW + 4.0}\n"}, oss4={"date": f"{NOW + 4.0}\n"}),
    ):
        with pytest.raises(Impossible, match=r"half of its 8 flows or more .*: oss3, oss4"):
            run.together.run()
        assert run.started() == []


def test_the_node_that_records_must_answer() -> None:
    with pytest.raises(Impossible, match="ctl is recorded by oss1, which does not answer"):
        Run(["oss2", "oss3", "oss4"]).together.run()


def test_a_node_that_dies_meanwhile_is_named_and_the_others_are_added() -> None:
    run = Run(oss4={"systemctl": DEAD})
    run.together.run()
    assert run.said == ["oss4 does not answer: No route to host"]
    given = run.nodes["oss1"].inputs[-1]
    assert len(given.splitlines()) == 3


def test_a_sum_that_cannot_be_recorded_is_an_error_with_its_reason() -> None:
    refused = Completed(65, "", "plumbline: a record is damaged\n")
    with pytest.raises(
        Impossible, match=r"oss1 could not record .*: plumbline: a record is damaged"
    ):
        Run(oss1={"probe": refused}).together.run()


def test_a_part_that_nothing_reads_together_is_refused_with_those_that_are() -> None:
    with pytest.raises(Impossible, match=r"the plan has ctl\. See plumbline topology check"):
        Together(PLAN, "switch1", Crew(PLAN, [], [], Site()), lambda: NOW)
