"""RDMA over a real kernel's ``rdma_rxe``: both ends on one machine, as on two hosts."""

from __future__ import annotations

import json
import re
from typing import Any, Iterator

import pytest

from plumbline.plan.expectations import compile_plan
from plumbline.plan.policy import load
from plumbline.topology.graph import build
from tests.package.sites import parts
from tests.vm.conftest import Node
from tests.vm.machine import ROOT

SECONDS = 5
NOBODY = "--reuid=nobody --regid=nogroup --clear-groups"
POLICY = {"layers": {"rdma": {"probe": {"seconds": f"{SECONDS} s"}}}}
LINK = """
modprobe rdma_rxe
ip link add rail0 type veth peer name rail1
ip address add 10.9.0.1/24 dev rail0
ip address add 10.9.0.2/24 dev rail0
ip link set rail0 up
ip link set rail1 up
rdma link add rxe0 type rxe netdev rail0
chmod 666 /dev/infiniband/uverbs*
"""
CLIENT = "^ib_write_bw.*10[.]9[.]0[.]2$"
UNLINK = "rdma link delete rxe0; ip link delete rail0; rm -rf /srv/rdma"


def documents(**adapter: str) -> dict[str, Any]:
    """Return the expectations of two hosts, whose adapters are one device of this machine."""
    site = parts(
        {"name": "switch1", "kind": "switch"},
        {
            "name": "oss[1-2]-nic",
            "kind": "nic",
            "feeds": "switch1",
            **(adapter or {"rate": "10 GB/s"}),
            "rdma": "rxe0",
        },
        {"name": "oss[1-2]", "kind": "server", "address": "10.9.0.[1-2]", "feeds": "oss[1-2]-nic"},
    )
    plan = compile_plan(build(site), load(POLICY), {})
    return {name: plan.node(name).to_json() for name in ("oss1", "oss2")}


