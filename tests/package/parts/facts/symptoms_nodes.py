"""A node made of files and canned commands, seen through the real reader of /proc and /sys.

Each file of tests/data/symptoms has the cases of one collector.  A case has the ``files``,
``links`` and ``answers`` of commands of a node, the counters of an earlier look (``counted``), the
``highest`` speeds, the links that the topology has of a ``fabric``, its ``switches`` (next to the
node, all others), and the expected result: the number ``examined``, the ``symptoms`` (component,
kind, severity, direction, sentence, since) and ``notes``, or part of the reason why the collector
is ``unavailable``.  Texts and answers are in the form of :mod:`tests.package.recorded`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Iterable, Mapping, Optional, Sequence

from plumbline.model.command import Completed
from plumbline.model.errors import MissingTool
from plumbline.model.expectation import Expectations, FabricLink, Switches
from plumbline.observe.command import LocalSystem
from plumbline.parts.facts.node import Counters, Node, Parts, Past
from plumbline.plan.expectations import compile_plan
from plumbline.plan.policy import load
from plumbline.topology.graph import build
from tests.package.fakes import Answer, FakeRunner
from tests.package.recorded import DATA, reply, text
from tests.package.sites import site
from tests.project.repository import document

NOW = 1_795_243_788.0
"""2026-11-21 06:49:48 UTC."""

DISKS = {
    "/dev/disk/by-id/oss1-disk1": "../../sdb",
    "/dev/disk/by-id/oss1-disk1-part1": "../../sdb1",
    "/dev/disk/by-id/oss1-disk2": "../../sdc",
    "/dev/disk/by-id/oss1-disk2-part1": "../../sdc1",
    "/sys/class/block/sdb": "../../devices/pci0/host0/target0:0:1/0:0:1:0/block/sdb",
    "/sys/class/block/sdb1": "../../devices/pci0/host0/target0:0:1/0:0:1:0/block/sdb/sdb1",
    "/sys/class/block/sdc": "../../devices/pci0/host0/target0:0:2/0:0:2:0/block/sdc",
    "/sys/class/block/sdc1": "../../devices/pci0/host0/target0:0:2/0:0:2:0/block/sdc/sdc1",
    "/sys/class/scsi_device/0:0:1:0/device": "../../../devices/pci0/host0/target0:0:1/0:0:1:0",
}
FILES = {
    "/sys/devices/pci0/host0/target0:0:1/0:0:1:0/block/sdb/size": "7814037168",
    "/sys/devices/pci0/host0/target0:0:1/0:0:1:0/block/sdb/sdb1/partition": "1",
    "/sys/devices/pci0/host0/target0:0:2/0:0:2:0/block/sdc/size": "7814037168",
    "/sys/devices/pci0/host0/target0:0:2/0:0:2:0/block/sdc/sdc1/partition": "1",
    "/dev/sdb": "",
    "/dev/sdb1": "",
    "/dev/sdc": "",
    "/dev/sdc1": "",
}
ADDRESSES = """[{"ifname": "lo", "addr_info": [{"family": "inet", "local": "127.0.0.1"}]},
 {"ifname": "ens1f0", "addr_info": [{"family": "inet", "local": "10.0.0.1"}]}]"""


def expectations(node: str) -> Expectations:
    """Return the expectations of a node of the small site."""
    return compile_plan(build(site()), load({}), {}).node(node)


def missing(argv: Sequence[str]) -> Completed:
    """Fail like a runner whose command is not installed."""
    raise MissingTool(f"{argv[0]} is not installed on this host")


def make_node(
    root: Path,
    files: Mapping[str, str] = {},
    answers: Mapping[str, Answer] = {},
    links: Mapping[str, str] = {},
    past: Past = Past(),
) -> Node:
    """Return a node with the disks of the small site and these files and answers."""
    all_answers = {"ip -json": ADDRESSES, **answers}
    system = make_system(root, {**FILES, **files}, all_answers, {**DISKS, **links})
    return Node(system, Parts(expectations("oss1"), system), Counters(past), NOW)


def with_fabric(node: Node, links: Iterable[Sequence[Any]]) -> Node:
    """Return the node with links of a fabric: name, both ends, rate."""
    fabric = tuple(
        FabricLink(name, (end, other), rate, name.endswith("-nic"))
        for name, end, other, rate in links
    )
    own = expectations("oss1")._replace(fabric=fabric)
    return node._replace(parts=Parts(own, node.system))


def with_switches(node: Node, switches: Optional[Sequence[Sequence[str]]]) -> Node:
    """Return the node with the switches next to it, and ranges of the others; None for neither."""
    drawn = None if switches is None else Switches(*map(tuple, switches))
    own = expectations("oss1")._replace(switches=drawn)
    return node._replace(parts=Parts(own, node.system))


def make_system(
    root: Path, files: Mapping[str, str], answers: Mapping[str, Answer], links: Mapping[str, str]
) -> LocalSystem:
    """Return a system whose files lie under ``root``; a command without an answer is missing."""
    for path, content in files.items():
        file = root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8", errors="surrogateescape")
    for path, goal in links.items():
        link = root / path.lstrip("/")
        link.parent.mkdir(parents=True, exist_ok=True)
        if not link.is_symlink():
            link.symlink_to(goal)
    return LocalSystem(FakeRunner({"": missing, **answers}), root)


def journal(texts: Iterable[str]) -> str:
    """Return the answer of journalctl with these messages, the first 9000 s old."""
    return "\n".join(
        json.dumps(
            {
                "__REALTIME_TIMESTAMP": f"{(NOW - 9000 + number) * 1e6:.0f}",
                "MESSAGE": text,
            }
        )
        for number, text in enumerate(texts)
    )


CASES: dict[str, list[dict[str, Any]]] = {
    path.stem: document(path) for path in sorted((DATA / "symptoms").glob("*.yml"))
}
"""Cases by collector."""


def files_of(case: Mapping[str, Any]) -> dict[str, str]:
    return {path: text(raw) for path, raw in case.get("files", {}).items()}


def answers_of(case: Mapping[str, Any]) -> dict[str, Answer]:
    return {command: reply(raw) for command, raw in case.get("answers", {}).items()}
