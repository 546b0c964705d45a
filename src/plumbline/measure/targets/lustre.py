"""OSTs of Lustre, measured through a client: one file with one stripe per OST.

Any access to a dead OST hangs, and even SIGKILL does not end it.  Sources that always
answer come first: the kernel's list of mounts and the client's state of the OST.  Queries to the
OST itself come last.

A file over several OSTs has one stripe on each; every OST is checked as if it were measured alone.
"""

from __future__ import annotations

import re
from math import floor
from typing import Optional, Sequence

from plumbline.measure.targets.interface import (
    STRIPED,
    Descriptions,
    Holder,
    Keys,
    Kind,
    TargetState,
    elsewhere,
    on_any,
    osts_of,
    printable,
)
from plumbline.measure.targets.probe_file import (
    NAME,
    Cache,
    Client,
    FileTarget,
    ProbeFile,
    absolute,
    lock_cache,
    quota,
    server_cache,
)
from plumbline.model.command import CommandRunner, Completed, Within
from plumbline.model.errors import (
    BrokenTarget,
    DocumentError,
    LostTarget,
    NoMount,
    PrivilegeError,
    SkipTarget,
    ToolError,
    UsageError,
)
from plumbline.model.names import OST
from plumbline.model.record import Flag, Operation
from plumbline.model.validation import whole
from plumbline.observe.lustre_output import (
    TUNABLES,
    Import,
    Requests,
    Usage,
    client_requests,
    lustre_stats,
    parameters,
    parse_import,
    parse_layout,
    parse_objects,
    parse_osts,
    parse_parameter,
    parse_tunables,
    parse_usage,
    parse_version,
)
from plumbline.observe.mounts import Mount, Space, Traffic, mount_at
from plumbline.observe.query import (
    NEEDS_DEBUGFS,
    QUICK_S,
    SLOW_S,
    ask,
    complaint,
    debugfs_is_closed,
    objection,
)

_ENTRY = re.compile(r"\[\s*(\d{1,15}),\s*EVICTED\s*\]")
_STATE = re.compile(r"^ +state: (\w+)$", re.MULTILINE)
_CLIENT_DEVICE = re.compile(r"^osc\.\S+-osc-(?!MDT)\w+\.state=$")

PLACEMENT = re.compile(r"lmv_stripe_count:\s*(\d+)\s+lmv_stripe_offset:\s*(\d+)\b(?P<rest>.*)")
"""Stripes of a folder and the index of its metadata target, from ``lfs getdirstripe``."""

RETIRED = "name it in retired of the topology"

_NEEDS_GROUP = (
    "llite.*.enable_setstripe_gid may keep this user from choosing OSTs: "
    "set it to the group of the user plumbline"
)


def draining(ost: str) -> str:
    """Return the reason why an OST with flag N in ``lfs df`` accepts no new file."""
    return (
        f"{ost} creates no objects (no_create, it is drained) and has no probe file; {RETIRED}, or "
        f"end it with obdfilter.{ost}.no_create=0 on its server"
    )


def refusal(output: str, ost: str) -> str:
    """Return cause and remedy of an error of ``lfs setstripe``, empty if it needs none."""
    text = output.lower()
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


_MAX_TRIAL_S = 1800.0
"""Longest time from the start of a trial to its failure; a later time is that of another clock."""


def eviction(states: str, ost: str, since: float) -> str:
    """Return a sentence if a server has evicted this client since ``since``, else empty.

    ``states`` is the output of ``lctl get_param osc.OST-osc-*.state``; its times are whole seconds
    since the epoch, by this client's clock, which may have gone back meanwhile.
    """
    is_osc = False
    for line in states.splitlines():
        if line.startswith("osc."):
            is_osc = _CLIENT_DEVICE.match(line) is not None
        entry = _ENTRY.search(line)
        at = whole(entry[1], "the time of a state", ToolError) if is_osc and entry else None
        if at is not None and floor(since) <= at <= since + _MAX_TRIAL_S:
            return (
                f"the server of {ost} evicted this client during the run; look at the kernel logs "
                "of both and at the network between them, then measure again"
            )
    return ""


