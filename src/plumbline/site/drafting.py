"""A first topology from the mounts of this client: its targets, and the servers that have them."""

from __future__ import annotations

import re
from typing import Mapping, NamedTuple, Sequence

from plumbline.measure.targets.mounted import Member, MountedSystem, servers_of_osts, system_at
from plumbline.model.command import CommandRunner
from plumbline.model.errors import PlumblineError, SkipTarget, ToolError
from plumbline.model.names import NAME
from plumbline.observe.mounts import Mount
from plumbline.observe.query import QUICK_S
from plumbline.topology.draft import DraftHost, DraftSystem, DraftTarget, draft

_ADDRESS = re.compile(r"[0-9]+(?:\.[0-9]+){3}|[0-9a-f:]*:[0-9a-f:]*", re.IGNORECASE)


class Drafted(NamedTuple):
    """Text of a topology; ``troubles`` are the mounts and targets that are not in it, and why."""

    text: str
    troubles: tuple[str, ...]


def drafted(run: CommandRunner, mounts: Sequence[Mount], client: str) -> Drafted:
    """Return the topology of mounts whose targets can be listed; ``client`` is this host.

    Raises:
        PlumblineError: the targets of the only mount cannot be listed.
        SkipTarget: no target of any mount can be drawn.
    """
    hosts = _Hosts(run, client)
    systems: list[DraftSystem] = []
    troubles: list[str] = []
    for mount in mounts:
        try:
            listed = system_at(run, mount)
        except PlumblineError as error:
            if len(mounts) == 1:
                raise
            troubles.append(f"{mount.point}: {error}")
            continue
        targets, missing = _targets(listed, _servers(run, listed), hosts)
        troubles += missing
        if targets:
            name = _name_of(mount)
            systems.append(DraftSystem(name, _kind(listed), mount.point, targets))
    if not systems:
        raise SkipTarget("; ".join(troubles))
    own = DraftHost(client, hosts.own_address())
    return Drafted(draft(own, hosts.found(), systems, troubles), tuple(troubles))


def _servers(run: CommandRunner, listed: MountedSystem) -> Mapping[str, str]:
    """Return the address of each target's server: its first one, as far as this user sees it."""
    present = {member.name: member.server for member in listed.members}
    if _kind(listed) != "lustre":
        return present
    try:
        first = servers_of_osts(run, _name_of(listed.mount))
    except (SkipTarget, ToolError):
        return present
    return {**present, **{name: nids[0] for name, nids in first.items()}}


def _targets(
    listed: MountedSystem, servers: Mapping[str, str], hosts: _Hosts
) -> tuple[tuple[DraftTarget, ...], list[str]]:
    """Return the targets that can be drawn, and the reasons for the others."""
    targets, missing = [], []
    for member in listed.members:
        trouble = _trouble(member, servers[member.name])
        if trouble:
            missing.append(f"{member.name}: {trouble}")
        else:
            server = hosts.name(servers[member.name])
            targets.append(DraftTarget(member.name, member.number, server))
    return tuple(targets), missing


def _trouble(member: Member, server: str) -> str:
    if member.state not in ("", "ACTIVE"):
        return f"it is {member.state} on this client"
    return "" if server else "this client shows no server of it"


def _kind(listed: MountedSystem) -> str:
    return str(listed.members[0].keys["kind"])


def _name_of(mount: Mount) -> str:
    """Return the file system of ``10.0.0.1@tcp:/scratch/folder``, the volume of ``oss1:/work``."""
    return mount.source.rpartition(":")[2].lstrip("/").partition("/")[0]


class _Hosts:
    """Names of servers by the addresses that the file system gives them."""

    def __init__(self, run: CommandRunner, client: str) -> None:
        self._run = run
        self._client = client
        self._hosts: dict[str, DraftHost] = {}
        self._resolves = True

    def name(self, server: str) -> str:
        """Return the name of a server by its LNet address, its address or its name."""
        if server not in self._hosts:
            address = server.partition("@")[0]
            numeric = _ADDRESS.fullmatch(address) is not None
            taken = {self._client, *(host.name for host in self._hosts.values())}
            name = self._resolved(address) if numeric else address
            if name in taken or not _is_name(name):
                numbers = range(1, len(taken) + 2)
                name = next(free for free in map("oss{}".format, numbers) if free not in taken)
            self._hosts[server] = DraftHost(name, address if numeric else "")
        return self._hosts[server].name

    def found(self) -> tuple[DraftHost, ...]:
        """Return all servers that were named, each once."""
        return tuple(self._hosts.values())

    def own_address(self) -> str:
        """Return this client's address in the network of the servers, empty if unknown."""
        networks = {server.partition("@")[2] for server in self._hosts} - {""}
        try:
            own = self._run(["lctl", "list_nids"], QUICK_S).stdout.split()
        except ToolError:
            return ""
        return next((nid.partition("@")[0] for nid in own if nid.partition("@")[2] in networks), "")

    def _resolved(self, address: str) -> str:
        """Return the first name of an address without its domain, empty if it has none."""
        if not self._resolves:
            return ""
        answer = self._run(["getent", "hosts", address], QUICK_S)
        # a name service without an answer would take its time for each server
        self._resolves = not (answer.timed_out or answer.hung)
        words = answer.stdout.split()
        return words[1].partition(".")[0] if len(words) > 1 else ""


def _is_name(text: str) -> bool:
    return re.fullmatch(NAME.pattern, text) is not None
