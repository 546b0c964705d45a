"""An OST of Lustre, measured through a client: one single-stripe file that lies on it alone.

A dead OST hangs whatever touches it, beyond SIGKILL.  Hence the order: first the kernel's list of
mounts and the client's own memory of the OST, which always answer, then what asks the OST itself.
"""

from __future__ import annotations

import re
from typing import Optional, Sequence

from plumbline.errors import (
    BrokenTarget,
    DocumentError,
    LostTarget,
    NoMount,
    PrivilegeError,
    SkipTarget,
    ToolError,
)
from plumbline.model.allowed import OST
from plumbline.model.command import CommandRunner, Within
from plumbline.model.printed import whole
from plumbline.model.record import Flag
from plumbline.targets.caches import Cache, lock_cache, server_cache
from plumbline.targets.debugfs import NEEDS_DEBUGFS, debugfs_is_closed
from plumbline.targets.file_target import FileTarget
from plumbline.targets.interface import TargetState
from plumbline.targets.lustre_counters import lustre_stats
from plumbline.targets.lustre_output import (
    TUNABLES,
    Import,
    Usage,
    parse_import,
    parse_layout,
    parse_osts,
    parse_parameter,
    parse_tunables,
    parse_usage,
)
from plumbline.targets.lustre_reasons import RETIRED, draining, eviction, metadata_lost, refusal
from plumbline.targets.mounts import Mount, mount_at
from plumbline.targets.probe_file import NAME, ProbeFile, Space, absolute
from plumbline.targets.query import QUICK_S, SLOW_S, ask, complaint, objection

_DF_S = 20.0
_REFUSING = {
    "R": "is read-only",
    "S": "has no space",
    "I": "has no inodes",
}
"""Letters of ``lfs df`` with which an OST is not measured.

D, degraded, and N, drained, are measured and said: what N keeps away is new objects, not the file.
"""


