"""A first topology from the mounts of this client: its targets, and the servers that have them."""

from __future__ import annotations

import re
from itertools import count
from typing import Iterable, Iterator, Mapping, NamedTuple, Sequence

from plumbline.measure.targets.mounted import (
    Member,
    MountedSystem,
    name_of,
    servers_of_osts,
    system_at,
)
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


class _Listing(NamedTuple):
    """A file system, and the server of each of its targets that can be drawn."""

    system: MountedSystem
    targets: tuple[tuple[Member, str], ...]


def drafted(run: CommandRunner, mounts: Sequence[Mount], client: str) -> Drafted:
    """Return the topology of mounts whose targets can be listed; ``client`` is this host.

    Raises:
        PlumblineError: the targets of the only mount cannot be listed.
        SkipTarget: no target of any mount can be drawn.
    """
    troubles: list[str] = []
    listings = [item for item in _listings(run, mounts, troubles) if item.targets]
    if not listings:
        raise SkipTarget("; ".join(troubles))
    hosts = _Hosts(run, client, [server for item in listings for _, server in item.targets])
    systems = [
        DraftSystem(
            name_of(system.mount),
            _kind(system),
            system.mount.point,
            tuple(DraftTarget(each.name, each.number, hosts.name(on)) for each, on in targets),
        )
        for system, targets in listings
    ]
    own = DraftHost(client, hosts.own_address())
    return Drafted(draft(own, hosts.servers(), systems, troubles), tuple(troubles))


def _listings(
    run: CommandRunner, mounts: Sequence[Mount], troubles: list[str]
) -> Iterator[_Listing]:
    """Yield each file system once; add what is left out to ``troubles``."""
    drawn: dict[str, str] = {}
    for mount in mounts:
        try:
            listed = system_at(run, mount)
        except PlumblineError as error:
            if len(mounts) == 1:
                raise
            troubles.append(f"{mount.point}: {error}")
            continue
        first = drawn.setdefault(listed.members[0].name, mount.point)
        if first != mount.point:
            troubles.append(f"{mount.point}: its targets are those of {first}")
            continue
        servers = _servers(run, listed)
        targets = []
        for member in listed.members:
            reason = _trouble(member, servers[member.name])
            if reason:
                troubles.append(f"{member.name}: {reason}")
            else:
                targets.append((member, servers[member.name]))
        yield _Listing(listed, tuple(targets))


def _servers(run: CommandRunner, listed: MountedSystem) -> Mapping[str, str]:
    """Return the address of each target's server: its first one, as far as this user sees it."""
    present = {member.name: member.server for member in listed.members}
    if _kind(listed) != "lustre":
        return present
    try:
        first = servers_of_osts(run, name_of(listed.mount))
    except (SkipTarget, ToolError):
        return present
    return {**present, **{name: nids[0] for name, nids in first.items()}}


def _trouble(member: Member, server: str) -> str:
    if member.state not in ("", "ACTIVE"):
        return f"it is {member.state} on this client"
    return "" if server else "its server is not known on this client; root may see it"


def _kind(listed: MountedSystem) -> str:
    return str(listed.members[0].keys["kind"])


class _Hosts:
    """Names of servers by the addresses that the file system gives them."""

    def __init__(self, run: CommandRunner, client: str, servers: Iterable[str]) -> None:
        """Ask for all names first, since a made-up one must be no other server's."""
        self._run = run
        self._resolves = True
        names = {server: self._known_name(server) for server in dict.fromkeys(servers)}
        shorts = {server: _short(server, name) for server, name in names.items()}
        taken, known = {client}, frozenset(shorts.values())
        made_up = (
            name
            for name in map("oss{}".format, count(1))
            if name not in taken and name not in known
        )
        # a server may have several addresses
        by_name: dict[str, DraftHost] = {}
        self._hosts: dict[str, DraftHost] = {}
        for server, name in names.items():
            if name not in by_name:
                short = shorts[server]
                short = short if _is_name(short) and short not in taken else next(made_up)
                taken.add(short)
                host = DraftHost(short, _address(server) if _is_numeric(server) else "")
                by_name[name or server] = host
            self._hosts[server] = by_name[name or server]

    def name(self, server: str) -> str:
        """Return the name of a server by its LNet address, its address or its name."""
        return self._hosts[server].name

    def servers(self) -> tuple[DraftHost, ...]:
        """Return all servers, each once."""
        return tuple(dict.fromkeys(self._hosts.values()))

    def own_address(self) -> str:
        """Return this client's address in the network of the servers, empty if unknown."""
        networks = {server.partition("@")[2] for server in self._hosts} - {""}
        try:
            own = self._run(["lctl", "list_nids"], QUICK_S).stdout.split()
        except ToolError:
            return ""
        return next((nid.partition("@")[0] for nid in own if nid.partition("@")[2] in networks), "")

    def _known_name(self, server: str) -> str:
        """Return the name of a server, with its domain if it is known; empty if it has none."""
        address = _address(server)
        if not _is_numeric(server):
            # the network of a Cray counts its hosts, as 27@kfi
            return "" if address.isdecimal() else address
        if not self._resolves:
            return ""
        answer = self._run(["getent", "hosts", address], QUICK_S)
        # a name service without an answer would take its time for each server
        self._resolves = not (answer.timed_out or answer.hung)
        words = answer.stdout.split()
        return words[1] if len(words) > 1 else ""


def _address(server: str) -> str:
    return server.partition("@")[0]


def _is_numeric(server: str) -> bool:
    return _ADDRESS.fullmatch(_address(server)) is not None


def _short(server: str, name: str) -> str:
    """Return the name that a name service gives an address, without its domain."""
    return name.partition(".")[0] if _is_numeric(server) else name


def _is_name(text: str) -> bool:
    return re.fullmatch(NAME.pattern, text) is not None
