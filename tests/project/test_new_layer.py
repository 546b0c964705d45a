"""A layer in other quantities needs only its own file, its probe, and a line in each registry.

The tests use a copy of the package with a layer ``meta`` that creates and looks up files, in
operations per second and in seconds, and a creation gives the time of 99 % of its calls besides its
rate.  Everything else is unchanged.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any, Iterator, NamedTuple

import pytest

from plumbline.model.codec import read
from plumbline.model.spec import ProbeSpec
from tests.characterization.door import Node, bring
from tests.characterization.product import (
    Answer,
    as_answer,
    forks_at,
    inventories,
    parsed,
    run,
)
from tests.forks import Forks
from tests.project.repository import ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("faketime") is None, reason="there is no faketime"),
]

LAYER = '''"""Metadata of targets: files that are created, and the time to look one up."""

from __future__ import annotations

from plumbline.model.layers.layer import Layer
from plumbline.model.quantity import OPERATIONS_PER_S, SECONDS
from plumbline.model.record import Operation, Scenario
from plumbline.model.spec import ProbeSpec

CREATE = Operation.define("create", OPERATIONS_PER_S)
META = Layer(
    name="meta",
    noun="target",
    operations=(CREATE, Operation.define("lookup", SECONDS)),
    quantities=(CREATE.define_quantity("p99", SECONDS),),
    scenarios=(Scenario.SINGLE,),
    spec=ProbeSpec("mdtest", bytes=0, seconds=10.0),
    min_efficiency=0.0,
    depth=7,
    results="metadata",
    measured_by="ost",
    on_targets=True,
    grouped=True,
    if_named=True,
)
'''
PROBE = '''"""mdtest: create and look up files."""

from __future__ import annotations

from plumbline.measure.probes import interface as answer
from plumbline.measure.probes.interface import Job
from plumbline.model.command import Completed
from plumbline.model.layers.meta import META
from plumbline.model.record import Measurement

LAYERS = (META,)
VERSION_COMMAND = ("mdtest", "--version")
SPARE_S = 30.0


def command(job: Job) -> tuple[str, ...]:
    """Return the call."""
    return ("mdtest", f"-W={job.spec.seconds:g}", "-d", job.subject)


def parse(job: Job, completed: Completed) -> Measurement:
    """Return the rate."""
    words = (answer.number("mdtest", "rate", word) for word in completed.stdout.split())
    seconds, rate, p99 = words
    return Measurement(bytes=0, seconds=seconds, rate=rate, quantities={"p99": p99})
'''
NIGHTS, NOW, DAY_S = 8, 1_767_225_600.0, 86400.0
SLOW = "scratch-OST0002"
LATE = "scratch-OST0004"
CREATES, LOOKUP_S, P99_S = 4000.0, 0.002, 0.01


class Branch(NamedTuple):
    """A copy of the package with the layer, and a console with a week of its records."""

    source: Path
    folder: Path
    forks: Forks

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment variables of the branch's plumbline."""
        return {"PYTHONPATH": str(self.source)}

    def ask(self, *argv: str, at: float = NOW) -> Answer:
        """Run the branch's plumbline and return its answer."""
        assert at == NOW
        return as_answer(self.forks.call(argv))

    def of_site(self, verb: str, *options: str) -> Answer:
        """Run a verb with plan and history and return its answer."""
        site = ("--plan", f"{self.folder}/plan.json", "--history", f"{self.folder}/history.sqlite")
        return self.ask(verb, *site, *options)


