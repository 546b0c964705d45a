"""A small site for monitoring objects: a server, a client and a shared switch."""

from __future__ import annotations

from typing import Any

from plumbline.doors.monitored import Host, Monitored, ObjectOptions, read_options
from plumbline.model.service import PathService, Service

OST = Service(
    "oss1", "client1", "OST OST1 write read", "plumbline_ost_OST1", "check_ost", (), "ost",
    "OST1", "", 129600, "ost-OST1",
)  # fmt: skip
NODE = Service(
    "client1", "client1", "NODE client1 probes", "plumbline_node", "check_node", (), "node",
    "client1", "", 3600,
)  # fmt: skip
SWITCH = PathService("lab", "switch sw1", "PATH switch sw1", "sw1", "", (0,))
SYSTEM = PathService("lab", "file system work", "PATH file system work", "", "work", (0, 1))
SITE = Monitored(
    "lab",
    (Host("oss1", "server", "10.0.0.1"), Host("client1", "client", "fe80::2%eth0")),
    (OST, NODE),
    (SWITCH, SYSTEM),
    {"oss1": ("router1",)},
)


def options(**changes: Any) -> ObjectOptions:
    """Return options of a site with a console."""
    return read_options({"paths": True, **changes})
