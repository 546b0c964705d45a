"""``plumbline topology check`` summarizes a valid site and refuses an invalid one."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any, Optional

import pytest

from plumbline.model.errors import DocumentError, UsageError
from plumbline.plan.baseline import Key
from tests.package.cli.driver import Run, accept, call, inventory
from tests.package.plan.test_baseline import BASELINE
from tests.package.sites import INVENTORIES, part, site


def test_a_valid_site_is_summarized(tmp_path: Path, run: Run) -> None:
    document = site()
    document["file_systems"][0]["retired"] = ["scratch-OST3"]
    text = run("topology", "check", "-i", inventory(tmp_path, document)).out
    assert any(line.split() == ["4", "disk", "80.0", "MB/s"] for line in text.splitlines())
    assert "scratch, 1 retired" in text
    assert text.endswith("lab is sound: 9 measurements, 15 services\n")


def test_components_are_printed_as_json(tmp_path: Path, run: Run) -> None:
    document = run("topology", "check", "-i", inventory(tmp_path), "--json").document
    disk = next(part for part in document["components"] if part["name"] == "oss2-disk1")
    assert (disk["read_Bps"], disk["feeds"]) == (80e6, ["oss2"])
    assert len(document["targets"]) == 4


def test_a_disk_without_a_path_to_its_client_is_refused(tmp_path: Path) -> None:
    document = site()
    part(document, "client1")["feeds"] = "switch2"
    document["parts"].append({"name": "switch2", "kind": "switch"})
    with pytest.raises(DocumentError, match="oss1-disk1 is not connected to client1"):
        call("topology", "check", "-i", inventory(tmp_path, document))


def test_the_policy_is_checked_too(tmp_path: Path) -> None:
    folder = inventory(tmp_path, policy={"layers": {"ost": {"groups": {"home": {}}}}})
    with pytest.raises(DocumentError, match="layer ost has no group 'home'"):
        call("topology", "check", "-i", folder)


def test_hosts_missing_in_the_ansible_inventory_are_noted(tmp_path: Path, run: Run) -> None:
    folder = inventory(tmp_path)
    hosts = "all: {children: {servers: {hosts: {'oss[1:2]': {}}, vars: {x: 1}}}}\n"
    (tmp_path / "hosts.yml").write_text(hosts, encoding="utf-8")
    notes = run("topology", "check", "-i", folder, "--json").document["notes"]
    assert notes == ["client1 is not in hosts.yml, so Ansible will not install it"]
    assert "note: client1 is not in hosts.yml" in run("topology", "check", "-i", folder).out


def test_a_baseline_above_its_ceiling_is_noted(tmp_path: Path, run: Run) -> None:
    folder = inventory(tmp_path)
    accept(folder, {Key("raw", "oss2-disk1", "read", "single"): BASELINE._replace(median=200e6)})
    (note,) = run("topology", "check", "-i", folder, "--json").document["notes"]
    assert note == (
        "raw oss2-disk1 read single: its baseline 200.0 MB/s is 2.50 times its ceiling 80.0 MB/s; "
        "correct the baseline or the topology"
    )


def test_targets_without_their_own_rate_are_noted_with_their_share(
    run: Run,
) -> None:
    note = (
        "ost fs1-OST0000 and 335 more: no part of its own has a rate, so its floor goes by an even "
        "share of the parts that several share (write 500.0 MB/s, read 500.0 MB/s); give the part "
        "it lies on a rate"
    )
    edison = str(INVENTORIES / "edison")
    assert run("topology", "check", "-i", edison, "--json").document["notes"] == [note]
    assert f"note: {note}\n" in run("plan", "-i", edison).out
    assert "note:" not in run("topology", "check", "-i", str(INVENTORIES / "redstorm")).out


@pytest.mark.parametrize("name", ["lab", "example"])
def test_the_inventories_of_the_project_are_valid_and_nothing_is_noted(name: str, run: Run) -> None:
    document = run("topology", "check", "-i", str(INVENTORIES / name), "--json").document
    assert (document["site"], document["notes"]) == (name, [])
    assert "note:" not in run("plan", "-i", str(INVENTORIES / name)).out


def test_losses_that_are_found_late_are_noted_with_the_schedule_that_helps(
    tmp_path: Path, run: Run
) -> None:
    inventory = tmp_path / "weekly"
    shutil.copytree(INVENTORIES / "example", inventory)
    policy = inventory / "group_vars/all/policy.yml"
    own = 'calendar: "Sun,Tue,Thu *-*-* 03:06", every: 3 d'
    weekly = policy.read_text().replace(own, 'calendar: "Sun *-*-* 03:06", every: 7 d')
    policy.write_text(weekly)
    (note,) = run("topology", "check", "-i", str(inventory), "--json").document["notes"]
    assert note.startswith("raw reads all devices of a server at once every 7 d, and")
    assert f"note: {note}\n" in run("plan", "-i", str(inventory)).out


LFS = """#!/bin/sh
printf 'OBDS:\\n0: fs1-OST0000_UUID ACTIVE\\n1: fs1-OST0001_UUID ACTIVE\\n'
printf '16: fs1-OST0010_UUID ACTIVE\\n'
"""
IMPORT = """\
osc.{name}.import=
import:
    name: {name}
    state: FULL
    connection:
       failover_nids: [ "{server}" ]
       current_connection: "{server}"