class Rail:
    """The two hosts on the machine."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.place(documents())

    def place(self, expectations: dict[str, Any]) -> None:
        """Write the expectations where the machine reads them."""
        for name, document in expectations.items():
            (self.node.folder / f"rdma-{name}.json").write_text(json.dumps(document))
            # not everybody may enter the folder that the machine shares with this one
            self.node.output(f"install -m 644 /mnt/rdma-{name}.json /srv/rdma/")

    def receive(self, limit_s: int) -> None:
        """Open the receiving ends of oss2 as the unit does."""
        command = (
            f"plumbline receive rdma --expectations /srv/rdma/rdma-oss2.json --limit {limit_s}s"
        )
        self.node.output(f"systemd-run --quiet {unit('receiver')} {command}")

    def probe(self) -> str:
        """Return the command that measures oss1 with its partner."""
        return (
            "plumbline probe rdma --expectations /srv/rdma/rdma-oss1.json --state /srv/rdma/state "
            "--locks /srv/rdma/locks --slot 0 --quiet --json"
        )

    def records(self, start: str = f"setpriv {NOBODY} --") -> dict[str, Any]:
        """Measure without root, and return the records by operation."""
        output = "/srv/rdma/records"
        result = self.node.run(f"{start} /bin/sh -c '{self.probe()} >{output}'; cat {output}")
        assert result.stdout, result
        records = json.loads(result.stdout)["records"]
        return {record["operation"]: record for record in records}

    def perftests(self) -> str:
        """Return the processes of perftest."""
        return self.node.run("pgrep -a 'ib_(write|read)_'").stdout


def unit(name: str) -> str:
    """Return the settings of a unit of the role and of the common hardening for systemd-run."""
    templates = (
        ROOT / f"roles/rdma_probe/templates/plumbline-{name}.service.j2",
        ROOT / "roles/agent/templates/hardening.conf.j2",
    )
    lines = "".join(path.read_text() for path in templates).splitlines()
    own = ("ExecStart", "Documentation", "Description", "After", "Type", "SuccessExitStatus")
    settings = [
        line
        for line in lines
        if re.match(r"[A-Z]\w+=", line) and "{{" not in line and not line.startswith(own)
    ]
    partners = ("localhost", "10.9.0.1") if name == "receiver" else ()
    settings += [f"IPAddressAllow={partner}" for partner in partners]
    settings += ["User=nobody", "Group=nogroup", "ReadWritePaths=/srv/rdma"]
    words = " ".join(f"--property='{setting}'" for setting in settings)
    return f"--unit=rdma-{name} --collect {words}"


@pytest.fixture
def rail(node: Node) -> Iterator[Rail]:
    node.output(f"set -e; {LINK} mkdir -m 777 -p /srv/rdma /srv/rdma/state /srv/rdma/locks")
    try:
        yield Rail(node)
    finally:
        node.run(f"systemctl stop rdma-receiver; pkill -9 -f '^ib_(write|read)_'; {UNLINK}")


def test_an_adapter_measures_its_partner_without_root_in_the_sandbox_of_its_unit(
    rail: Rail,
) -> None:
    rail.receive(170)
    records = rail.records(f"systemd-run --wait --quiet {unit('rdma')}")
    outcomes = {operation: (r["outcome"], r["reason"]) for operation, r in records.items()}
    assert outcomes == {
        "write": ("ok", ""),
        "read": ("ok", ""),
        "latency": ("ok", ""),
    }
    assert records["write"]["rate"] > 1e5
    assert 0 < records["latency"]["quantities"]["p99"] < 10
    assert records["write"]["tool"]["version"][0].isdigit()
    assert records["write"]["partner"] == "oss2-nic"
    # nothing outlives a stop
    rail.node.output("systemctl stop rdma-receiver")
    assert rail.perftests() == ""


def test_a_killed_measurement_frees_its_partner_and_a_killed_receiver_leaves_nothing(
    rail: Rail,
) -> None:
    rail.receive(170)
    rail.node.output(
        f"(setpriv {NOBODY} -- {rail.probe()} >/dev/null 2>&1 & echo $! >/srv/rdma/pid); "
        f"for try in $(seq 120); do pgrep -f '{CLIENT}' && exit; sleep 0.5; done; exit 1"
    )
    rail.node.output("sleep 2; kill -9 $(cat /srv/rdma/pid)")
    # the next run ends the client that outlived it; its server ends, and another one waits
    assert rail.records()["write"]["outcome"] == "ok"
    main = "systemctl show --property=MainPID --value rdma-receiver"
    rail.node.output(f"kill -9 $({main})")
    rail.node.wait("! pgrep 'ib_(write|read)_'")


def test_a_receiver_started_by_hand_and_killed_leaves_no_server_after_its_window(
    rail: Rail,
) -> None:
    command = "plumbline receive rdma --expectations /srv/rdma/rdma-oss2.json --limit 25s"
    rail.node.output(f"(setpriv {NOBODY} -- {command} >/dev/null 2>&1 & echo $! >/srv/rdma/pid)")
    rail.node.wait("[ $(pgrep -c 'ib_(write|read)_') = 3 ]")
    rail.node.output("kill -9 $(cat /srv/rdma/pid)")
    rail.node.wait("! pgrep 'ib_(write|read)_'")


def test_a_partner_that_dies_in_a_flow_is_one_sentence(rail: Rail) -> None:
    rail.receive(170)
    rail.node.output(
        f"(for try in $(seq 120); do pgrep -f '{CLIENT}' && sleep 3 && "
        "systemctl kill --signal=KILL rdma-receiver && exit; sleep 0.5; done) "
        ">/dev/null 2>&1 &"
    )
    write = rail.records()["write"]
    assert (write["outcome"], write["rate"]) == ("failed", None)
    assert re.search(
        r"^ib_write_bw on rxe0/1 to 10\.9\.0\.2 (was cut off|did not answer) \(", write["reason"]
    )
    assert rail.perftests() == ""


def test_a_port_at_fault_is_one_sentence_and_nothing_is_started(rail: Rail) -> None:
    rail.place(documents(infiniband="4X HDR"))
    reasons = {record["reason"] for record in rail.records().values()}
    (reason,) = reasons
    assert re.match(
        r"oss1-nic: port rxe0/1 runs at [\d.]+ Gb/s \(1X \w+\), and plumbline_topology has 4X HDR",
        reason,
    )
    rail.place(documents())
    rail.node.output("ip link set rail0 down")
    (reason,) = {record["reason"] for record in rail.records().values()}
    assert reason.startswith("oss1-nic: port rxe0/1 is DOWN (physical state Disabled); look at")
    receiver = rail.node.run(
        "plumbline receive rdma --expectations /srv/rdma/rdma-oss2.json --limit 20s"
    )
    assert receiver.code == 69
    assert "oss2-nic write: the receiving end did not wait: Port number 1 state" in receiver.stderr
    rail.node.output("ip link set rail0 up; rdma dev set rxe0 name rxe9")
    (reason,) = {record["reason"] for record in rail.records().values()}
    assert "this host has no RDMA device rxe0 (it has rxe9); was it renamed?" in reason
    rail.node.output("rdma dev set rxe9 name rxe0")
    assert rail.perftests() == ""
