"""``plumbline space`` on a client of Lustre, on the console, and ``check_space``.

The client is replayed: lfs and cat answer with what a real one printed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from plumbline.model.space import Amount, SpaceTerms, TargetSpace
from plumbline.model.units import DAY_S
from plumbline.parts.space.history import looks, record_of
from plumbline.parts.space.outlook import Look
from plumbline.plan.expectations import Plan, compile_plan
from plumbline.plan.policy import load
from plumbline.store.database import Store
from plumbline.store.history import History
from plumbline.topology.graph import build
from tests.package.cli.driver import finish
from tests.package.cli.lustre import TOOLS
from tests.package.recorded import DATA
from tests.package.sites import site
from tests.project.repository import ROOT

pytestmark = pytest.mark.slow

MDT, OST = "lustre-MDT0000", "lustre-OST0003"
KIB = 3606956
"""What users can have of each replayed OST, in KiB."""


def plan(mount: str, policy: dict[str, Any]) -> Plan:
    """Return the plan of a small site with four OSTs of the replayed client."""
    document = site()
    document["file_systems"] = [
        {
            "name": "lustre",
            "kind": "lustre",
            "mount": mount,
            "client": "client1",
            "targets": [{"name": "lustre-OST000[0-3]", "part": "oss[1-2]-disk[1-2]"}],
        }
    ]
    return compile_plan(build(document), load(policy), {})


class Node(NamedTuple):
    """A client that measures four OSTs, with its tools and its state."""

    home: Path

    @property
    def state(self) -> Path:
        return self.home / "node"

    @property
    def mount(self) -> Path:
        return self.home / "scratch"

    def become(self, **state: Any) -> None:
        document = {"mount": str(self.mount), "osts": [0, 1, 2, 3], **state}
        (self.home / "client.json").write_text(json.dumps(document), encoding="utf-8")

    def deploy(self, **policy: Any) -> None:
        document = plan(str(self.mount), {"space": {}, **policy}).to_json()
        (self.home / "plan.json").write_text(json.dumps(document), encoding="utf-8")
        text = json.dumps(document["nodes"]["client1"])
        (self.home / "expectations.json").write_text(text, encoding="utf-8")

    def call(self, *words: str) -> subprocess.CompletedProcess[str]:
        path = f"{self.home}/bin:{os.environ['PATH']}"
        variables = {"CLIENT": f"{self.home}/client.json", "RECORDED": f"{DATA}/lustre"}
        variables["LUSTRE_MOUNT"] = str(self.mount)
        return finish(self.home, "space", *words, PATH=path, **variables)

    def look(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Look as the unit does."""
        places = ("--expectations", f"{self.home}/expectations.json", "--state", str(self.state))
        return self.call(*places, *words)

    def check(self, *words: str) -> subprocess.CompletedProcess[str]:
        document = ("--document", f"{self.state}/space-verdicts.json")
        expectations = ("--expectations", f"{self.home}/expectations.json")
        check = (sys.executable, str(ROOT / "checks" / "check_space"), *document, *expectations)
        return subprocess.run([*check, *words], capture_output=True, text=True, check=False)

    def remember(self, daily: int, days: int = 20, **terms: Any) -> None:
        """Fill OST0003 by 88 %, and keep looks in which it lost so many bytes a day until now."""
        self.become(used={"3": 88})
        now = time.time()
        with History(self.state / "history.sqlite") as history:
            for day in range(days, 0, -1):
                free = 1024 * KIB * 12 // 100 + daily * day
                target = TargetSpace(OST, "ost", Amount(1024 * KIB - free, free))
                look = Look(SpaceTerms("lustre", **terms), now - day * DAY_S, (target,))
                history.save(record_of(look, "client1"))


@pytest.fixture
def node(tmp_path: Path) -> Node:
    (tmp_path / "bin").mkdir()
    for name, tool in (("lfs", "lustre_client"), ("cat", "lustre_cat")):
        (tmp_path / "bin" / name).symlink_to(TOOLS / tool)
    for folder in ("scratch", "node"):
        (tmp_path / folder).mkdir()
    node = Node(tmp_path)
    node.become()
    node.deploy()
    return node


