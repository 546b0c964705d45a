"""Why Lustre refuses or fails, in one sentence with the remedy: from what its commands print."""

from __future__ import annotations

import re
from math import floor

from plumbline.errors import ToolError
from plumbline.model.command import CommandRunner
from plumbline.model.printed import whole
from plumbline.targets.probe_file import quota
from plumbline.targets.query import QUICK_S

_ENTRY = re.compile(r"\[\s*(\d{1,15}),\s*EVICTED\s*\]")
_STATE = re.compile(r"^ +state: (\w+)$", re.MULTILINE)
_CLIENT_DEVICE = re.compile(r"^osc\.\S+-osc-(?!MDT)\w+\.state=$")

RETIRED = "name it in retired of the topology"

_NEEDS_GROUP = (
    "llite.*.enable_setstripe_gid may keep this user from choosing OSTs: "
    "set it to the group of the user plumbline"
)


def draining(ost: str) -> str:
    """Return why a file cannot be made on an OST with the flag N of ``lfs df``."""
    return (
        f"{ost} creates no objects (no_create, it is drained) and has no probe file; {RETIRED}, or "
        f"end it with obdfilter.{ost}.no_create=0 on its server"
    )


def refusal(said: str, ost: str) -> str:
    """Return what ``lfs setstripe`` means by what it said, empty where that is plain."""
    text = said.lower()
    if "no buffer space available" in text:
        return (
            f"{ost} creates no objects (max_create_count=0 on the MDT, or no_create); if it is "
            f"drained, {RETIRED}, else set osp.{ost}-osc-MDT*.max_create_count again on the MDS"
        )
    if "inactive ost" in text:
        return (
            f"{ost} is inactive on the MDT, so nothing can be created on it; set "
            f"osp.{ost}-osc-MDT*.active=1 on the MDS, or {RETIRED}"
        )
    if "disk quota exceeded" in text:
        return quota("its files")
    if "restricted" in text or "permi" in text:
        return _NEEDS_GROUP
    return ""


def eviction(states: str, ost: str, since: float) -> str:
    """Return that a server has evicted this client since a moment, empty where it has not.

    ``states`` is what ``lctl get_param osc.OST-osc-*.state`` prints; its times are those of this
    client's clock, in whole seconds since the epoch.
    """
    ours = False
    for line in states.splitlines():
        if line.startswith("osc."):
            ours = _CLIENT_DEVICE.match(line) is not None
        entry = _ENTRY.search(line)
        if ours and entry and whole(entry[1], "the time of a state", ToolError) >= floor(since):
            return (
                f"the server of {ost} evicted this client during the run; look at the kernel logs "
                "of both and at the network between them, then measure again"
            )
    return ""


def metadata_lost(run: CommandRunner, file_system: str) -> bool:
    """Return whether a metadata server of a file system is not connected, or may not be."""
    imports = f"mdc.{file_system}-MDT*-mdc-*.import"
    states = _STATE.findall(run(["lctl", "get_param", imports], QUICK_S).stdout)
    return not states or set(states) != {"FULL"}