def metadata_states(run: CommandRunner, file_system: str) -> dict[str, str]:
    """Return the state of this client's connection to each metadata target of a file system."""
    texts = metadata_imports(run, file_system)
    states = {mdt: _STATE.search(text) for mdt, (_, text) in texts.items()}
    return {mdt: state[1] if state else "unknown" for mdt, state in states.items()}


def metadata_imports(run: CommandRunner, file_system: str) -> dict[str, tuple[str, str]]:
    """Return device and import of this client's connection to each MDT of a file system."""
    pattern = f"mdc.{file_system}-MDT*-mdc-*.import"
    output = run(["lctl", "get_param", pattern], QUICK_S).stdout
    devices = (
        (name.split(".", 1)[1].rpartition(".")[0], text)
        for name, text in parameters(output, (pattern,))
    )
    return {device.partition("-mdc-")[0]: (device, text) for device, text in devices}


def lustre_mount(run: CommandRunner, point: str, file_system: str) -> Mount:
    """Return the mount of a Lustre file system; raise SkipTarget if another one is there."""
    mount = mount_at(run, point)
    name = mount.source.partition(":/")[2].partition("/")[0]
    if mount.kind != "lustre" or name != file_system:
        raise SkipTarget(
            f"{point} is {mount.source} ({mount.kind}), not the Lustre file system "
            f"{file_system}; correct the mount in the topology"
        )
    return mount


def requests_of(run: CommandRunner, kind: str, target: str, line: str) -> Optional[Requests]:
    """Return this client's requests to a target by a line of its statistics, None if unknown."""
    shown = run(["lctl", "get_param", f"{kind}.{target}-{kind}-*.stats"], QUICK_S)
    try:
        return client_requests(shown.stdout, target, line)
    except ToolError:
        # they explain a rate, and must not fail its measurement
        return None


_DF_S = 20.0


def usage_of(
    run: CommandRunner, name: str, calls: Sequence[Sequence[str]]
) -> tuple[Optional[Usage], Completed]:
    """Return a target's line in the first ``lfs df`` that has it, and the last answer.

    ``calls`` are arguments of ``lfs df``, for a release each.  If another target hangs, the output
    before it counts, and nothing more is asked.
    """
    for arguments in calls:
        completed = run(["lfs", "df", *arguments], _DF_S)
        usage = parse_usage(completed.stdout, name)
        if usage is not None or completed.timed_out or completed.hung:
            break
    return usage, completed


REFUSING = {
    "R": "is read-only",
    "S": "has no space",
    "I": "has no inodes",
}
"""Flags of ``lfs df`` that exclude an OST.

OSTs with D, degraded, and N, drained, are measured with a flag: N prevents new objects, but not
writing to the existing file.
"""


