"""Find the targets behind a user's file, and where a mount differs from the topology.

``stat`` on a Lustre file asks its OSTs and hangs if one is dead, so it is never called: the layout
comes from the metadata server, and a directory is recognised by the form of its layout.
"""

from __future__ import annotations

from typing import Mapping, NamedTuple, Optional

from plumbline.measure.targets import KINDS
from plumbline.measure.targets.interface import (
    ANY_MOUNT,
    Descriptions,
    Holder,
    elsewhere,
    printable,
    unnamed,
)
from plumbline.measure.targets.mounted import is_listable, servers_of_osts, system_at
from plumbline.model.command import CommandRunner
from plumbline.model.errors import SkipTarget, ToolError, UsageError
from plumbline.model.serving import Serving, serving
from plumbline.observe.lustre_output import parse_osts
from plumbline.observe.mounts import mount_holding
from plumbline.observe.query import QUICK_S, ask, complaint


class Difference(NamedTuple):
    """Names of OSTs that only the mount or only the topology has, and the servers of the others.

    ``trouble`` is the reason if the two cannot be compared.  ``servers`` is None if this user may
    not read them.
    """

    mount: str
    unnamed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    trouble: str = ""
    servers: Optional[Serving] = None

    def sentences(self) -> list[str]:
        """Return a sentence for each OST and each wrong server, or why nothing was compared."""
        if self.trouble:
            return [f"{self.mount}: {self.trouble}"]
        return [
            *(
                f"{name} is active on {self.mount}, but not in the topology"
                for name in self.unnamed
            ),
            *(
                f"{name} is in the topology, but not active on {self.mount}"
                for name in self.missing
            ),
            *(self.servers.differences if self.servers else ()),
        ]


def compare(
    run: CommandRunner,
    mount: str,
    measured: Mapping[str, str],
    named: Mapping[str, str],
    addresses: Mapping[str, str] = {},
) -> Difference:
    """Return the difference between a mount's OSTs and the topology.

    ``measured`` are the OSTs to measure with their servers, ``named`` other OSTs of the topology,
    ``addresses`` its hosts by their addresses, as far as they are known here.
    """
    try:
        osts = parse_osts(ask(run, ["lfs", "osts", mount]))
    except (SkipTarget, ToolError) as error:
        return Difference(mount, trouble=str(error))
    if not osts:
        return Difference(mount, trouble="lfs osts shows no OST; is it a mount of Lustre?")
    active = [name for name, (_, state) in osts.items() if state == "ACTIVE"]
    topology_names = frozenset([*measured, *named])
    missing = tuple(name for name in measured if name not in active)
    try:
        seen = servers_of_osts(run, active[0].rpartition("-")[0]) if active else {}
    except (SkipTarget, ToolError):
        seen = {}
    servers = serving(measured, seen, addresses) if seen else None
    return Difference(mount, unnamed(active, topology_names), missing, servers=servers)


_REFUSALS = {
    "No such file or directory": "is not there; look at how it is written and what is mounted here",
    "Not a directory": "is not there: one of its folders is a file",
    "File name too long": "is not there: a name in it is longer than this file system takes",
    "Too many levels of symbolic links": "is a link that leads in a circle",
    "Permission denied": "lies in a folder that this user may not enter; ask as its owner",
}
"""Messages of realpath in the C locale, and their meaning."""

_UNREADABLE = "\N{REPLACEMENT CHARACTER}"
"""Replacement for each byte that is not UTF-8."""


class Whereabouts(NamedTuple):
    """Real path of a file, its mount, and the targets that hold it."""

    path: str
    mount: str
    kind: str
    holders: tuple[Holder, ...]


def whereabouts(
    run: CommandRunner, path: str, descriptions: Optional[Descriptions] = None
) -> Whereabouts:
    """Return the targets that hold a file, of those that a node measures.

    Without ``descriptions``, on a host without a plan, all targets of the file's mount count.

    Raises:
        UsageError: the path is not absolute, does not exist, is a directory, has no data on any
            target, or lies on a file system that this node does not measure.
        SkipTarget: a tool failed or gave no answer.
    """
    if not path.startswith("/"):
        raise UsageError(f"{path!r} is no absolute path; write it from the root on")
    real = _real(run, path)
    mount = mount_holding(run, real)
    finders = {kind.mounted: kind.find for kind in KINDS.values() if kind.find}
    find = finders.get(mount.kind, finders[ANY_MOUNT])
    if descriptions is not None:
        holders = find(run, real, mount, descriptions)
        return Whereabouts(real, mount.point, mount.kind, holders)
    if not is_listable(mount):
        raise elsewhere(real, mount)
    members = {member.name: member for member in system_at(run, mount).members}
    keys = {name: member.keys for name, member in members.items()}
    holders = tuple(
        holder._replace(server=members[holder.component].server if holder.component else "")
        for holder in find(run, real, mount, keys)
    )
    return Whereabouts(real, mount.point, mount.kind, holders)


def _real(run: CommandRunner, path: str) -> str:
    completed = run(["realpath", "--canonicalize-existing", "--zero", "--", path], QUICK_S)
    for message, meaning in _REFUSALS.items():
        if completed.stderr.strip().endswith(f": {message}"):
            raise UsageError(f"{printable(path)} {meaning}")
    if not completed.ok:
        raise SkipTarget(complaint(completed))
    real = completed.stdout.rstrip("\0")
    if _UNREADABLE in real:
        raise UsageError(f"{real!r} is not UTF-8; name another file that was written beside it")
    return real
