"""The loop measures each step that plumbline chooses and fetches the records, until the end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Sequence

import pytest
from ansible.errors import AnsibleActionFail
from ansible_collections.hpcops.plumbline.plugins.plugin_utils.crew import Crew, NobodyAnswers
from ansible_collections.hpcops.plumbline.plugins.plugin_utils.investigation import (
    Console,
    Investigation,
    Question,
)
from ansible_collections.hpcops.plumbline.plugins.plugin_utils.nodes import Completed
from ansible_collections.hpcops.plumbline.plugins.plugin_utils.whereabouts import NotFound
from ansible_collections.hpcops.plumbline.tests.unit.plugins.plugin_utils.pretended import (
    DEAD,
    FakeNode,
    Site,
    export,
)

PLAN = {
    "nodes": {
        "client1": {"entries": [{"layer": "ost"}, {"layer": "net"}, {"layer": "rdma"}]},
        "oss1": {"entries": [{"layer": "raw"}, {"layer": "net"}, {"layer": "rdma"}]},
        "oss2": {"entries": [{"layer": "raw"}, {"layer": "net"}]},
    }
}
QUESTION = Question((), None, "5m", "1000TB", 50)
NODES = ("client1", "oss1", "oss2")


def step(layer: str, component: str = "", node: str = "", **more: Any) -> dict[str, Any]:
    words = f"{layer} {component}".strip()
    inputs = {"layer": layer, "component": component, "node": node, "words": words}
    return {**inputs, "seconds": 30.4, "bytes": 1, "slots": [], "partner": "", **more}


class Desk:
    """The control host; its plumbline chooses these steps one after the other."""

    def __init__(self, folder: Path, *steps: dict[str, Any], **answer: Any) -> None:
        self.folder = folder
        self.steps = list(steps)
        self.answer = answer
        self.output: list[str] = []
        self.requests: list[dict[str, Any]] = []
        self.arguments: list[Sequence[str]] = []
        self.now = 5000.0
        self.refusal = ""

    def plumbline(self, arguments: Sequence[str]) -> str:
        if "--records" not in arguments:
            # the question alone, before a node is asked
            if self.refusal:
                raise AnsibleActionFail(self.refusal)
            return "{}"
        self.arguments.append(arguments)
        self.requests.append(json.loads((self.folder / "request.json").read_text()))
        answer = {
            "next": self.steps.pop(0) if self.steps else None,
            "idle": {},
            "left_s": 270.0,
            "reason": "certain",
            "summary": "1 slow",
            "sentences": ["Suspect: disk d."],
            "beyond": ["a long one"],
            "unused": ["raw x: contended"],
            "table": ["a table"],
            "commands": ["oss1: fio"],
            **self.answer,
        }
        return json.dumps(answer)

    def clock(self) -> float:
        self.now += 0.25
        return self.now

    def run(
        self,
        *nodes: FakeNode,
        question: Question = QUESTION,
        limit: Sequence[str] = NODES,
        **options: Any,
    ) -> dict[str, Any]:
        answering = [node.name for node in nodes]
        crew = Crew(PLAN, answering, limit, Site(*nodes), self.output.extend)
        verbose = options.get("verbose", False)
        console = Console(self.plumbline, self.folder, self.clock, verbose=verbose)
        result = Investigation(PLAN, question, crew, console).run(dry=options.get("dry", False))
        return dict(result)


@pytest.fixture
def all_nodes() -> list[FakeNode]:
    return [FakeNode(name) for name in NODES]


def test_each_step_is_shown_and_measured_and_its_records_fetched(
    tmp_path: Path, all_nodes: list[FakeNode]
) -> None:
    client, oss1, oss2 = all_nodes
    client.answers["export"] = [export(), export({"id": "a", "layer": "ost"}), export()]
    second = step("raw", "oss2-disk1", "oss2")
    desk = Desk(tmp_path, step("ost"), second)
    result = desk.run(*all_nodes)
    assert client.units() == ["start plumbline-ost.service"]
    assert oss2.units() == ["start plumbline-raw@oss2-disk1.service"]
    assert oss1.units() == []
    assert result["steps"] == [step("ost"), second]
    assert [len(request["done"]) for request in desk.requests] == [0, 1, 2]
    assert desk.requests[0]["begun"] == dict.fromkeys(NODES, 1000.0)
    assert (tmp_path / "client1.jsonl").read_text() == '{"id": "a", "layer": "ost"}\n'
    # fetched records are not requested again
    assert json.loads(client.inputs[-1])["after"] == [1, "a"]
    assert desk.output == [
        "known: nothing that is not OK",
        *("Suspect: disk d.", "1 slow", "Step 1: ost, about 30 s"),
        *("Suspect: disk d.", "1 slow", "Step 2: raw oss2-disk1, about 30 s"),
        *("a table", "Shown with -v: 1 commands of tools, 1 results without a say"),
        "Not within the budget: a long one",
        *("Ended: certain, 2 steps, 2 s", "", "Suspect: disk d.", "1 slow"),
    ]


def test_a_question_that_plumbline_refuses_asks_no_node(
    tmp_path: Path, all_nodes: list[FakeNode]
) -> None:
    desk = Desk(tmp_path)
    desk.refusal = "budget: 'ten' is no time"
    with pytest.raises(AnsibleActionFail, match="no time"):
        desk.run(*all_nodes)
    assert not any(node.inputs for node in all_nodes)


def test_verbose_output_shows_commands_and_unused_results(
    tmp_path: Path, all_nodes: list[FakeNode]
) -> None:
    desk = Desk(tmp_path)
    desk.run(*all_nodes, verbose=True)
    end = desk.output.index("Commands:")
    assert desk.output[end - 1 : end + 3] == [
        *("a table", "Commands:", "oss1: fio"),
        "Speaks neither for nor against a part: raw x: contended",
    ]


def test_the_question_and_known_problems_reach_plumbline(
    tmp_path: Path, all_nodes: list[FakeNode]
) -> None:
    verdicts = [
        {"state": "WARNING", "component": "d1", "sentence": "d1 is slow"},
        {"state": "UNKNOWN", "component": "d2", "sentence": "d2 is stale"},
        {"state": "CRITICAL", "component": "d3", "sentence": "d3 is slow"},
        {"state": "OK", "component": "d4", "sentence": "d4 is fine"},
    ]
    all_nodes[1].answers["judge"] = Completed(2, json.dumps({"verdicts": verdicts}), "")
    all_nodes[2].answers["cat"] = '{"schema": 1}'
    all_nodes[2].answers["export"] = export(symptoms={"schema": 1})
    desk = Desk(tmp_path)
    desk.run(*all_nodes, question=Question(("oss1",), None, "90s", "50GB", 7))
    (request,) = desk.requests
    assert request["targets"] == ["oss1"]
    assert request["known"] == ["d3", "d1"]
    assert (request["budget"], request["budget_bytes"], request["forks"]) == ("90s", "50GB", 7)
    assert request["symptoms"] == {"oss2": {"schema": 1}}
    assert desk.output[:3] == [
        "known: WARNING d1 is slow",
        "known: UNKNOWN d2 is stale",
        "known: CRITICAL d3 is slow",
    ]
    (arguments,) = desk.arguments
    assert arguments[-3:] == ["--snapshots", str(tmp_path / "oss2.snapshot"), "--records"]


def test_all_windows_of_a_slot_open_before_a_pair_begins_and_anew_for_each_slot(
    tmp_path: Path, all_nodes: list[FakeNode]
) -> None:
    """The last one closes by itself: a slot of the timer may have begun in it."""
    desk = Desk(tmp_path, step("net", slots=[4, 5]), idle={"4": ["oss1"]})
    desk.run(*all_nodes)
    opened = "restart plumbline-netserver.service"
    fourth, fifth = (f"start plumbline-net@{slot}.service" for slot in (4, 5))
    client, oss1, oss2 = (node.units() for node in all_nodes)
    assert client == oss2 == [opened, fourth, opened, fifth]
    assert oss1 == [opened, opened, fifth]


def test_in_a_single_pair_one_node_begins_and_the_other_has_its_window_open(
    tmp_path: Path, all_nodes: list[FakeNode]
) -> None:
    pair = step("net", "oss1", "oss1", slots=[2], partner="client1")
    Desk(tmp_path, pair).run(*all_nodes)
    client, oss1, oss2 = (node.units() for node in all_nodes)
    assert client == ["restart plumbline-netserver.service"]
    assert oss1[1] == "start plumbline-net@2.service"
    assert oss2 == []


def test_for_a_pair_of_adapters_all_windows_of_rdma_open_and_one_node_begins(
    tmp_path: Path, all_nodes: list[FakeNode]
) -> None:
    pair = step("rdma", "oss1-ib1", "oss1", slots=[2], partner="client1")
    Desk(tmp_path, pair).run(*all_nodes)
    client, oss1, oss2 = (node.units() for node in all_nodes)
    opened = "restart plumbline-receiver.service"
    assert client == [opened]
    assert oss1 == [opened, "start plumbline-rdma@2.service"]
    assert oss2 == []


def test_a_unit_beyond_the_budget_is_stopped_and_reported(
    tmp_path: Path, all_nodes: list[FakeNode]
) -> None:
    all_nodes[0].answers["systemctl"] = [Completed(124, "", ""), Completed(0, "", "")]
    desk = Desk(tmp_path, step("ost"))
    desk.run(*all_nodes)
    assert all_nodes[0].units() == ["start plumbline-ost.service", "stop plumbline-ost.service"]
    assert "client1: plumbline-ost.service did not finish within the budget" in desk.output


def test_nothing_is_started_when_time_is_up(tmp_path: Path, all_nodes: list[FakeNode]) -> None:
    desk = Desk(tmp_path, step("raw"), step("net", slots=[0]), left_s=0.1)
    desk.run(*all_nodes)
    assert [node.units() for node in all_nodes] == [[], [], []]
    assert "oss1: plumbline-raw.service was not begun within the budget" in desk.output


def test_a_failing_unit_is_reported_with_the_message_of_its_journal(
    tmp_path: Path, all_nodes: list[FakeNode]
) -> None:
    all_nodes[1].answers["journalctl"] = "plumbline: disk d1: cannot be opened\n"
    all_nodes[1].answers["systemctl"] = Completed(1, "", "Job failed. See journalctl -xe")
    desk = Desk(tmp_path, step("raw"))
    desk.run(*all_nodes)
    output = "oss1: plumbline-raw.service failed: plumbline: disk d1: cannot be opened"
    assert output in desk.output


def test_a_node_that_stops_answering_drops_out_and_keeps_its_start_time(
    tmp_path: Path, all_nodes: list[FakeNode]
) -> None:
    all_nodes[2].answers["systemctl"] = DEAD
    desk = Desk(tmp_path, step("raw"), step("raw"))
    desk.run(*all_nodes)
    assert "oss2 does not answer: No route to host" in desk.output
    assert [request["silent"] for request in desk.requests] == [[], ["oss2"], ["oss2"]]
    assert desk.requests[-1]["begun"] == dict.fromkeys(NODES, 1000.0)
    assert len([line for line in all_nodes[2].commands if "systemctl" in line]) == 1


def test_nodes_outside_of_the_limit_are_named_and_not_queried(tmp_path: Path) -> None:
    client, oss2 = FakeNode("client1"), FakeNode("oss2")
    desk = Desk(tmp_path, step("raw"))
    desk.run(client, oss2, limit=["client1", "oss2"])
    assert desk.requests[0]["outside"] == ["oss1"]
    assert desk.requests[0]["silent"] == []
    assert oss2.units() == ["start plumbline-raw.service"]


def test_a_dry_run_shows_the_first_step_and_measures_nothing(
    tmp_path: Path, all_nodes: list[FakeNode]
) -> None:
    desk = Desk(tmp_path, step("ost"), step("raw"))
    result = desk.run(*all_nodes, dry=True)
    assert desk.output[-2:] == ["Step 1: ost, about 30 s", "Check mode: nothing is measured."]
    assert (result["steps"], result["next"]) == ([], step("ost"))
    assert [node.units() for node in all_nodes] == [[], [], []]


def test_a_node_with_a_broken_plumbline_drops_out(
    tmp_path: Path, all_nodes: list[FakeNode]
) -> None:
    all_nodes[1].answers["judge"] = Completed(1, "Traceback", "")
    desk = Desk(tmp_path)
    desk.run(*all_nodes)
    assert desk.requests[0]["silent"] == ["oss1"]
    assert desk.output[0].startswith("oss1 does not answer: plumbline judge gives no verdicts")


def test_the_counters_of_nodes_from_before_and_after_each_step_reach_plumbline(
    tmp_path: Path, all_nodes: list[FakeNode]
) -> None:
    all_nodes[0].answers["stages"] = ['{"at_s": 1}', '{"at_s": 2}', '{"at_s": 3}']
    desk = Desk(tmp_path, step("ost"), step("raw"))
    desk.run(*all_nodes)
    readings = [str(tmp_path / f"client1.{when}") for when in ("before", "after")]
    for arguments, given in zip(desk.arguments, (readings[:1], readings, readings)):
        place = arguments.index("--readings")
        assert arguments[place + 1 : arguments.index("--snapshots")] == given
    # the first from before, the last one from after
    assert [Path(name).read_text() for name in readings] == ['{"at_s": 1}', '{"at_s": 3}']
    (command,) = {line for line in all_nodes[0].commands if "stages" in line}
    assert command.startswith("setpriv --reuid=plumbline")
    assert "--bounding-set=-all,+dac_read_search" in command


def test_without_answering_nodes_there_is_no_investigation(tmp_path: Path) -> None:
    with pytest.raises(NobodyAnswers, match=r"No node answers. oss1: No route to host"):
        Desk(tmp_path).run(FakeNode("oss1", {"export": DEAD}))


HOLDERS = {
    "holders": [{"name": "OST0001", "component": "scratch-OST0001"}, {"name": "x", "component": ""}]
}
FILE = QUESTION._replace(user_path="/scratch/u/a $(file)", targets=("oss1",))


def test_the_targets_of_a_users_file_are_investigated(
    tmp_path: Path, all_nodes: list[FakeNode]
) -> None:
    all_nodes[0].answers["where"] = json.dumps(HOLDERS)
    desk = Desk(tmp_path)
    desk.run(*all_nodes, question=FILE)
    assert desk.requests[0]["targets"] == ["oss1", "scratch-OST0001", "x"]
    assert desk.output[0] == "/scratch/u/a $(file) lies on oss1, scratch-OST0001, x"
    (command,) = [line for line in all_nodes[0].commands if "where" in line]
    assert command.startswith("setpriv --reuid=plumbline")
    assert command.endswith("-- /scratch/u/a $(file)")
    assert not any("where" in line for line in all_nodes[1].commands)


def test_root_with_few_privileges_looks_up_a_file_that_the_user_cannot_see(
    tmp_path: Path, all_nodes: list[FakeNode]
) -> None:
    all_nodes[0].answers["where"] = [
        Completed(69, "", "denied"),
        Completed(0, json.dumps(HOLDERS), ""),
    ]
    Desk(tmp_path).run(*all_nodes, question=FILE)
    commands = [line for line in all_nodes[0].commands if "where" in line]
    assert "--reuid=root" in commands[1]
    assert "--bounding-set=-all,+dac_read_search" in commands[1]


def test_a_file_that_no_host_finds_is_refused_with_their_message(
    tmp_path: Path, all_nodes: list[FakeNode]
) -> None:
    all_nodes[0].answers["where"] = Completed(69, "", "plumbline: /scratch/u/x is not there\n")
    with pytest.raises(NotFound, match=r"^plumbline: /scratch/u/x is not there$"):
        Desk(tmp_path).run(*all_nodes, question=FILE)
    with pytest.raises(NotFound, match="No host that answers measures targets"):
        Desk(tmp_path).run(*all_nodes[1:], question=FILE)
