"""Targets of a mount, listed by the file system's own tools: no plan and no topology is needed.

Only sources are asked that answer even if a target does not.  OSTs keep the index that Lustre gives
them: indices can be sparse, and inactive OSTs are listed too.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Mapping, NamedTuple, Sequence

from plumbline.measure.targets.glusterfs import GLUSTERFS
from plumbline.measure.targets.lustre import LUSTRE, metadata_imports
from plumbline.measure.targets.metadata import LUSTRE_MDT
from plumbline.model.command import CommandRunner
from plumbline.model.errors import SkipTarget, UsageError
from plumbline.model.validation import whole
from plumbline.observe.lustre_output import (
    parameters,
    parse_import,
    parse_osts,
    parse_parameter,
)
from plumbline.observe.mounts import Mount, mounts
from plumbline.observe.query import QUICK_S, ask, complaint, debugfs_is_closed

_MEMBER = re.compile(r"^subvolumes\[\d+\] = (?:(protocol/client)|\S+?)\.(\S+)$", re.MULTILINE)


class Member(NamedTuple):
    """One target of a mount.

    ``number`` is its index in the file system; ``keys`` describe it as an expectation's ``target``
    does; ``server`` is the address of its server, empty if unknown; ``state`` is the client's word
    for it, such as ``INACTIVE``, empty if there is none.
    """

    name: str
    number: int
    keys: Mapping[str, Any]
    server: str = ""
    state: str = ""


class MountedSystem(NamedTuple):
    """A mounted file system and its targets, in the order of their indices.

    ``base`` of an index is 16 or 10, as in the names of the targets.  ``note`` says what this user
    cannot see of them, empty if nothing is hidden.
    """

    mount: Mount
    members: tuple[Member, ...]
    base: int
    note: str = ""

    def only(self, members: Sequence[Member]) -> MountedSystem:
        """Return the same with some of its targets."""
        return self._replace(members=tuple(members))

    def numbered(self, text: str) -> MountedSystem:
        """Return the targets with the indices of a list such as ``0-9,2a``.

        Raises:
            UsageError: it is no such list, or no target has an index of one of its parts.
        """
        chosen: dict[str, Member] = {}
        for part in text.split(","):
            first, last = _span(part.strip(), self.base)
            found = [member for member in self.members if first <= member.number <= last]
            if not found:
                raise UsageError(
                    f"--index {part.strip()}: {self.mount.point} has no target with this index; "
                    f"its targets are {self._names()}"
                )
            chosen.update((member.name, member) for member in found)
        return self.only([member for member in self.members if member.name in chosen])

    def indices(self, members: Sequence[Member]) -> str:
        """Return the indices of some targets as a list that ``numbered`` takes."""
        letter = "x" if self.base == 16 else "d"
        return ",".join(f"{number:{letter}}" for number in sorted(m.number for m in members))

    def _names(self) -> str:
        return f"{self.members[0].name} to {self.members[-1].name}"


def _span(text: str, base: int) -> tuple[int, int]:
    """Return the first and last index of a part of a list."""
    ends = text.partition("-")[::2] if "-" in text else (text, text)
    try:
        first, last = (whole(end, "an index", UsageError, base) for end in ends)
    except UsageError:
        first, last = 1, 0
    if first > last:
        example, form = ("0-9,2a", "hexadecimal") if base == 16 else ("0-9,12", "decimal")
        raise UsageError(
            f"--index {text!r} is no index and no range; write for example {example}, {form} as in "
            "the names of the targets"
        )
    return first, last


def mounted_systems(run: CommandRunner) -> tuple[Mount, ...]:
    """Return the mounts on this host whose targets can be listed, each mount point once."""
    points = {mount.point: mount for mount in mounts(run)}
    return tuple(filter(is_listable, points.values()))


def is_listable(mount: Mount) -> bool:
    """Return whether the targets of a mount can be listed."""
    return mount.kind in _LISTINGS


def metadata_at(run: CommandRunner, mount: Mount, path: str) -> MountedSystem:
    """Return the file system of a mount with its metadata targets; ``path`` is a folder in it.

    Raises:
        UsageError: only Lustre lists metadata targets.
        SkipTarget: lfs failed or gave no answer.
        ToolError: lfs is not installed.
    """
    if mount.kind != LUSTRE.mounted:
        raise UsageError(
            f"{path} lies on {mount.source} at {mount.point} ({mount.kind}), which lists no "
            f"metadata targets; measure the folder: plumbline probe mdt --directory a={path}"
        )
    return _in_order(_mdts(run, mount))


def system_at(run: CommandRunner, mount: Mount, path: str = "") -> MountedSystem:
    """Return the file system of a mount with all its targets; ``path`` is a folder in it.

    Raises:
        UsageError: its targets cannot be listed.
        SkipTarget: a tool failed or gave no answer.
        ToolError: a tool is not installed.
    """
    if not is_listable(mount):
        raise UsageError(
            f"{path or mount.point} lies on {mount.source} at {mount.point} ({mount.kind}), whose "
            "targets plumbline cannot list; name a mount of Lustre or GlusterFS, or give one "
            "folder for each target: plumbline probe ost --directory a=/mnt/a --directory b=/mnt/b"
        )
    return _in_order(_LISTINGS[mount.kind](run, mount))


def _in_order(system: MountedSystem) -> MountedSystem:
    """Return the targets by their indices; raise SkipTarget if there are none."""
    mount = system.mount
    if not system.members:
        raise SkipTarget(f"{mount.point} ({mount.kind}) shows no targets; see that it is mounted")
    return system.only(sorted(system.members, key=lambda member: member.number))


def in_pool(run: CommandRunner, system: MountedSystem, pool: str) -> MountedSystem:
    """Return the OSTs of a pool, named ``flash`` or ``scratch.flash``.

    Raises:
        UsageError: the file system has no pools, or not this one, or it is empty.
        SkipTarget: lfs gave no answer.
    """
    if system.mount.kind != LUSTRE.mounted:
        raise UsageError(f"--pool is of Lustre; {system.mount.point} is {system.mount.kind}")
    name = f"{name_of(system.mount)}.{pool.rpartition('.')[2]}"
    completed = run(["lfs", "pool_list", name], QUICK_S)
    if not completed.ok:
        late = completed.timed_out or completed.hung
        raise (SkipTarget if late else UsageError)(
            f"--pool {pool}: {complaint(completed)}; lfs pool_list {system.mount.point} shows pools"
        )
    names = {line.strip().partition("_UUID")[0] for line in completed.stdout.splitlines()}
    members = [member for member in system.members if member.name in names]
    if not members:
        raise UsageError(f"--pool {pool}: no OST of {system.mount.point} is in {name}")
    return system.only(members)


_BLIND = (
    "the state of connections is in debugfs, which this user may not read: each {0} is asked for "
    "its space first, and failed-over {0}s are not recognised; root sees more"
)


def _osts(run: CommandRunner, mount: Mount) -> MountedSystem:
    osts = parse_osts(ask(run, ["lfs", "osts", mount.point]))
    pattern = f"osc.{name_of(mount)}-OST*-osc-*"
    imports = run(["lctl", "get_param", f"{pattern}.import"], QUICK_S).stdout
    blind = not imports and debugfs_is_closed(run)
    servers = run(["lctl", "get_param", f"{pattern}.ost_conn_uuid"], QUICK_S).stdout
    keys = {"kind": LUSTRE.name, "mount": mount.point, **({"imports": "hidden"} if blind else {})}
    members = tuple(
        Member(
            name,
            index,
            {**keys, "ost": name},
            next(iter(parse_parameter(servers, name, "ost_conn_uuid").values()), ""),
            state,
        )
        for name, (index, state) in osts.items()
    )
    return MountedSystem(mount, members, 16, _BLIND.format("OST") if blind else "")


def servers_of_osts(run: CommandRunner, file_system: str) -> dict[str, tuple[str, ...]]:
    """Return LNet addresses for each OST of a file system: its first server, then the present one.

    OSTs without a connection, or whose server is this host, are left out; so are all where this
    user may not read the imports.
    """
    pattern = f"osc.{file_system}-OST*-osc-*.import"
    output = run(["lctl", "get_param", pattern], QUICK_S).stdout
    servers = {}
    for name, text in parameters(output, (pattern,)):
        device = name.split(".", 1)[1].rpartition(".")[0]
        ost, _, client = device.partition("-osc-")
        connection = parse_import(device, text)
        nids = tuple(dict.fromkeys((connection.primary, connection.connection)))
        if connection.primary and not client.startswith("MDT") and not _is_local(nids):
            servers[ost] = nids
    return servers


def _is_local(nids: Sequence[str]) -> bool:
    return any(nid.endswith("@lo") for nid in nids)


def _mdts(run: CommandRunner, mount: Mount) -> MountedSystem:
    mdts = parse_osts(ask(run, ["lfs", "mdts", mount.point]))
    file_system = name_of(mount)
    blind = not metadata_imports(run, file_system) and debugfs_is_closed(run)
    pattern = f"mdc.{file_system}-MDT*-mdc-*.mds_conn_uuid"
    shown = parameters(run(["lctl", "get_param", pattern], QUICK_S).stdout, (pattern,))
    servers = {name.split(".", 1)[1].partition("-mdc-")[0]: value.strip() for name, value in shown}
    keys = {
        "kind": LUSTRE_MDT.name,
        "mount": mount.point,
        **({"imports": "hidden"} if blind else {}),
    }
    members = tuple(
        Member(name, index, {**keys, "mdt": name}, servers.get(name, ""), state)
        for name, (index, state) in mdts.items()
    )
    return MountedSystem(mount, members, 16, _BLIND.format("MDT") if blind else "")


def name_of(mount: Mount) -> str:
    """Return the file system of ``10.0.0.1@tcp:/scratch/folder``, or the volume of a GlusterFS.

    There ``mount`` writes HOST:/VOLUME, the client itself HOST:VOLUME.
    """
    _, is_path, path = mount.source.partition(":/")
    name = path if is_path else mount.source.rpartition(":")[2]
    return name.partition("/")[0]


def _bricks(run: CommandRunner, mount: Mount) -> MountedSystem:
    graph = f"{mount.point}/.meta/graphs/active"
    found = _MEMBER.findall(ask(run, ["cat", f"{graph}/{name_of(mount)}-dht/private"]))
    if not all(client for client, _ in found):
        raise UsageError(
            f"{mount.point} is a volume of {found[0][1]} and its like, not of single bricks: its "
            "files lie on several at once, so no brick can be measured alone"
        )
    members = tuple(_brick(run, mount, graph, name) for _, name in found)
    return MountedSystem(mount, members, 10)


def _brick(run: CommandRunner, mount: Mount, graph: str, name: str) -> Member:
    options = f"{graph}/{name}/options"
    host, path = (
        ask(run, ["cat", f"{options}/remote-{part}"]).strip() for part in ("host", "subvolume")
    )
    index = whole(name.rpartition("-")[2], f"the number of {name}", SkipTarget)
    keys = {"kind": GLUSTERFS.name, "mount": mount.point, "subvolume": name}
    return Member(name, index, {**keys, "brick": f"{host}:{path}"}, host)


_LISTINGS: Mapping[str, Callable[[CommandRunner, Mount], MountedSystem]] = {
    LUSTRE.mounted: _osts,
    GLUSTERFS.mounted: _bricks,
}