def insert(path: Path, *pairs: tuple[str, str]) -> None:
    """Insert text into a registry."""
    text = path.read_text(encoding="utf-8")
    for before, after in pairs:
        assert before in text
        text = text.replace(before, after, 1)
    path.write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a copy of the package with the layer."""
    folder = tmp_path_factory.mktemp("source")
    package = folder / "plumbline"
    shutil.copytree(
        ROOT / "src" / "plumbline", package, ignore=shutil.ignore_patterns("__pycache__")
    )
    (package / "model" / "layers" / "meta.py").write_text(LAYER, encoding="utf-8")
    insert(
        package / "model" / "layers" / "__init__.py",
        ("import FS\n", "import FS\nfrom plumbline.model.layers.meta import META\n"),
        ("SHARED, RDMA)", "SHARED, RDMA, META)"),
    )
    probes = package / "measure" / "probes"
    (probes / "mdtest.py").write_text(PROBE, encoding="utf-8")
    insert(probes / "__init__.py", ('"fio"', '"mdtest", "fio"'))
    return folder


@pytest.fixture(scope="module")
def branch(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Branch]:
    folder = tmp_path_factory.mktemp("branch")
    with forks_at(NOW, str(source)) as forks:
        yield filled(Branch(source, folder, forks))


def filled(result: Branch) -> Branch:
    """Write plan and records of the new layer."""
    folder = result.folder
    inventory = folder / "inventory"
    shutil.copytree(inventories() / "lab", inventory)
    policy = inventory / "group_vars" / "all" / "policy.yml"
    insert(policy, ("    ost:\n", "    meta: {judge: [p99], limits: {warning: '90:'}}\n    ost:\n"))
    planned = result.ask("plan", "-i", str(inventory), "--json")
    assert planned.code == 0, planned.err
    (folder / "plan.json").write_text(planned.out, encoding="utf-8")
    nodes = {"client1": Node(list(records(planned.document()["nodes"]["client1"])))}
    bring(folder, nodes, NOW, result.ask)
    return result


def records(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a week of records; in the last nights one target is slow, one only in its p99."""
    entries = [entry for entry in node["entries"] if entry["layer"] == "meta"]
    for night in range(NIGHTS):
        for number, entry in enumerate(entries):
            faulty = entry["component"] if night >= NIGHTS - 3 else ""
            healthy = 1 + 0.01 * ((night + number) % 3)
            share = (0.4 if faulty == SLOW else 1.0) * healthy
            late = (0.4 if faulty == LATE else 1.0) * healthy
            for operation, rate in (
                ("create", share * CREATES),
                ("create p99", late / P99_S),
                ("lookup", share / LOOKUP_S),
            ):
                at = NOW - (NIGHTS - night) * DAY_S + 3600 + 20 * number
                yield {
                    "schema": 1,
                    "id": f"{entry['component']} {operation} {night}",
                    "run_id": f"night {night}",
                    "layer": "meta",
                    "component": entry["component"],
                    "operation": operation,
                    "scenario": "single",
                    "outcome": "ok",
                    "host": "client1",
                    "started_at": at,
                    "finished_at": at + 10.0,
                    "path": entry["path"],
                    "seconds": 10.0,
                    "rate": rate,
                    "repeats": [rate],
                    "spec": entry["spec"],
                    "spec_hash": read(ProbeSpec, entry["spec"]).hash(),
                    "versions": {},
                }


def test_the_new_layer_is_planned_only_if_the_policy_names_it(branch: Branch) -> None:
    plan = branch.ask("plan", "-i", str(inventories() / "lab"), "--json").document()
    named = json.loads((branch.folder / "plan.json").read_text(encoding="utf-8"))
    for document, layers in (
        (plan, {"ost", "raw", "net", "fs", "mdt"}),
        (named, {"ost", "raw", "net", "fs", "mdt", "meta"}),
    ):
        nodes = document["nodes"].values()
        assert {entry["layer"] for node in nodes for entry in node["entries"]} == layers
        assert document["schedule"].keys() == layers


def test_services_of_the_new_layer_judge_in_its_units(branch: Branch) -> None:
    documents = parsed(branch.of_site("judge", "--json").out)
    verdicts = {
        verdict["component"]: verdict
        for document in documents
        for verdict in document["verdicts"]
        if verdict["layer"] == "meta" and not verdict["group"]
    }
    assert {name: verdict["state"] for name, verdict in verdicts.items()} == {
        f"scratch-OST000{number}": "CRITICAL" if number in (2, 4) else "OK" for number in range(6)
    }
    slow, fine = verdicts[SLOW], verdicts["scratch-OST0000"]["sentence"]
    assert slow["sentence"].startswith(
        f"{SLOW} create 1.6 kops/s, no baseline yet, 40 % of its 5 peers' median 4.0 kops/s: "
        "40 % of its peers in the same run over 3 runs"
    )
    assert "lookup 2.0 ms, no baseline yet, 1.0 times its 5 peers' median 2.0 ms" in fine
    assert any("lookup 5.0 ms" in line for line in slow["evidence"])
    batch = branch.folder / "batch"
    assert branch.of_site("submit", "--batch", str(batch)).code == 0
    (line,) = (
        line
        for line in batch.read_text(encoding="utf-8").splitlines()
        if f"META {SLOW} create lookup;2;" in line
    )
    # higher is better for creates, lower for times
    rates = "'create_ops'=1600;3636:;2020:;0 'lookup_s'=0.005;0.0022;0.00396;0"
    assert line.endswith(f"| {rates} 'create_p99_s'=0.01;0.011;0.0198;0")


def test_a_quantity_beside_a_rate_is_judged_as_the_rate_is(branch: Branch) -> None:
    documents = parsed(branch.of_site("judge", "--json").out)
    (late,) = (
        verdict
        for document in documents
        for verdict in document["verdicts"]
        if (verdict["layer"], verdict["component"]) == ("meta", LATE)
    )
    assert late["sentence"].startswith(
        f"{LATE} create p99 24.5 ms, no baseline yet, 2.5 times its 5 peers' median 9.9 ms: "
        "40 % of its peers in the same run over 3 runs"
    )
    labels = f'layer="meta",component="{LATE}",file_system="scratch",operation="create p99"'
    metrics = branch.of_site("metrics").out
    assert f'plumbline_rate_seconds{{{labels},scenario="single"}} 0.0245' in metrics
    local = branch.of_site("metrics", "--format", "checkmk").out
    assert "create_p99_s=0.0245" in local