class LustreTarget(FileTarget):
    """One OST, by its name such as ``scratch-OST001a``; the index in it is hexadecimal."""

    def __init__(self, mount: str, ost: str, component: str, fill_limit: float) -> None:
        """Take the client's mount point and the OST's name; raise DocumentError for others."""
        super().__init__(absolute(mount, "the mount of Lustre"), component, fill_limit)
        name = OST.match("the OST", ost)
        self._mount, self._ost = self._file.base, ost
        self._file_system = name["file_system"]
        self._index = whole(name["index"], "the index of an OST", DocumentError, 16)
        self._draining = False

    @property
    def name(self) -> str:
        """Return the name of the OST."""
        return self._ost

    @property
    def index(self) -> int:
        """Return its index."""
        return self._index

    def space(self, run: CommandRunner) -> Space:
        """Return how full the OST is; raise SkipTarget when that is not to be had."""
        return self._usage(run).space

    def state(self, run: CommandRunner) -> TargetState:
        """Return the state of an OST that is active, connected, writable and not too full."""
        self._mounted(run).refuse_read_only()
        active = self._listed(run)
        self._active(run)
        imports = self._connected(run)
        usage = self._usage(run)
        flags = self._flags(usage, imports[0])
        usage.space.refuse_above(self._fill_limit, 0, self._ost)
        client = ask(run, ["lctl", "get_param", "-n", "version"])
        version = re.search(r"^(?:lustre: )?(\d\S*)$", client, re.MULTILINE)
        if not version or not imports[0].version:
            raise SkipTarget(f"the Lustre version of this client or of {self._ost} is not shown")
        versions = {"client": version[1], "server": imports[0].version}
        versions = {**versions, **self._settings(run, imports[0])}
        return TargetState(usage.space.fill, flags, versions, active)

    def traffic(self, run: CommandRunner) -> Optional[int]:
        """Return the OST's bytes where this node is also its server, None on a mere client."""
        name = f"obdfilter.{self._ost}.stats"
        completed = run(["lctl", "get_param", "-n", name], QUICK_S)
        if not completed.ok:
            return None
        try:
            return sum(lustre_stats(completed.stdout, name).values())
        except ToolError:
            # what others move is worth knowing, and never worth a measurement
            return None

    def cause(self, run: CommandRunner, said: str, since: float) -> str:
        """Return why a tool failed; the state of the connection shows an eviction."""
        states = run(["lctl", "get_param", f"osc.{self._ost}-osc-*.state"], QUICK_S)
        return eviction(states.stdout, self._ost, since) or super().cause(run, said, since)

    def refuse_lost(self, run: CommandRunner) -> None:
        """Return if the client is connected to the OST."""
        self._connected(run)

    def waits_for_others(self, run: CommandRunner) -> bool:
        """Return whether a metadata server is lost, which makes and finds the files."""
        return metadata_lost(run, self._file_system)

    def server_answers(self, run: CommandRunner) -> Optional[bool]:
        """Return whether the client is connected to another OST of the same servers.

        An idle connection says nothing: its OST is asked how full it is.  None where there is no
        other, or none that tells.
        """
        every = ask(run, ["lctl", "get_param", f"osc.{self._file_system}-OST*-osc-*.import"])
        osts = parse_osts(ask(run, ["lfs", "osts", self._mount]))
        found = {
            ost: parse_import(device, text)
            for ost in osts
            for device, text in parse_parameter(every, ost, "import").items()
        }
        own = found.pop(self._ost, None)
        beside = {ost: one for ost, one in found.items() if own and set(one.nids) == set(own.nids)}
        if any(one.state == "FULL" for one in beside.values()):
            return True
        for ost in (ost for ost, one in beside.items() if one.state == "IDLE"):
            asked = run(["lfs", "df", f"--ost={osts[ost][0]}", self._mount], _DF_S)
            return True if parse_usage(asked.stdout, ost) else None
        return False if beside else None

    def caches(self, size_bytes: int) -> tuple[Cache, ...]:
        """Return the caches of this client, then that of the server."""
        server = server_cache(self._file, size_bytes)
        return (*super().caches(size_bytes), lock_cache(self._ost), server)

    def _mounted(self, run: CommandRunner) -> Mount:
        mount = mount_at(run, self._mount)
        name = mount.source.partition(":/")[2].partition("/")[0]
        if mount.kind != "lustre" or name != self._file_system:
            raise SkipTarget(
                f"{self._mount} is {mount.source} ({mount.kind}), not the Lustre file system "
                f"{self._file_system}; correct the mount in the topology"
            )
        return mount

    def _listed(self, run: CommandRunner) -> tuple[str, ...]:
        """Return the OSTs of this file system that are active on this client."""
        completed = run(["lfs", "osts", self._mount], QUICK_S)
        if not completed.ok:
            # of the mount itself, before any OST is asked
            late = completed.timed_out or completed.hung
            raise (NoMount if late else SkipTarget)(complaint(completed))
        osts = parse_osts(completed.stdout)
        if self._ost not in osts:
            raise SkipTarget(f"{self._mount} has no OST {self._ost}; look at: lfs osts")
        index, state = osts[self._ost]
        if index != self._index:
            raise SkipTarget(f"lfs osts gives {self._ost} the index {index}, not {self._index}")
        if state != "ACTIVE":
            raise SkipTarget(
                f"{self._ost} is {state} on this client; set osc.{self._ost}-osc-*.active=1, or "
                f"{RETIRED}"
            )
        return tuple(name for name, (_, each) in osts.items() if each == "ACTIVE")

    def _active(self, run: CommandRunner) -> None:
        for device, value in self._parameter(run, "active").items():
            if value != "1":
                raise SkipTarget(f"{device} is deactivated on this client (active={value})")

    def _connected(self, run: CommandRunner) -> list[Import]:
        try:
            shown = self._parameter(run, "import")
        except SkipTarget as refused:
            if debugfs_is_closed(run):
                raise PrivilegeError(f"{refused}: {NEEDS_DEBUGFS}") from refused
            raise
        imports = [parse_import(device, text) for device, text in shown.items()]
        for one in imports:
            if one.state not in ("FULL", "IDLE"):
                raise LostTarget(f"the import of {self._ost} is {one.state}")
            if {"IMPF_DEACTIVE", "IMPF_INVALID"} & one.flags:
                raise SkipTarget(f"the import of {self._ost} is deactivated on this client")
        return imports

    def _parameter(self, run: CommandRunner, name: str) -> dict[str, str]:
        text = ask(run, ["lctl", "get_param", f"osc.{self._ost}-osc-*.{name}"])
        values = parse_parameter(text, self._ost, name)
        if not values:
            raise SkipTarget(f"lctl shows no {name} of {self._ost} for a client on this node")
        return values

    def _settings(self, run: CommandRunner, connection: Import) -> dict[str, str]:
        """Return what else a rate depends on, from the client's memory; not shown is left out.

        The server is the OST's own, whichever is connected: a failed-over OST is flagged.
        """
        names = [f"osc.{connection.device}.{name}" for name in TUNABLES]
        # of parameters that this release does not have lctl complains, and shows the others
        shown = parse_tunables(run(["lctl", "get_param", *names], QUICK_S).stdout, connection)
        return {**shown, "nid": connection.nids[0]} if connection.nids else shown

    def _usage(self, run: CommandRunner) -> Usage:
        """Return the line of ``lfs df``: of this OST alone, or of all with an older lfs.

        Another OST may hang; what was printed before that counts.
        """
        for option in ([f"--ost={self._index}"], []):
            completed = run(["lfs", "df", *option, self._mount], _DF_S)
            usage = parse_usage(completed.stdout, self._ost)
            if usage is not None:
                return usage
            if completed.timed_out or completed.hung:
                break
        if not completed.ok:
            raise SkipTarget(complaint(completed))
        raise SkipTarget(f"lfs df does not list {self._ost}; look at: lfs df -v {self._mount}")

    def _flags(self, usage: Usage, connection: Import) -> tuple[Flag, ...]:
        for letter in usage.flags:
            if letter in _REFUSING:
                # the OST's own file system has given up writing
                error = BrokenTarget if letter == "R" else SkipTarget
                raise error(f"{self._ost} {_REFUSING[letter]}, says lfs df")
            if letter not in "DNaf":
                raise SkipTarget(f"lfs df shows {self._ost} in an unknown state {usage.flags!r}")
        self._draining = "N" in usage.flags
        moved = connection.nids and connection.connection != connection.nids[0]
        states = {
            Flag.DEGRADED: "D" in usage.flags,
            Flag.DRAINING: self._draining,
            Flag.FAILED_OVER: moved,
        }
        return tuple(flag for flag, holds in states.items() if holds)

    def _space(self, run: CommandRunner) -> Space:
        return self.space(run)

    def _create(self, run: CommandRunner) -> None:
        if self._draining:
            raise SkipTarget(draining(self._ost))
        # -i slides silently to another OST, -o fails instead; the folder's default has only -i, and
        # is there for whatever makes a file again
        index, folder = str(self._index), self._file.within(make=True)
        setstripe(run, ["-c", "1", "-i", index, "."], folder, self._ost)
        one = ["-c", "1", "-S", "4M", "-L", "raid0", "-o", index]
        setstripe(run, [*one, NAME], folder, self._ost)

    def _misplaced(self, run: CommandRunner) -> str:
        return misplaced(run, self._file, [(self._index, self._ost)])