class LustreTarget(FileTarget):
    """One OST, by its name, e.g. ``scratch-OST001a`` with a hexadecimal index."""

    def __init__(self, client: Client, ost: str, component: str, fill_limit: float) -> None:
        """Take the client's mount and the OST's name; raise DocumentError if one is invalid."""
        self._client = client.checked("Lustre")
        super().__init__(self._client.folder, component, fill_limit)
        name = OST.match("the OST", ost)
        self._mount, self.name = self._client.mount, ost
        self._file_system = name["file_system"]
        self.index = whole(name["index"], "the index of an OST", DocumentError, 16)
        self._draining = False

    def state(self, run: CommandRunner) -> TargetState:
        """Return the state of an OST that is active, connected, writable and not too full."""
        self._mounted(run).refuse_read_only()
        active = self._listed(run)
        self._active(run)
        connection = None if self._client.imports_hidden else self._connected(run)
        usage = self._usage(run)
        flags = self._flags(usage, connection)
        usage.space.refuse_above(self._fill_limit, 0, self.name)
        versions = self._versions(run, connection)
        return TargetState(usage.space.fill, flags, versions, active)

    def _versions(self, run: CommandRunner, connection: Optional[Import]) -> dict[str, str]:
        """Return versions and settings; without a connection only the client's version."""
        version = parse_version(ask(run, ["lctl", "get_param", "-n", "version"]))
        if not version or (connection and not connection.version):
            raise SkipTarget(f"the Lustre version of this client or of {self.name} is not shown")
        if connection is None:
            return {"client": version}
        versions = {"client": version, "server": connection.version}
        return {**versions, **self._settings(run, connection)}

    def traffic(self, run: CommandRunner) -> Optional[Traffic]:
        """Return the OST's byte counters if this node is also its server, None on a client."""
        name = f"obdfilter.{self.name}.stats"
        completed = run(["lctl", "get_param", "-n", name], QUICK_S)
        if not completed.ok:
            return None
        try:
            moved = lustre_stats(completed.stdout, name)
            return Traffic(moved[Operation.READ], moved[Operation.WRITE])
        except ToolError:
            # unknown traffic of others must not fail the measurement
            return None

    def requests(self, run: CommandRunner, operation: Operation) -> Optional[Requests]:
        """Return this client's reads or writes of the OST; None if this user may not see them."""
        line = "ost_write" if operation == Operation.WRITE else "ost_read"
        return None if self._client.imports_hidden else requests_of(run, "osc", self.name, line)

    def cause(self, run: CommandRunner, output: str, since: float) -> str:
        """Return cause and remedy of a tool's failure, such as an eviction; empty if unknown."""
        states = run(["lctl", "get_param", f"osc.{self.name}-osc-*.state"], QUICK_S)
        return eviction(states.stdout, self.name, since) or super().cause(run, output, since)

    def refuse_lost(self, run: CommandRunner) -> None:
        """Raise if the client is not connected to the OST, as far as this user may know."""
        if not self._client.imports_hidden:
            self._connected(run)

    def waits_for_others(self, run: CommandRunner) -> str:
        """Return the lost metadata targets that create and find the file."""
        if self._client.imports_hidden:
            answered = run(["lfs", "df", "--mdt", self._mount], _DF_S).ok
            return "" if answered else f"no metadata target of {self._file_system} answers lfs df"
        states = metadata_states(run, self._file_system)
        lost = {target: state for target, state in states.items() if state != "FULL"}
        if not states:
            return f"lctl shows no metadata target of {self._file_system}"
        # all paths begin at the first one, so a query about them would hang
        askable = lost and f"{self._file_system}-MDT0000" not in lost
        needed = self._metadata_targets(run) if askable else None
        return ", ".join(
            f"{target} is {state}"
            for target, state in lost.items()
            if needed is None or target in needed
        )

    def _metadata_targets(self, run: CommandRunner) -> Optional[set[str]]:
        """Return the metadata targets of the file's folders, None if one gives no answer."""
        targets = set()
        for folder in (self._mount, self._file.own, self._file.folder):
            completed = run(["lfs", "getdirstripe", "-m", folder], QUICK_S)
            index = completed.stdout.strip()
            if not (completed.ok and index.isascii() and index.isdecimal()):
                return None
            number = whole(index, "the index of a metadata target")
            targets.add(f"{self._file_system}-MDT{number:04x}")
        return targets

    def server_answers(self, run: CommandRunner) -> Optional[bool]:
        """Return True if the client is connected to another OST of the same servers.

        An idle connection proves nothing, so its OST is asked for its space.  Return None if there
        is no other OST, or an idle one does not answer.
        """
        output = ask(run, ["lctl", "get_param", f"osc.{self._file_system}-OST*-osc-*.import"])
        osts = parse_osts(ask(run, ["lfs", "osts", self._mount]))
        imports = {
            ost: parse_import(device, text)
            for ost in osts
            for device, text in parse_parameter(output, ost, "import").items()
        }
        own = imports.pop(self.name, None)
        nids = set(own.nids) if own else set()
        siblings = {ost: other for ost, other in imports.items() if own and set(other.nids) == nids}
        if any(sibling.state == "FULL" for sibling in siblings.values()):
            return True
        for ost in (ost for ost, sibling in siblings.items() if sibling.state == "IDLE"):
            completed = run(["lfs", "df", f"--ost={osts[ost][0]}", self._mount], _DF_S)
            return True if parse_usage(completed.stdout, ost) else None
        return False if siblings else None

    def caches(self, size_bytes: int) -> tuple[Cache, ...]:
        """Return the caches of this client, then the server's cache."""
        server = server_cache(self._file, size_bytes)
        return (*super().caches(size_bytes), lock_cache(self.name), server)

    def _mounted(self, run: CommandRunner) -> Mount:
        return lustre_mount(run, self._mount, self._file_system)

    def _listed(self, run: CommandRunner) -> tuple[str, ...]:
        """Return the names of the active OSTs of this file system; check that this OST is one."""
        completed = run(["lfs", "osts", self._mount], QUICK_S)
        if not completed.ok:
            # no OST is asked here, so this is a failure of the mount itself
            late = completed.timed_out or completed.hung
            raise (NoMount if late else SkipTarget)(complaint(completed))
        osts = parse_osts(completed.stdout)
        if self.name not in osts:
            raise SkipTarget(f"{self._mount} has no OST {self.name}; look at: lfs osts")
        index, state = osts[self.name]
        if index != self.index:
            raise SkipTarget(f"lfs osts gives {self.name} the index {index}, not {self.index}")
        if state != "ACTIVE":
            raise SkipTarget(
                f"{self.name} is {state} on this client; set osc.{self.name}-osc-*.active=1, or "
                f"{RETIRED}"
            )
        return tuple(name for name, (_, state) in osts.items() if state == "ACTIVE")

    def _active(self, run: CommandRunner) -> None:
        for device, value in self._parameter(run, "active").items():
            if value != "1":
                raise SkipTarget(f"{device} is deactivated on this client (active={value})")

    def _connected(self, run: CommandRunner) -> Import:
        try:
            parameters = self._parameter(run, "import")
        except SkipTarget as error:
            if debugfs_is_closed(run):
                raise PrivilegeError(f"{error}: {NEEDS_DEBUGFS}") from error
            raise
        imports = [parse_import(device, text) for device, text in parameters.items()]
        for connection in imports:
            if connection.state not in ("FULL", "IDLE"):
                raise LostTarget(f"the import of {self.name} is {connection.state}")
            if {"IMPF_DEACTIVE", "IMPF_INVALID"} & connection.flags:
                raise SkipTarget(f"the import of {self.name} is deactivated on this client")
        return imports[0]

    def _parameter(self, run: CommandRunner, name: str) -> dict[str, str]:
        text = ask(run, ["lctl", "get_param", f"osc.{self.name}-osc-*.{name}"])
        values = parse_parameter(text, self.name, name)
        if not values:
            raise SkipTarget(f"lctl shows no {name} of {self.name} for a client on this node")
        return values

    def _settings(self, run: CommandRunner, connection: Import) -> dict[str, str]:
        """Return the client's settings that affect a rate, without missing parameters.

        The server is the OST's primary one; a failover is shown by a flag.
        """
        names = [f"osc.{connection.device}.{name}" for name in TUNABLES]
        # lctl complains about parameters that this release lacks, and shows the others
        settings = parse_tunables(run(["lctl", "get_param", *names], QUICK_S).stdout, connection)
        return {**settings, "nid": connection.nids[0]} if connection.nids else settings

    def _usage(self, run: CommandRunner) -> Usage:
        """Return the line of ``lfs df`` for this OST; an older lfs prints all OSTs."""
        calls = [[f"--ost={self.index}", self._mount], [self._mount]]
        usage, completed = usage_of(run, self.name, calls)
        if usage is not None:
            return usage
        if not completed.ok:
            raise SkipTarget(complaint(completed))
        raise SkipTarget(f"lfs df does not list {self.name}; look at: lfs df -v {self._mount}")

    def _flags(self, usage: Usage, connection: Optional[Import]) -> tuple[Flag, ...]:
        for letter in usage.flags:
            if letter in REFUSING:
                # the file system of the OST became read-only after an error
                error = BrokenTarget if letter == "R" else SkipTarget
                raise error(f"{self.name} {REFUSING[letter]} (lfs df)")
            if letter not in "DNaf":
                raise SkipTarget(f"lfs df shows {self.name} in an unknown state {usage.flags!r}")
        self._draining = "N" in usage.flags
        states = {
            Flag.DEGRADED: "D" in usage.flags,
            Flag.DRAINING: self._draining,
            Flag.FAILED_OVER: connection is not None and connection.is_failed_over,
        }
        return tuple(flag for flag, holds in states.items() if holds)

    def _space(self, run: CommandRunner) -> Space:
        return self._usage(run).space

    def _create(self, run: CommandRunner) -> None:
        if self._draining:
            raise SkipTarget(draining(self.name))
        # -i may silently choose another OST, -o fails instead; a folder's default allows only -i,
        # and serves any tool that creates the file again
        index, folder = str(self.index), self._file.within(make=True)
        setstripe(run, ["-c", "1", "-i", index, "."], folder, self.name)
        options = ["-c", "1", "-S", "4M", "-L", "raid0", "-o", index]
        setstripe(run, [*options, NAME], folder, self.name)

    def _misplaced(self, run: CommandRunner) -> str:
        return misplaced(run, self._file, [self])