def test_a_run_records_a_quantity_that_is_judged(branch: Branch, tmp_path: Path) -> None:
    plan = json.loads((branch.folder / "plan.json").read_text(encoding="utf-8"))
    node = plan["nodes"]["client1"]
    entry = next(entry for entry in node["entries"] if entry["layer"] == "meta")
    entry["target"] = {"kind": "directory", "directory": str(tmp_path)}
    expectations, tool = tmp_path / "expectations.json", tmp_path / "bin" / "mdtest"
    expectations.write_text(json.dumps({**node, "entries": [entry]}), encoding="utf-8")
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\necho 10 4000.0 0.01\n", encoding="utf-8")
    tool.chmod(0o755)
    state = ("--state", str(tmp_path))
    environment = {**branch.environment, "PATH": f"{tool.parent}:{os.environ['PATH']}"}
    options = ("--expectations", str(expectations), *state)
    probed = run("probe", "meta", *options, at=NOW, environment=environment)
    assert (probed.code, "create measured 4.0 kops/s" in probed.out) == (3, True), probed.err
    records = parsed(branch.ask("history", "--json", *state).out)
    assert [(record["operation"], record["rate"]) for record in records] == [
        ("create", 4000.0),
        ("create p99", 100.0),
        ("lookup", 4000.0),
    ]
    assert records[0]["quantities"] == {"p99": 0.01}


def test_figures_of_the_new_layer_have_their_unit_everywhere(branch: Branch) -> None:
    metrics = branch.of_site("metrics").out
    labels = f'layer="meta",component="{SLOW}",file_system="scratch"'
    for name, operation, value in (
        ("rate_operations_per_second", "create", 1600.0),
        ("rate_seconds", "lookup", 0.005),
        ("peers_operations_per_second", "create", 4040.0),
    ):
        sample = f'{{{labels},operation="{operation}",scenario="single"}} {value}\n'
        assert f"plumbline_{name}{sample}" in metrics
    lines = branch.of_site("status").out.splitlines()
    line = next(line for line in lines if " meta " in line)
    # a narrow terminal has the trend without its name
    assert (line.split()[:3], "1.6 kops/s" in line) == (["CRITICAL", "meta", SLOW], True)
    past = branch.ask("history", SLOW, "--layer", "meta", "--state", str(branch.folder)).out
    assert ("1.6 kops/s" in past, "5.0 ms" in past, "MB/s" in past) == (True, True, False)
    report = branch.folder / "report"
    assert branch.of_site("report", "--output", str(report)).code == 0
    numbers = (report / "data" / "targets.csv").read_text(encoding="utf-8")
    assert f"meta,scratch,{SLOW},create,single,CRITICAL,1600.0,,,ops/s," in numbers
    assert f"meta,scratch,{SLOW},lookup,single,CRITICAL,0.005,,,s," in numbers
    assert f"meta,scratch,{LATE},create p99,single,CRITICAL,0.0245" in numbers
    page = (report / "index.html").read_text(encoding="utf-8")
    axes = ("ops/s", "ms", "MB/s")
    assert [f'{{"text": "{unit}"}}' in page for unit in axes] == [True] * 3


def test_baselines_of_the_new_layer_have_its_units(branch: Branch) -> None:
    inventory, folder = str(branch.folder / "inventory"), branch.folder
    records = branch.ask("history", "--layer", "meta", "--state", str(folder), "--json")
    (folder / "records.jsonl").write_text(records.out, encoding="utf-8")
    options = ("-i", inventory, "--records", str(folder / "records.jsonl"))
    assert branch.ask("baseline", "capture", *options).code == 0
    shown = branch.ask("baseline", "diff", "-i", inventory).out
    assert ["4.0 kops/s" in shown, "2.0 ms" in shown, "9.9 ms" in shown] == [True] * 3
    accept = ("baseline", "accept", "-i", inventory, "--reason", "first", "--by", "ada")
    assert branch.ask(*accept).code == 0
    document = folder / "inventory" / "group_vars" / "all" / "baselines.yml"
    text = document.read_text(encoding="utf-8")
    assert ("median: 4.04 kops/s" in text, "median: 0.0019802 s" in text) == (True, True)
    assert "4.0 kops/s, 2.0 ms, 9.9 ms" in branch.ask("plan", "-i", inventory).out


def test_commands_for_bytes_only_leave_the_new_layer_out(branch: Branch) -> None:
    assert "0 slow, 0 good, " in branch.of_site("locate").out
    days = ("--days", "2", "--noise", "none", "--without-suspects")
    simulated = branch.ask("simulate", "-i", str(branch.folder / "inventory"), *days)
    assert (simulated.code, simulated.err) == (0, "")