def setstripe(run: CommandRunner, arguments: Sequence[str], within: Within, name: str) -> None:
    """Call ``lfs setstripe``; raise SkipTarget with the cause and the remedy, and its own words."""
    completed = run(["lfs", "setstripe", *arguments], SLOW_S, within)
    cause = refusal(completed.stderr, name)
    if cause:
        raise SkipTarget(f"{cause} ({complaint(completed, within)})")
    if not completed.ok:
        raise objection(completed, own=False, within=within)


def misplaced(run: CommandRunner, file: ProbeFile, osts: Sequence[tuple[int, str]]) -> str:
    """Return in words why a file has not one stripe on each OST, given by index and name.

    Nothing when it has.
    """
    path = file.path
    names = osts[0][1] if len(osts) == 1 else f"each of {len(osts)} OSTs from {osts[0][1]} on"
    layout = parse_layout(ask(run, ["lfs", "getstripe", NAME], within=file.within()))
    if layout.composite:
        return f"{path} has a composite layout instead of one stripe on {names}"
    if layout.pattern not in ("raid0", "1") or layout.stripes != len(osts):
        wanted = "one" if len(osts) == 1 else str(len(osts))
        return f"{path} has {layout.stripes} stripes ({layout.pattern}) instead of {wanted} (raid0)"
    indices = sorted(index for index, _ in osts)
    if sorted(layout.indices) != indices:
        where = ", ".join(map(str, layout.indices)) or "none"
        expected = ", ".join(map(str, indices))
        return f"{path} lies on OST index {where} instead of {expected} ({names})"
    return ""