def row(text: str, name: str) -> list[str]:
    """Return the words of a target's row in the table."""
    (words,) = [line.split() for line in text.splitlines() if line.startswith(f"{name} ")]
    return words


def test_a_look_is_shown_kept_and_published(node: Node) -> None:
    ended = node.look("--save")
    assert (ended.returncode, ended.stderr) == (0, "")
    sentence = ended.stdout.splitlines()[0]
    assert sentence.startswith("OK lustre: 13 % full, ")
    assert "inodes 13 % used at most (lustre-OST0000)" in sentence
    assert "no forecast before 8 days with readings (1 so far)" in sentence
    assert row(ended.stdout, OST)[:7] == [OST, "13", "%", "3693.5", "MB", "3213.4", "MB"]
    with Store(node.state / "history.sqlite", existing=True) as store:
        (look,) = looks(store, "client1", "lustre", time.time())
    assert [target.name for target in look.targets] == [MDT, *(f"{OST[:-1]}{n}" for n in range(4))]
    checked = node.check("--file-system", "lustre", "--node", "client1")
    assert checked.returncode == 0
    assert checked.stdout.startswith("SPACE OK - lustre: 13 % full, ")
    assert "| 'fill'=13%;;;0 'fullest'=13%;90;;0 'inodes'=13%;90;;0 'days'=U" in checked.stdout


def test_quotas_of_the_policy_stand_beside_the_targets(node: Node) -> None:
    node.become(quotas={"1001": " 460000       0  500000       -       9       0       0       -"})
    node.deploy(space={"quotas": {"lustre": ["project 1001", "group climate"]}})
    ended = node.look("--save")
    assert ended.returncode == 1, ended.stderr
    sentence = ended.stdout.splitlines()[0]
    assert sentence.startswith(
        "WARNING lustre: project 1001 is 92 % full, 41.0 MB free (limit 90 %); not known: group "
        "climate (lfs shows the quota of a group to its members and to root alone); "
    )
    assert row(ended.stdout, "project")[1:8] == ["1001", "92", "%", "512.0", "MB", "41.0", "MB"]
    checked = node.check("--file-system", "lustre")
    assert checked.stdout.startswith("SPACE WARNING - lustre: project 1001 is 92 % full, 41.0 MB")


def test_an_ost_that_fills_warns_by_days_and_not_by_percent(node: Node) -> None:
    node.remember(daily=40_000_000)
    ended = node.look("--save")
    assert ended.returncode == 1, ended.stdout
    assert f"WARNING lustre: {OST} is full in 11 d (limit 14 d; 88 % full, " in ended.stdout
    checked = node.check("--file-system", "lustre")
    assert checked.stdout.startswith(f"SPACE WARNING - lustre: {OST} is full in 11 d ")
    assert "'days'=11.1;14:;3:" in checked.stdout


def test_a_metadata_target_comes_first(node: Node) -> None:
    node.become(mdt_inodes=95, used={"3": 97})
    ended = node.look()
    assert ended.returncode == 1
    first = ended.stdout.splitlines()[0]
    assert first.startswith(f"WARNING lustre: {MDT} has 95 % of its inodes used, 50,000 free ")
    assert f"; {OST} is 97 % full, " in first
    assert "without space or inodes there nobody can create files" in first
    assert not (node.state / "history.sqlite").exists()


def test_an_inactive_ost_is_not_known_and_not_empty(node: Node) -> None:
    node.become(inactive=[3])
    ended = node.look("--save", "--json")
    (system,) = json.loads(ended.stdout)["systems"]
    (lost,) = (target for item in system["targets"] if (target := item["target"])[0] == OST)
    assert lost[:4] == [OST, "ost", None, None]
    assert "inactive on this client, so not known: lustre-OST0003" in node.look().stdout


def test_a_pool_alarms_as_a_whole(node: Node) -> None:
    node.become(used={"2": 95, "3": 95}, pools={"disk": [2, 3], "flash": [0, 1]})
    ended = node.look("--save")
    assert ended.returncode == 1
    assert ended.stdout.startswith("WARNING lustre: lustre.disk is 95 % full, ")
    assert row(ended.stdout, "lustre.flash")[:5] == ["lustre.flash", "13", "%", "7387.0", "MB"]
    # the bytes of a pool are those of its OSTs, and count once
    assert "'fill'=54%;" in node.check("--file-system", "lustre").stdout


