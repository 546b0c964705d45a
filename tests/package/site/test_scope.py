"""A node reports only what the plan lets it: clones and intruders speak for nobody else.

The nodes are folders of this machine, as in the tests of ``collect``; the console judges.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, Mapping, Sequence
from uuid import uuid4

import pytest

from plumbline.cli import main
from plumbline.model.codec import write
from plumbline.model.expectation import FabricLink
from plumbline.model.limits import Reference
from plumbline.model.record import Record
from plumbline.model.series import Running
from plumbline.model.space import Amount, SpaceTerms, TargetSpace
from plumbline.model.symptom import Direction, Look, Report, Symptom
from plumbline.model.trend import SERVER
from plumbline.model.verdict import State
from plumbline.parts.space import outlook as space_look
from plumbline.parts.space.history import record_of
from plumbline.store.database import Selection
from plumbline.store.facts import collected_symptoms, keep_conditions
from plumbline.store.history import History
from tests.package.judgements import BASELINE, expectation
from tests.package.model.ledgers import bill, condition
from tests.package.observe.servers import counted
from tests.package.records import every_night, save
from tests.package.site.test_gather import Site, result

TARGETS = {"client1": ("t1", "t2", "t3"), "client2": ("u1", "u2", "u3")}
GOOD, SLOW = 200e6, 20e6


class TwoClients(Site):
    """Two clients of one file system, each with targets of its own, and eight good nights."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, tuple(TARGETS))
        reference = Reference(None, BASELINE)
        for node, targets in TARGETS.items():
            entries = [
                expectation(
                    component=target,
                    target={"kind": "directory", "directory": f"/mnt/{target}"},
                    path=(node, "switch1", f"disk-{target}"),
                    references={"read/single": reference},
                ).to_json()
                for target in targets
            ]
            self.set_entries(node, entries)

    def send(self, node: str, targets: Sequence[str], rate: float, **changes: Any) -> list[Record]:
        """Save eight nights of these targets in the history of a node."""
        values = {"host": node, "rate": rate, "repeats": (rate,) * 3, "spec_hash": "abc"}
        records = [
            entry._replace(id=uuid4().hex)
            for target in targets
            for entry in every_night(time.time() - 60, component=target, **{**values, **changes})
        ]
        save(self.folder / node / "history.sqlite", records)
        return records

    def states(self, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
        """Return the state of each target by the judge of the console."""
        capsys.readouterr()
        main(["judge", "--plan", str(self.plan), "--history", str(self.history), "--json"])
        (*documents,) = map(json.loads, capsys.readouterr().out.splitlines())
        return {
            verdict["component"]: verdict["state"]
            for document in documents
            for verdict in document["verdicts"]
            if not verdict["group"]
        }


@pytest.fixture
def two(tmp_path: Path) -> TwoClients:
    return TwoClients(tmp_path)


def components(site: Site) -> set[str]:
    with History(site.history) as history:
        return {record.component for record in history.records(Selection())}


OTHERS = (
    "24 records of ost u1, u2, u3 left out, which the plan lets client2 measure: deploy the node "
    "and the console; a clone needs a name of its own, --another-client a --state of its own"
)


def test_a_node_accuses_no_target_of_another(
    two: TwoClients, capsys: pytest.CaptureFixture[str]
) -> None:
    two.send("client1", TARGETS["client1"], GOOD)
    two.send("client2", TARGETS["client2"], GOOD)
    assert two.collect() == 0
    honest = two.states(capsys)
    assert set(honest.values()) == {"OK"}
    two.send("client1", TARGETS["client2"], SLOW)
    node = result(two, capsys)["client1"]
    assert (node["new"], node["left_out"], node["cursor"]["seq"]) == (0, [OTHERS], 48)
    assert two.states(capsys) == honest
    # the next collection goes on after them
    assert two.collect() == 0


def test_good_records_of_another_node_hide_no_fault(
    two: TwoClients, capsys: pytest.CaptureFixture[str]
) -> None:
    two.send("client2", ("u2", "u3"), GOOD)
    two.send("client2", ("u1",), SLOW)
    two.send("client1", ("u1",), GOOD)
    assert two.collect() == 65
    assert "8 records of ost u1 left out, which the plan lets client2" in capsys.readouterr().out
    states = two.states(capsys)
    assert (states["u1"], states["u2"]) == ("CRITICAL", "OK")


def test_a_clone_is_told_by_the_name_in_its_records(
    two: TwoClients, capsys: pytest.CaptureFixture[str]
) -> None:
    two.send("client1", ("u1", "t1"), SLOW, host="client2")
    assert two.collect() == 65
    assert "16 records of ost u1, t1 left out, measured by client2: " in capsys.readouterr().out
    assert components(two) == set()


def test_records_that_the_console_has_already_are_no_trouble(
    two: TwoClients, capsys: pytest.CaptureFixture[str]
) -> None:
    """A history that was copied to another client, or a client that was renamed."""
    records = two.send("client2", ("u1",), GOOD)
    assert two.collect() == 0
    save(two.folder / "client1" / "history.sqlite", records)
    assert result(two, capsys)["client1"]["left_out"] == []


def test_what_nobody_measures_any_more_keeps_its_records(two: TwoClients) -> None:
    two.send("client1", ("retired",), GOOD)
    assert two.collect() == 0
    assert components(two) == {"retired"}


def test_a_run_in_progress_of_another_node_is_left_out(
    two: TwoClients, capsys: pytest.CaptureFixture[str]
) -> None:
    own, foreign = Running("ost", "t1", 1795241041.0), Running("ost", "u1", 1795241041.0)
    with History(two.folder / "client1" / "history.sqlite") as history:
        history.begin("run-1", own)
        history.begin("run-1", foreign)
    assert two.collect() == 65
    assert "1 run in progress of ost u1 left out, which the plan" in capsys.readouterr().out
    with History(two.history) as history:
        assert history.running() == (own,)


def look(site: Site, node: str, *parts: str, looked_by: str = "") -> None:
    """Save symptoms of these parts on a node."""
    symptoms = (
        Symptom("md", part, "degraded", State.WARNING, Direction.RAISES, f"{part} is degraded")
        for part in parts
    )
    report = Report(looked_by or node, time.time(), (Look("md", 1, tuple(symptoms)),))
    (site.folder / node / "symptoms.json").write_text(json.dumps(write(report)))


def parts_with_symptoms(two: TwoClients) -> tuple[str, ...]:
    """Return the parts whose symptoms the console has collected."""
    collected = collected_symptoms(two.history, two.nodes, time.time())
    return tuple(symptom.component for symptom in collected.symptoms)


def test_a_node_has_symptoms_of_its_own_parts_and_paths_only(
    two: TwoClients, capsys: pytest.CaptureFixture[str]
) -> None:
    two.measure("client1", component="t1")
    seen = ("client1", "disk-t1", "switch1", "scratch-MDT0000")
    look(two, "client1", *seen, "disk-u1", "client2")
    assert two.collect() == 65
    text = "2 symptoms of disk-u1, client2 left out, which the plan does not show this node: "
    assert text in capsys.readouterr().out
    assert parts_with_symptoms(two) == seen


def test_the_node_that_looks_at_the_fabric_speaks_for_all_its_links(
    two: TwoClients, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = json.loads(two.plan.read_text())
    ways = (
        FabricLink("client2-nic", ("client2", "leaf2"), None, of_host=True),
        FabricLink("leaf2", ("leaf2", "spine1"), 1e10),
    )
    plan["nodes"]["client1"]["fabric"] = write(ways)
    plan["nodes"]["client2"]["entries"][0]["path"] += ["client2-nic", "leaf2", "spine1"]
    two.plan.write_text(json.dumps(plan))
    two.measure("client1", component="t1")
    seen = ("client2-nic", "leaf2", "spine1")
    look(two, "client1", *seen, "disk-u1")
    assert two.collect() == 65
    assert "1 symptom of disk-u1 left out" in capsys.readouterr().out
    assert parts_with_symptoms(two) == seen


def test_a_host_speaks_for_the_hosts_of_its_pairs(
    two: TwoClients, capsys: pytest.CaptureFixture[str]
) -> None:
    """An MDS looks at LNet's peers, and is on no path to them but that of a pair."""
    plan = json.loads(two.plan.read_text())
    pair = plan["nodes"]["client1"]["entries"][0]
    pair["partners"] = [{"name": "client2", "address": "192.0.2.2", "path": [], "ceiling": None}]
    two.plan.write_text(json.dumps(plan))
    two.measure("client1", component="t1")
    look(two, "client1", "client2", "disk-u1")
    assert two.collect() == 65
    assert "1 symptom of disk-u1 left out" in capsys.readouterr().out
    assert parts_with_symptoms(two) == ("client2",)


def test_a_node_tells_the_space_of_its_own_file_systems_only(
    two: TwoClients, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = json.loads(two.plan.read_text())
    for node, names in {"client1": ("home",), "client2": ("home", "work")}.items():
        plan["nodes"][node]["space"] = write([SpaceTerms(name) for name in names])
    two.plan.write_text(json.dumps(plan))

    def space(name: str, node: str) -> Record:
        full = TargetSpace("t1", "ost", Amount(99, 1))
        return record_of(space_look.Look(SpaceTerms(name), time.time(), (full,)), node)

    own = space("home", "client1")
    forged = space("home", "client2")._replace(host="client1")
    save(two.folder / "client1" / "history.sqlite", [own, space("work", "client1"), forged])
    assert two.collect() == 65
    out = capsys.readouterr().out
    assert "1 record of space work left out, which the plan lets client2 measure: " in out
    assert "1 record of space home left out, read by client2: " in out
    with History(two.history) as history:
        assert [record.id for record in history.records(Selection("space"))] == [own.id]


def test_symptoms_and_changes_of_another_node_are_refused(
    two: TwoClients, capsys: pytest.CaptureFixture[str]
) -> None:
    two.measure("client1", component="t1")
    look(two, "client1", "client2", looked_by="client2")
    keep_conditions(two.folder / "client1", bill(condition("kernel", "4"), node="client2"))
    assert two.collect() == 0
    out = capsys.readouterr().out
    assert "without its symptoms: they are those of client2" in out
    assert "without its changes: its ledger of conditions is of 'client2'" in out
    assert collected_symptoms(two.history, two.nodes, time.time()).symptoms == ()


SERVERS: Mapping[str, tuple[str, ...]] = {
    "oss1": ("scratch-OST0003",),
    "oss2": ("scratch-OST0004",),
    "client1": (),
}


@pytest.mark.parametrize(("node", "kept"), [("oss1", 2), ("oss2", 2), ("client1", 0)])
def test_a_target_is_counted_by_its_server_or_the_one_that_takes_over(
    tmp_path: Path, node: str, kept: int, capsys: pytest.CaptureFixture[str]
) -> None:
    site = Site(tmp_path, tuple(SERVERS))
    plan = json.loads(site.plan.read_text())
    for name, served in SERVERS.items():
        plan["nodes"][name]["served"] = served
    site.plan.write_text(json.dumps(plan))
    save(
        site.folder / node / "history.sqlite", counted([1e6] * 9, start=time.time() - 60, host=node)
    )
    assert site.collect() == (0 if kept else 65)
    assert ("of server scratch-OST0003 left out" in capsys.readouterr().out) is not bool(kept)
    with History(site.history) as history:
        assert len(list(history.records(Selection(SERVER)))) == kept
