"""All pairs through a part measure slot by slot, and plumbline gets their records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Sequence

import pytest
from ansible.errors import AnsibleActionFail
from ansible_collections.hpcops.plumbline.plugins.plugin_utils.crew import Crew
from ansible_collections.hpcops.plumbline.plugins.plugin_utils.nodes import Completed
from ansible_collections.hpcops.plumbline.plugins.plugin_utils.through import (
    Desk,
    Question,
    Through,
)
from ansible_collections.hpcops.plumbline.tests.unit.plugins.plugin_utils.pretended import (
    DEAD,
    FakeNode,
    Site,
    export,
)

HOSTS = ("h1", "h2", "h3", "h4", "h5")
PLAN = {
    "schedule": {"net": {"limit_s": 300}},
    "nodes": {name: {"entries": [{"layer": "net"}]} for name in HOSTS},
}
SLOTS = [
    {"slot": 3, "leaving": [["h1", "h3"], ["h2", "h4"]], "within": []},
    {"slot": 8, "leaving": [["h4", "h1"]], "within": [["h2", "h3"]]},
]
WINDOW = "plumbline-netserver.service"


class Run:
    """A measurement through leaf1 by five hosts, some of which have other answers."""

    def __init__(
        self,
        folder: Path,
        answering: Sequence[str] = HOSTS,
        refusal: str = "",
        balanced: bool = False,
        **others: dict[str, Any],
    ) -> None:
        self.nodes = {
            name: FakeNode(name, {"export": export({"id": name}), **others.get(name, {})})
            for name in HOSTS
        }
        self.said: list[str] = []
        self.asked: list[list[str]] = []
        self.refusal = refusal
        self.crew = Crew(PLAN, answering, HOSTS, Site(*self.nodes.values()), self.said.extend)
        desk = Desk(self.plumbline, folder)
        self.through = Through(PLAN, Question("leaf1", balanced), self.crew, desk)

    def plumbline(self, arguments: Sequence[str]) -> str:
        if self.refusal:
            raise AnsibleActionFail(self.refusal)
        self.asked.append(list(arguments))
        return json.dumps({"slots": SLOTS, "sums": [], "lines": ["the table"]})

    def units(self, name: str) -> list[str]:
        units: list[str] = self.nodes[name].units()
        return units


def test_only_hosts_of_pairs_that_cross_the_part_measure(tmp_path: Path) -> None:
    run = Run(tmp_path)
    assert run.through.slots == [3, 8]
    assert run.through.run()["lines"] == ["the table"]
    assert run.units("h1") == [
        f"restart {WINDOW}",
        "start plumbline-net@3.service",
        f"restart {WINDOW}",
    ]
    assert run.units("h4") == [*[f"restart {WINDOW}"] * 2, "start plumbline-net@8.service"]
    assert run.units("h5") == []
    assert run.said == [
        "leaf1, slot 1 of 2: 2 pairs at once",
        "leaf1, slot 2 of 2: 2 pairs at once",
        "the table",
    ]


def test_plumbline_gets_the_plan_and_the_records_of_all_senders(tmp_path: Path) -> None:
    run = Run(tmp_path, balanced=True)
    run.through.run()
    first, last = run.asked
    plan = tmp_path / "plan.json"
    assert first == ["through", "leaf1", "--plan", str(plan), "--balanced", "--json"]
    assert last[: len(first) + 1] == [*first, "--records"]
    assert json.loads(plan.read_text(encoding="utf-8")) == PLAN
    files = [Path(name) for name in last[len(first) + 1 :]]
    texts = [file.read_text(encoding="utf-8") for file in files]
    assert [json.loads(text)["id"] for text in texts] == ["h1", "h2", "h4"]
    # by the clock of the node
    requests = [json.loads(text) for text in run.nodes["h1"].inputs if '"since"' in text]
    assert [request["since"] for request in requests] == [1000.0]


def test_a_pair_with_a_silent_host_is_left_out(tmp_path: Path) -> None:
    run = Run(tmp_path, answering=HOSTS[:3])
    run.through.run()
    assert run.units("h1") == [f"restart {WINDOW}", "start plumbline-net@3.service"]
    assert "start plumbline-net@3.service" not in run.units("h2")
    assert run.said == [
        "leaf1, slot 1 of 2: 1 pair at once, 1 left out",
        "leaf1, slot 2 of 2: 1 pair at once, 1 left out",
        "the table",
    ]


def test_a_node_that_dies_meanwhile_is_named_and_the_others_go_on(tmp_path: Path) -> None:
    run = Run(tmp_path, h2={"systemctl": DEAD})
    run.through.run()
    assert "h2 does not answer: No route to host" in run.said
    assert "start plumbline-net@8.service" in run.units("h4")
    assert run.crew.lost == {"h2": "No route to host"}
    assert run.asked[-1][-2:] == [str(tmp_path / f"{name}.jsonl") for name in ("h1", "h4")]


def test_damaged_records_of_a_node_are_counted(tmp_path: Path) -> None:
    damaged = export({"id": "h2"}).replace('{"id"', '{"di"')
    run = Run(tmp_path, h2={"export": damaged})
    run.through.run()
    assert run.said[-2:] == ["h2: 1 damaged record is left out", "the table"]
    assert (tmp_path / "h2.jsonl").read_text(encoding="utf-8") == ""


def test_a_unit_that_fails_is_named(tmp_path: Path) -> None:
    failed = Completed(1, "", "Job for plumbline-net@3.service failed.\n")
    journal = {"systemctl": failed, "journalctl": "plumbline: net h1: netperf is missing\n"}
    run = Run(tmp_path, h1=journal)
    run.through.run()
    sentence = "h1: plumbline-net@3.service failed: plumbline: net h1: netperf is missing"
    assert sentence in run.said


def test_a_part_that_no_pair_crosses_starts_nothing(tmp_path: Path) -> None:
    with pytest.raises(AnsibleActionFail, match="the plan has no part leaf1"):
        Run(tmp_path, refusal="plumbline: the plan has no part leaf1")
