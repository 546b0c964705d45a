"""An OST of Lustre, measured through a client: one single-stripe file that lies on it alone.

A dead OST hangs whatever touches it, beyond SIGKILL.  Hence the order: first the kernel's list of
mounts and the client's own memory of the OST, which always answer, then what asks the OST itself.
"""

from __future__ import annotations

import re
from typing import Optional, Sequence

from plumbline.errors import BrokenTarget, DocumentError, LostTarget, NoMount, SkipTarget
from plumbline.model.command import CommandRunner
from plumbline.model.record import Flag
from plumbline.targets.ask import QUICK_S, SLOW_S, ask, complaint
from plumbline.targets.file_target import FileTarget
from plumbline.targets.interface import TargetState
from plumbline.targets.lustre_output import (
    TUNABLES,
    Import,
    Usage,
    parse_import,
    parse_layout,
    parse_osts,
    parse_parameter,
    parse_transfers,
    parse_tunables,
    parse_usage,
)
from plumbline.targets.mounts import Mount, mount_at
from plumbline.targets.probe_file import Space, absolute

_NAME = re.compile(r"(?P<file_system>[A-Za-z0-9_-]{1,8})-OST(?P<index>[0-9a-f]{4})")
_DF_S = 20.0
_REFUSING = {
    "N": "creates no objects (no_create)",
    "R": "is read-only",
    "S": "has no space",
    "I": "has no inodes",
}
"""Letters of ``lfs df`` with which an OST is not measured; D, degraded, is measured and said."""

_NEEDS_ROOT = (
    "lctl shows imports to root and to CAP_DAC_READ_SEARCH only: "
    "set ost_probe_capabilities of the role ost_probe"
)
_NEEDS_GROUP = (
    "; llite.*.enable_setstripe_gid may keep this user from choosing OSTs: "
    "set it to the group of the user plumbline"
)


class LustreTarget(FileTarget):
    """One OST, by its name such as ``scratch-OST001a``; the index in it is hexadecimal."""

    def __init__(self, mount: str, ost: str, component: str, fill_limit: float) -> None:
        """Take the client's mount point and the OST's name; raise DocumentError for others."""
        super().__init__(absolute(mount, "the mount of Lustre"), component, fill_limit)
        name = _NAME.fullmatch(ost)
        if not name:
            raise DocumentError(
                f"{ost!r} is not the name of an OST; write it as lfs osts does, such as "
                "scratch-OST001a, in the topology"
            )
        self._mount, self._ost = self._file.base, ost
        self._file_system = name["file_system"]
        self._index = int(name["index"], 16)

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
        self._listed(run)
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
        return TargetState(usage.space.fill, flags, {**versions, **self._settings(run, imports[0])})

    def traffic(self, run: CommandRunner) -> Optional[int]:
        """Return the OST's bytes where this node is also its server, None on a mere client."""
        completed = run(["lctl", "get_param", "-n", f"obdfilter.{self._ost}.stats"], QUICK_S)
        return parse_transfers(completed.stdout) if completed.ok else None

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

    def _mounted(self, run: CommandRunner) -> Mount:
        mount = mount_at(run, self._mount)
        name = mount.source.partition(":/")[2].partition("/")[0]
        if mount.kind != "lustre" or name != self._file_system:
            raise SkipTarget(
                f"{self._mount} is {mount.source} ({mount.kind}), not the Lustre file system "
                f"{self._file_system}; correct the mount in the topology"
            )
        return mount

    def _listed(self, run: CommandRunner) -> None:
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
            raise SkipTarget(f"{self._ost} is {state} on this client; look at: lctl dl")

    def _active(self, run: CommandRunner) -> None:
        for device, value in self._parameter(run, "active").items():
            if value != "1":
                raise SkipTarget(f"{device} is deactivated on this client (active={value})")

    def _connected(self, run: CommandRunner) -> list[Import]:
        try:
            shown = self._parameter(run, "import")
        except SkipTarget as refused:
            raise SkipTarget(f"{refused}; {_NEEDS_ROOT}") from refused
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
            if letter not in "Daf":
                raise SkipTarget(f"lfs df shows {self._ost} in an unknown state {usage.flags!r}")
        degraded = (Flag.DEGRADED,) if "D" in usage.flags else ()
        moved = connection.nids and connection.connection != connection.nids[0]
        return degraded + ((Flag.FAILED_OVER,) if moved else ())

    def _space(self, run: CommandRunner) -> Space:
        return self.space(run)

    def _create(self, run: CommandRunner) -> None:
        # -i slides silently to another OST, -o fails instead; the folder's default has only -i, and
        # is there for whatever makes a file anew
        self._file.make_folder(run)
        index = str(self._index)
        setstripe(run, ["-c", "1", "-i", index, self._file.folder])
        setstripe(run, ["-c", "1", "-S", "4M", "-L", "raid0", "-o", index, self._file.path])

    def _misplaced(self, run: CommandRunner) -> str:
        return misplaced(run, self._file.path, [(self._index, self._ost)])


def setstripe(run: CommandRunner, arguments: Sequence[str]) -> None:
    """Call ``lfs setstripe``; raise SkipTarget in its own words, with what may be in the way."""
    completed = run(["lfs", "setstripe", *arguments], SLOW_S)
    said = completed.stderr.lower()
    hint = _NEEDS_GROUP if "restricted" in said or "permi" in said else ""
    if not completed.ok or hint:
        raise SkipTarget(complaint(completed) + hint)


def misplaced(run: CommandRunner, path: str, osts: Sequence[tuple[int, str]]) -> str:
    """Return in words why a file has not one stripe on each OST, given by index and name.

    Nothing when it has.
    """
    names = osts[0][1] if len(osts) == 1 else f"each of {len(osts)} OSTs from {osts[0][1]} on"
    layout = parse_layout(ask(run, ["lfs", "getstripe", path]))
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
