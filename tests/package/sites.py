"""Sites for tests: small ones made here, and the machines of the papers."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from plumbline.topology.document import Zone
from plumbline.topology.graph import Topology, build
from tests.project.repository import document

DATA = Path(__file__).parents[1] / "data"
INVENTORIES = Path(__file__).parents[2] / "inventories"

_SITE: dict[str, Any] = {
    "schema": 1,
    "site": "lab",
    "parts": [
        {"name": "switch1", "kind": "switch"},
        {
            "name": "oss[1-2]-nic",
            "kind": "nic",
            "link": "1 Gbit/s",
            "encoding": "none",
            "feeds": "switch1",
        },
        {
            "name": "oss[1-2]",
            "kind": "server",
            "address": "10.0.0.[1-2]",
            "feeds": "oss[1-2]-nic",
        },
        {
            "name": "oss[1-2]-disk[1-2]",
            "kind": "disk",
            "rate": "80 MB/s",
            "device": "/dev/disk/by-id/{name}",
            "feeds": "oss[1-2]",
        },
        {"name": "client1", "kind": "client", "rate": "1 GB/s", "feeds": "switch1"},
    ],
    "file_systems": [
        {
            "name": "scratch",
            "kind": "glusterfs",
            "mount": "/mnt/scratch",
            "client": "client1",
            "targets": [
                {
                    "name": "scratch-OST[0-3]",
                    "part": "oss[1-2]-disk[1-2]",
                    "subvolume": "scratch-client-[0-3]",
                }
            ],
        }
    ],
}


def site() -> dict[str, Any]:
    """Return a new document of two servers with two disks each."""
    return copy.deepcopy(_SITE)


def part(document: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the part of ``document`` with the written name ``name``."""
    entry: dict[str, Any] = next(part for part in document["parts"] if part["name"] == name)
    return entry


def parts(*entries: dict[str, Any], **document: Any) -> dict[str, Any]:
    """Return a document with only ``entries``."""
    return {"schema": 1, "site": "lab", "parts": list(entries), **document}


def paper(name: str, zone: Zone = Zone.FASTEST, *, network: bool = False) -> Topology:
    """Return one of the machines of the papers: redstorm, edison, bgl or jaguar.

    It has addresses only with ``network``: bgl's 1248 hosts form 78,624 pairs.
    """
    topology = inventory_document(name)
    for entry in topology["parts"] if not network else ():
        entry.pop("address", None)
    return build(topology, zone)


def inventory_document(name: str, kind: str = "topology") -> Any:
    """Return the topology or policy of an inventory of the repository, empty without a file."""
    path = INVENTORIES / name / "group_vars" / "all" / f"{kind}.yml"
    return document(path)[f"plumbline_{kind}"] if path.exists() else {}