"""


def tools(folder: Path, monkeypatch: pytest.MonkeyPatch, *servers: str) -> None:
    """Put lfs and lctl of a client on the path; lctl shows the ``servers`` of its first OSTs."""
    names = (f"fs1-OST000{index}-osc-ffff888120238800" for index in range(len(servers)))
    imports = [IMPORT.format(name=name, server=server) for name, server in zip(names, servers)]
    shown = "\n".join(["cat <<END", *imports, "END"]) if servers else "exit 2"
    for name, script in {"lfs": LFS, "lctl": f"#!/bin/sh\n{shown}\n"}.items():
        (folder / name).write_text(script, encoding="utf-8")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def lustre(tmp_path: Path, parts: Optional[dict[str, Any]] = None, **file_system: Any) -> str:
    """Write the inventory of a site with two OSTs, on the parts of another document if given."""
    document = parts or site()
    targets = [{"name": "fs1-OST[0000-0001]", "part": "oss[1-2]-disk1"}]
    document["file_systems"] = [
        {
            "name": "fs1",
            "kind": "lustre",
            "mount": "/mnt/lustre",
            "client": "client1",
            "targets": targets,
            **file_system,
        }
    ]
    return inventory(tmp_path / "site", document)


def test_live_names_an_ost_that_is_not_in_the_topology(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools(tmp_path, monkeypatch)
    folder = lustre(tmp_path)
    lines = run("topology", "check", "--live", "-i", folder, code=1).out.splitlines()
    assert lines[-1] == "live: fs1-OST0010 is active on /mnt/lustre, but not in the topology"
    # without --live, lfs is not called
    assert call("topology", "check", "-i", folder) == 0
    missing = {"name": "fs1-OST0010", "part": "oss1-disk2"}
    targets = [{"name": "fs1-OST[0000-0001]", "part": "oss[1-2]-disk1"}, missing]
    complete = lustre(tmp_path / "again", targets=targets, retired="fs1-OST0010")
    live = run("topology", "check", "--live", "-i", complete)
    assert "live: the OSTs of /mnt/lustre are those that client1" in live.out
    assert "servers" not in live.out
    assert live.err == (
        "plumbline: /mnt/lustre: the servers of its OSTs are not compared: lctl shows none of "
        "them\n"
    )


TARGETS = [
    {"name": "fs1-OST[0000-0001]", "part": "oss[1-2]-disk1"},
    {"name": "fs1-OST0010", "part": "oss1-disk2"},
]


def test_live_names_an_ost_on_another_server_than_in_the_topology(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = "topology", "check", "--live", "-i", lustre(tmp_path, targets=TARGETS)
    tools(tmp_path, monkeypatch, "10.0.0.2@tcp", "10.0.0.1@tcp")
    lines = [line for line in run(*words, code=1).out.splitlines() if line.startswith("live")]
    assert lines == [
        f"live: fs1-OST000{index} is served by oss{2 - index} (10.0.0.{2 - index}@tcp), but the "
        f"topology has it behind oss{1 + index}: a fault would be blamed on the wrong server"
        for index in range(2)
    ]
    tools(tmp_path, monkeypatch, "10.0.0.1@tcp", "10.0.0.2@tcp")
    assert run(*words).out.splitlines()[-1] == (
        "live: 2 of 3 OSTs are proven to be on their servers in the topology, by its addresses"
    )
    tools(tmp_path, monkeypatch, "10.9.0.1@o2ib", "10.9.0.2@o2ib")
    assert run(*words).out.splitlines()[-1] == (
        "live: OSTs of one server in Lustre are behind one server in the topology"
    )


def test_live_compares_servers_by_the_deployed_plan_too(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = lustre(tmp_path, targets=TARGETS)
    plan = tmp_path / "expectations.json"
    plan.write_text(run("plan", "-i", folder, "--node", "client1", "--json").out)
    monkeypatch.setattr("plumbline.cli.topology.EXPECTATIONS", str(plan))
    # a client without an address is tested with no host, but one address is that of one server
    tools(tmp_path, monkeypatch, "10.9.0.1@o2ib", "10.9.0.1@o2ib")
    lines = run("topology", "check", "--live", code=1).out.splitlines()
    assert lines[-1] == (
        "live: fs1-OST0000, fs1-OST0001 are all served by 10.9.0.1@o2ib, but the topology has them "
        "behind oss1, oss2: a fault would be blamed on the wrong server"
    )
    tools(tmp_path, monkeypatch, "10.9.0.1@o2ib", "10.9.0.2@o2ib")
    assert run("topology", "check", "--live").out.splitlines() == [
        "live: the OSTs of /mnt/lustre are those that client1 measures, and retired ones",
        "live: OSTs of one server in Lustre are behind one server in the topology",
    ]
    # it has the addresses of the hosts with which this one is tested
    document = site()
    part(document, "client1")["address"] = "10.0.0.9"
    folder = lustre(tmp_path / "pairs", document, targets=TARGETS)
    plan.write_text(run("plan", "-i", folder, "--node", "client1", "--json").out)
    tools(tmp_path, monkeypatch, "10.0.0.2@tcp", "10.0.0.1@tcp")
    lines = run("topology", "check", "--live", code=1).out.splitlines()
    assert lines[0].startswith("live: fs1-OST0000 is served by oss2 (10.0.0.2@tcp), but the ")


def test_live_needs_a_lustre_client(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no OST is measured here"):
        call("topology", "check", "--live", "-i", inventory(tmp_path))