def setstripe(run: CommandRunner, arguments: Sequence[str], within: Within, name: str) -> None:
    """Call ``lfs setstripe``; raise SkipTarget with cause, remedy and its message."""
    completed = run(["lfs", "setstripe", *arguments], SLOW_S, within)
    cause = refusal(completed.stderr, name)
    if cause:
        raise SkipTarget(f"{cause} ({complaint(completed, within)})")
    if not completed.ok:
        raise objection(completed, own=False, within=within)


def misplaced(run: CommandRunner, file: ProbeFile, osts: Sequence[LustreTarget]) -> str:
    """Return the fault of a file's layout; empty if it has one stripe on each OST."""
    path = file.path
    first = osts[0].name
    names = first if len(osts) == 1 else f"each of {len(osts)} OSTs from {first} on"
    layout = parse_layout(ask(run, ["lfs", "getstripe", NAME], within=file.within()))
    if layout.composite:
        return f"{path} has a composite layout instead of one stripe on {names}"
    if layout.pattern not in ("raid0", "1") or layout.stripes != len(osts):
        expected = "one" if len(osts) == 1 else str(len(osts))
        return (
            f"{path} has {layout.stripes} stripes ({layout.pattern}) instead of {expected} (raid0)"
        )
    indices = sorted(ost.index for ost in osts)
    if sorted(layout.indices) != indices:
        where = ", ".join(map(str, layout.indices)) or "none"
        expected = ", ".join(map(str, indices))
        return f"{path} lies on OST index {where} instead of {expected} ({names})"
    return ""