def test_a_mount_is_read_without_a_deployment(node: Node) -> None:
    (node.mount / "u").mkdir()
    for folder in (node.mount, node.mount / "u"):
        ended = node.call("--mount", str(folder))
        assert ended.returncode == 0, ended.stderr
        assert f"OK {node.mount}: 13 % full, " in ended.stdout
    refused = node.call("--mount", str(node.home))
    assert refused.returncode == 64
    assert "name a mount of Lustre" in refused.stderr


def test_directories_of_this_machine_are_read_by_statvfs(node: Node) -> None:
    document = site()
    (scratch,) = document["file_systems"]
    target = {"name": "a", "part": "oss1-disk1", "directory": str(node.mount)}
    scratch.update(kind="directory", targets=[target])
    del scratch["mount"]
    here = compile_plan(build(document), load({"space": {}}), {}).node("client1").to_json()
    (node.home / "expectations.json").write_text(json.dumps(here), encoding="utf-8")
    for tool in ("lfs", "cat"):
        (node.home / "bin" / tool).unlink()
    (system,) = json.loads(node.look("--save", "--json").stdout)["systems"]
    ((_, _, space, _, _, _, trouble, _),) = (item["target"] for item in system["targets"])
    status = os.statvfs(node.mount)
    blocks = status.f_blocks - status.f_bfree, status.f_bavail
    assert trouble == ""
    assert space == pytest.approx([status.f_frsize * count for count in blocks], rel=0.01)
    assert node.check("--file-system", "scratch").stdout.startswith("SPACE ")


def test_what_is_not_mounted_is_unknown(node: Node) -> None:
    (node.home / "bin" / "cat").unlink()
    ended = node.look("--save")
    assert ended.returncode == 3
    assert "UNKNOWN lustre: could not be read: nothing is mounted at " in ended.stdout
    checked = node.check("--file-system", "lustre")
    assert (checked.returncode, checked.stderr) == (3, "")


def test_nothing_is_kept_that_the_policy_does_not_ask_for(node: Node) -> None:
    document = plan(str(node.mount), {}).node("client1").to_json()
    (node.home / "expectations.json").write_text(json.dumps(document), encoding="utf-8")
    assert node.look().returncode == 0
    refused = node.look("--save")
    assert refused.returncode == 65
    assert "the plan lets client1 keep no space; write space: {} into the policy" in refused.stderr


def test_the_console_shows_what_nodes_have_sent(node: Node) -> None:
    node.remember(daily=40_000_000)
    site = ("--plan", f"{node.home}/plan.json", "--history", f"{node.state}/history.sqlite")
    ended = node.call(*site)
    assert ended.returncode == 3
    # the last look of this history is a day old
    assert "UNKNOWN lustre: the last look is stale: " in ended.stdout
    node.look("--save")
    ended = node.call(*site)
    assert ended.returncode == 1
    assert f"WARNING lustre: {OST} is full in 11 d " in ended.stdout
    refused = node.call(*site, "--save")
    assert refused.returncode == 64


def test_a_check_before_the_first_look_waits_and_then_is_unknown(node: Node) -> None:
    waiting = node.check("--file-system", "lustre")
    assert waiting.stdout.startswith("SPACE OK - lustre waits for the first look, deployed ")
    os.utime(node.home / "expectations.json", (1e9, 1e9))
    missing = node.check("--file-system", "lustre")
    assert (missing.returncode, missing.stderr) == (3, "")
    assert missing.stdout.startswith("SPACE UNKNOWN - report of space ")
    node.look("--save")
    other = node.check("--file-system", "home")
    assert "says nothing about home; deploy the role agent again" in other.stdout
    assert "not client9" in node.check("--file-system", "lustre", "--node", "client9").stdout
    assert "name a file system with --file-system" in node.check().stdout
    stale = node.check("--file-system", "lustre", "--stale-after", "0.001")
    assert stale.stdout.startswith("SPACE UNKNOWN - lustre: the last look is stale: ")
