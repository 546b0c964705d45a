"""A virtual machine for all tests, with plumbline installed like on a node."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Iterator, NamedTuple

import pytest

from plumbline.plan.expectations import compile_plan
from plumbline.plan.policy import load
from plumbline.topology.graph import build
from tests.package.sites import parts
from tests.vm.machine import DISKS, ROOT, Machine, running

FLASH = ("oss1-even", "oss1-late")
SITE = parts(
    {"name": "switch1", "kind": "switch"},
    {"name": "oss1-nic", "kind": "nic", "link": "1 Gbit/s", "encoding": "none", "feeds": "switch1"},
    {"name": "oss1", "kind": "server", "address": "10.0.0.1", "feeds": "oss1-nic"},
    *(
        {"name": name, "kind": "disk", "rate": "4 GB/s", "device": device, "feeds": "oss1"}
        for name, device in {
            f"oss1-disk[1-{DISKS}]": "/dev/disk/by-id/scsi-0QEMU_QEMU_HARDDISK_{name}",
            **dict.fromkeys(("oss1-slow", "oss1-flaky", "oss1-lun"), "/dev/mapper/{name}"),
            "oss1-nvme": "/dev/nvme0n1",
        }.items()
    ),
    *(
        {"name": name, "kind": "disk", "device": device, "media": "flash", "feeds": "oss1"}
        for name, device in dict.fromkeys(FLASH, "/dev/mapper/{name}").items()
    ),
)
POLICY = {"layers": {"raw": {"probe": {"bytes": "16 MiB"}}}}
INSTALL = """
mkdir -p /usr/lib/plumbline /etc/plumbline /var/lib/plumbline /run/plumbline
modprobe 9pnet_virtio
mount -t 9p -o trans=virtio,ro plumbline /mnt
tar -C /usr/lib/plumbline -xzf /mnt/node.tar.gz
install -m 755 /mnt/plumbline /usr/bin/plumbline
cp /mnt/expectations.json /etc/plumbline/
restorecon -R /usr/lib/plumbline /usr/bin/plumbline /etc/plumbline
"""


class Symptom(NamedTuple):
    """A symptom without its time."""

    component: str
    kind: str
    severity: str
    direction: str
    sentence: str


class Node:
    """The node oss1: a virtual machine with the command plumbline."""

    def __init__(self, machine: Machine, folder: Path) -> None:
        self.folder = folder
        """Mounted at /mnt in the machine."""
        self.run, self.output = machine.run, machine.output
        self.start, self.wait = machine.start, machine.wait

    def document(self, command: str) -> Any:
        """Return the JSON output of a plumbline command."""
        return json.loads(self.run(f"plumbline {command} --json").stdout)

    def looks(self) -> dict[str, Any]:
        """Return the look of each collector."""
        return {look["collector"]: look for look in self.document("symptoms")["looks"]}

    def symptoms(self) -> set[Symptom]:
        """Return all symptoms."""
        return {
            Symptom(*(symptom[key] for key in Symptom._fields))
            for look in self.looks().values()
            for symptom in look["symptoms"]
        }


def pack(folder: Path) -> None:
    """Write the files that the role agent installs on oss1 into a folder."""
    script = ROOT / "roles/agent/files/pack.py"
    archives = subprocess.run(
        [sys.executable, script, ROOT, folder], stdout=subprocess.PIPE, text=True, check=True
    ).stdout.splitlines()
    Path(archives[0]).rename(folder / "node.tar.gz")
    command = (ROOT / "roles/agent/templates/plumbline.py.j2").read_text()
    values = {"{{ agent_python }}": "/usr/bin/python3", "{{ agent_library }}": "/usr/lib/plumbline"}
    for name, value in values.items():
        command = command.replace(name, value)
    (folder / "plumbline").write_text(command)
    expectations = compile_plan(build(SITE), load(POLICY), {}).node("oss1")
    (folder / "expectations.json").write_text(json.dumps(expectations.to_json()))


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    folder = tmp_path_factory.mktemp("vm")
    pack(folder)
    with running(folder) as machine:
        machine.output(f"set -e; {INSTALL}")
        yield Node(machine, folder)