_PER_OST = "nid"
"""Entry of ``versions`` that always differs between OSTs."""


class StripedLustreTarget(FileTarget):
    """Several OSTs by name; the file is striped over them in units of ``stripe_bytes``."""

    def __init__(
        self, where: tuple[str, int], osts: Sequence[str], component: str, fill_limit: float
    ) -> None:
        """Take mount point and stripe size, and the OSTs; raise DocumentError for invalid ones.

        An OST that is named twice would carry two stripes.
        """
        mount, self._stripe_bytes = where
        super().__init__(absolute(mount, "the mount of Lustre"), component, fill_limit)
        if len(set(osts)) != len(osts):
            raise DocumentError(f"the stripes of {component} name an OST twice; name each once")
        client = Client(mount)
        self._osts = [LustreTarget(client, ost, component, fill_limit) for ost in osts]

    def state(self, run: CommandRunner) -> TargetState:
        """Return the state of all OSTs together: the highest fill, and all flags."""
        states = [ost.state(run) for ost in self._osts]
        names = dict.fromkeys(name for state in states for name in state.versions)
        return TargetState(
            max(state.fill for state in states if state.fill is not None),
            tuple(dict.fromkeys(flag for state in states for flag in state.flags)),
            {
                name: " ".join(dict.fromkeys(state.versions.get(name, "-") for state in states))
                for name in names
                if name != _PER_OST
            },
        )

    def _space(self, run: CommandRunner) -> Space:
        """Return the space as if all OSTs were like the fullest, which ends the write."""
        spaces = [ost._space(run) for ost in self._osts]
        least = min(spaces, key=lambda space: space.available)
        return Space(least.used * len(spaces), least.available * len(spaces))

    def _create(self, run: CommandRunner) -> None:
        where = ",".join(str(ost.index) for ost in self._osts)
        size = ["-S", str(self._stripe_bytes), "-L", "raid0"]
        names = f"one of {', '.join(ost.name for ost in self._osts)}"
        arguments = ["-c", str(len(self._osts)), *size, "-o", where, NAME]
        setstripe(run, arguments, self._file.within(make=True), names)

    def _misplaced(self, run: CommandRunner) -> str:
        return misplaced(run, self._file, self._osts)


def _make_striped(keys: Keys, component: str, fill_limit: float) -> StripedLustreTarget:
    size = whole(str(keys["stripe_bytes"]), f"stripe_bytes of target {component}", DocumentError)
    return StripedLustreTarget((keys["mount"], size), osts_of(keys), component, fill_limit)


STRIPED_LUSTRE = Kind(
    STRIPED,
    frozenset({"mount", "osts", "stripe_bytes"}),
    frozenset(),
    _make_striped,
    everywhere=True,
    counted=lambda keys, _component: osts_of(keys),
)
"""Kind for several OSTs at once; ``osts`` has their names, separated by commas."""


def _make(keys: Keys, component: str, fill_limit: float) -> LustreTarget:
    client = Client(keys["mount"], keys.get("folder", ""), "imports" in keys)
    return LustreTarget(client, _ost(keys, component), component, fill_limit)


def _ost(keys: Keys, component: str) -> str:
    return str(keys.get("ost", component))


def _find(run: CommandRunner, path: str, mount: Mount, targets: Descriptions) -> tuple[Holder, ...]:
    file_system = mount.source.partition(":/")[2].partition("/")[0]
    osts = {_ost(keys, name): name for name, keys in targets.items() if keys["kind"] == LUSTRE.name}
    if not any(ost.startswith(f"{file_system}-OST") for ost in osts):
        raise elsewhere(path, mount)
    # -y: YAML has no line with the path, which could look like a layout
    objects = parse_objects(ask(run, ["lfs", "getstripe", "-d", "-y", path]))
    if objects is None:
        raise on_any(path)
    if objects.released:
        raise UsageError(
            f"{printable(path)} is released: its data lies in the archive and on no OST; "
            "bring it back with lfs hsm_restore"
        )
    if not objects.indices:
        raise UsageError(
            f"{printable(path)} has no data on any OST: it is empty, or so small that it lies with "
            "its metadata"
        )
    names = [f"{file_system}-OST{index:04x}" for index in objects.indices]
    return tuple(Holder(name, osts.get(name, "")) for name in names)


LUSTRE = Kind(
    "lustre",
    frozenset({"mount"}),
    frozenset({"ost", "folder", "imports"}),
    _make,
    mounted="lustre",
    find=_find,
    everywhere=True,
    counted=lambda keys, component: (_ost(keys, component),),
)
