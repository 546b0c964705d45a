"""Metadata targets: a folder of the probe's own, and its proof.

On Lustre root makes the folder on one MDT, ``MOUNT/.plumbline/FS-MDT000N``
(:mod:`plumbline.measure.metadata_folders`): others may not choose an MDT.  All that is created in
it lies on the same MDT, for it has one stripe and pins new folders.  Its files have one plain
stripe each, whatever the layout of the root is: a composite layout, or one with data on the MDT,
would measure something else.

A survey by root makes the folder itself and removes it again.

A query about a dead MDT hangs, so sources that always answer come first, as for OSTs.
"""

from __future__ import annotations

import re
import shlex
from typing import Optional

from plumbline.measure.targets.directory import DirectoryTarget
from plumbline.measure.targets.interface import Keys, Kind, Target, TargetState
from plumbline.measure.targets.lustre import (
    PLACEMENT,
    REFUSING,
    lustre_mount,
    metadata_imports,
    metadata_states,
    requests_of,
    usage_of,
)
from plumbline.measure.targets.probe_file import Client, ProbeFile, absolute, quota
from plumbline.model.command import Check, CommandRunner, Proof, Within
from plumbline.model.errors import (
    BrokenTarget,
    DocumentError,
    LostTarget,
    PrivilegeError,
    SkipTarget,
)
from plumbline.model.layers.mdt import FILES
from plumbline.model.names import MDT
from plumbline.model.record import Flag, Operation
from plumbline.model.validation import whole
from plumbline.observe.lustre_output import (
    Import,
    Requests,
    Usage,
    parse_import,
    parse_osts,
    parse_version,
)
from plumbline.observe.mounts import Mount, Space
from plumbline.observe.query import (
    NEEDS_DEBUGFS,
    QUICK_S,
    SLOW_S,
    ask,
    debugfs_is_closed,
    objection,
)

DEPLOY = "deploy the role mdt_probe, which makes it as root"


ROOT = "root"
"""User whose surveys make folders and remove them; only root may choose an MDT."""


def calls_of_root(index: int, folder: str, user: str) -> str:
    """Return the shell commands with which root makes a user's folder on an MDT, once."""
    path = shlex.quote(folder)
    commands = (
        f"lfs mkdir -i {index} -c 1 -o 0700 {path}",
        f"lfs setdirstripe -D -i {index} -c 1 {path}",
        f"lfs setstripe -c 1 {path}",
        f"chown -h {user}: {path}",
    )
    return " && ".join(commands)


def refuse_inodes(inodes: Space, limit: float, where: str) -> None:
    """Raise SkipTarget if too many inodes are in use, or too few are free; 0 in all are unknown."""
    if not inodes.used + inodes.available:
        return
    if inodes.fill > limit:
        raise SkipTarget(
            f"{where} has {inodes.fill:.0%} of its inodes in use, the limit is {limit:.0%}; remove "
            "files there"
        )
    if inodes.available < FILES:
        raise SkipTarget(
            f"{where} has {inodes.available} free inodes, and a run needs {FILES}; remove files "
            "there"
        )


class MetadataTarget(Target):
    """Target whose calls are measured in the folder ``BASE/.plumbline/COMPONENT``."""

    _MAKE = True
    """Whether the probe may make the folder."""

    def __init__(self, base: str, component: str, fill_limit: float) -> None:
        """Take mount or directory, the component's name, and the highest fill of inodes."""
        if not component:
            raise DocumentError(f"a metadata target on {base} has no name; give it one")
        # only its folders are used
        self._folders = ProbeFile(base, component)
        self._fill_limit = fill_limit

    def within(self) -> Within:
        """Return the folder in which calls are made."""
        return self._folders.within(make=self._MAKE)._replace(file="")

    def cause(self, run: CommandRunner, output: str, since: float) -> str:  # noqa: ARG002
        """Return cause and remedy of a failed call by its message; empty if unknown."""
        return quota(self._folders.base) if "disk quota exceeded" in output.lower() else ""

    def leftovers(self, run: CommandRunner) -> tuple[str, ...]:
        """Return the folders that exist, deepest first."""
        own = self._folders.within_own()
        names = ask(run, ["find", ".", "-maxdepth", "1", "-name", self._folders.name], within=own)
        return (self._folders.folder,) if names.strip() else ()

    def remove(self, run: CommandRunner) -> None:
        """Remove the folder if it is empty, and then the shared one."""
        keep = "--ignore-fail-on-non-empty"
        own, base = self._folders.within_own(), Within(self._folders.base)
        ask(run, ["rmdir", keep, "--", self._folders.name], SLOW_S, own)
        ask(run, ["rmdir", keep, "--", self._folders.hidden], SLOW_S, base)


class DirectoryMetadata(MetadataTarget):
    """Metadata of any file system, through one directory; its calls stay in one mount."""

    def __init__(self, directory: str, source: str, component: str, fill_limit: float) -> None:
        """Take directory and, if given, what must be mounted; raise DocumentError for no path."""
        path = absolute(directory, "the directory of a metadata target")
        super().__init__(path, component, fill_limit)
        self._directory = DirectoryTarget(path, source, component, fill_limit)

    def state(self, run: CommandRunner) -> TargetState:
        """Return the state of a writable directory with free inodes."""
        state = self._directory.state(run)
        inodes = self._inodes(run)
        refuse_inodes(inodes, self._fill_limit, self._folders.base)
        known = bool(inodes.used + inodes.available)
        return state._replace(fill=inodes.fill if known else None)

    def place(self, run: CommandRunner, size_bytes: int) -> str:  # noqa: ARG002
        """Make the folder if it is missing, and return its path."""
        ask(run, ["test", "-d", "."], SLOW_S, self.within(), own=True)
        return self._folders.folder

    def verify(self, run: CommandRunner, path: str) -> None:  # noqa: ARG002
        """Check that the directory still is the same file system."""
        fault = self._directory._misplaced(run)
        if fault:
            raise SkipTarget(fault)

    def _inodes(self, run: CommandRunner) -> Space:
        """Return used and free inodes; 0 on file systems without a fixed number."""
        argv = ["stat", "--file-system", "--format=%c %d", "--", self._folders.base]
        words = ask(run, argv, own=True).split()
        if len(words) != 2:
            raise SkipTarget(f"stat -f of {self._folders.base} printed {' '.join(words)[:80]!r}")
        subject = f"a number of stat -f of {self._folders.base}"
        # some network file systems have the largest number of 64 bits
        most = (1 << 64) - 1
        total, free = (whole(word, subject, SkipTarget, most=most) for word in words)
        return Space(max(0, total - free), free)


_PLAIN = re.compile(
    r"\s*stripe_count:\s*1\s+stripe_size:\s*\d+\s+(?:pattern:\s+(?:raid0\s+)?)?stripe_offset:.*"
)
"""Default layout of a folder: one stripe, as ``lfs getstripe -d`` prints it on one line."""


class LustreMetadata(MetadataTarget):
    """One MDT, by its name, e.g. ``scratch-MDT0001`` with a hexadecimal index.

    ``user`` is the user of a survey, empty for a planned run, whose folder the role has made.
    """

    _MAKE = False

    def __init__(
        self, client: Client, mdt: str, component: str, fill_limit: float, user: str = ""
    ) -> None:
        """Take the client's mount and the MDT's name; raise DocumentError if one is invalid."""
        self._client = client.checked("Lustre")
        super().__init__(self._client.folder, component, fill_limit)
        self._mount, self._user = self._client.mount, user
        name = MDT.match("the MDT", mdt)
        self.name, self._file_system = mdt, name["file_system"]
        self.index = whole(name["index"], "the index of an MDT", DocumentError, 16)

    def state(self, run: CommandRunner) -> TargetState:
        """Return the state of an MDT that is active, connected, writable and has inodes."""
        self._mounted(run).refuse_read_only()
        connection = None if self._client.imports_hidden else self._connected(run)
        self._listed(run)
        usage = self._usage(run)
        self._refuse_flags(usage.flags)
        refuse_inodes(usage.space, self._fill_limit, self.name)
        flags = (Flag.FAILED_OVER,) if connection and connection.is_failed_over else ()
        return TargetState(usage.space.fill, flags, self._versions(run, connection))

    def _versions(self, run: CommandRunner, connection: Optional[Import]) -> dict[str, str]:
        client = parse_version(ask(run, ["lctl", "get_param", "-n", "version"]))
        if not client or (connection and not connection.version):
            raise SkipTarget(f"the Lustre version of this client or of {self.name} is not shown")
        server = {"server": connection.version} if connection else {}
        return {"client": client, **server}

    def place(self, run: CommandRunner, size_bytes: int) -> str:  # noqa: ARG002
        """Return the path of the folder that root has made; give its files one stripe each."""
        if self._user == ROOT:
            self._make(run)
        fault = self._misplaced(run)
        if fault:
            raise SkipTarget(fault)
        if not self._is_plain(run):
            argv = ["lfs", "setstripe", "-c", "1", self._folders.name]
            ask(run, argv, SLOW_S, self._folders.within_own())
        self.verify(run, self._folders.folder)
        return self._folders.folder

    def verify(self, run: CommandRunner, path: str) -> None:
        """Check that the folder lies on this MDT alone, and its files have one plain stripe."""
        fault = self._misplaced(run)
        if not fault and not self._is_plain(run):
            fault = f"files in {path} have another layout than one stripe; {self._again()}"
        if fault:
            raise SkipTarget(fault)

    def proof(self) -> Proof:
        """Return the checks that a file and a folder lie on this MDT, and one has no stripes."""
        index = (str(self.index),)
        alone = Check(("lfs", "getdirstripe", "-c"), ("0", "1"))
        return Proof(
            files=(Check(("lfs", "getstripe", "-m"), index),),
            folders=(Check(("lfs", "getdirstripe", "-m"), index), alone),
        )

    def requests(self, run: CommandRunner, operation: Operation) -> Optional[Requests]:  # noqa: ARG002
        """Return this client's requests to the MDT; None if this user may not see them.

        Lustre times those that create or open as requests alone, not by kind.
        """
        if self._client.imports_hidden:
            return None
        return requests_of(run, "mdc", self.name, "req_waittime")

    def refuse_lost(self, run: CommandRunner) -> None:
        """Raise if the client is not connected to the MDT, as far as this user may know."""
        if not self._client.imports_hidden:
            self._connected(run)

    def waits_for_others(self, run: CommandRunner) -> str:
        """Return the other lost MDTs: all paths begin on the first, and may cross others."""
        if self._client.imports_hidden:
            return "whether the other metadata targets answer is hidden from this user"
        states = metadata_states(run, self._file_system)
        lost = (f"{mdt} is {state}" for mdt, state in states.items() if state != "FULL")
        return ", ".join(text for text in lost if not text.startswith(f"{self.name} "))

    def _mounted(self, run: CommandRunner) -> Mount:
        return lustre_mount(run, self._mount, self._file_system)

    def _connected(self, run: CommandRunner) -> Import:
        shown = metadata_imports(run, self._file_system).get(self.name)
        if shown is None:
            if debugfs_is_closed(run):
                raise PrivilegeError(f"lctl shows no import of {self.name}: {NEEDS_DEBUGFS}")
            raise SkipTarget(
                f"this client has no metadata target {self.name}; look at: lfs mdts "
                f"{self._mount}, and correct metadata in the topology"
            )
        connection = parse_import(*shown)
        if connection.state not in ("FULL", "IDLE"):
            raise LostTarget(f"the import of {self.name} is {connection.state}")
        if {"IMPF_DEACTIVE", "IMPF_INVALID"} & connection.flags:
            raise SkipTarget(f"the import of {self.name} is deactivated on this client")
        return connection

    def _listed(self, run: CommandRunner) -> None:
        state = parse_osts(ask(run, ["lfs", "mdts", self._mount])).get(self.name)
        if state is None:
            raise SkipTarget(f"{self._mount} has no metadata target {self.name}; look at: lfs mdts")
        if state != (self.index, "ACTIVE"):
            raise SkipTarget(f"lfs mdts shows {self.name} as {state[0]}: {state[1]}, not ACTIVE")

    def _usage(self, run: CommandRunner) -> Usage:
        """Return the inodes of this MDT; an older lfs prints those of all MDTs."""
        options = f"--mdt={self.index}", "--mdt"
        calls = [["-i", option, self._mount] for option in options]
        usage, completed = usage_of(run, self.name, calls)
        if usage is not None:
            return usage
        if not completed.ok:
            raise objection(completed, own=False)
        raise SkipTarget(f"lfs df -i does not list {self.name}; look at: lfs df -i")

    def _refuse_flags(self, flags: str) -> None:
        for letter, words in REFUSING.items():
            if letter in flags:
                error = BrokenTarget if letter == "R" else SkipTarget
                raise error(f"{self.name} {words} (lfs df)")

    def _misplaced(self, run: CommandRunner) -> str:
        """Return the fault of the folder's placement, empty if it lies on this MDT alone."""
        folder, own = self._folders.folder, self._folders.within_own()
        completed = run(["lfs", "getdirstripe", self._folders.name], QUICK_S, own)
        if not completed.ok:
            if "No such file or directory" in completed.stderr:
                raise SkipTarget(f"{folder} is missing; {self._remedy()}")
            raise objection(completed, own=True, within=own)
        match = PLACEMENT.search(completed.stdout)
        if match is None:
            raise SkipTarget(f"lfs getdirstripe printed {completed.stdout[:80]!r} of {folder}")
        if "migrating" in match["rest"]:
            return f"{folder} is being migrated (lfs migrate -m); wait for its end"
        stripes, index = (whole(match[place], "a stripe", SkipTarget) for place in (1, 2))
        if stripes > 1:
            return f"{folder} is striped over {stripes} metadata targets; {self._again()}"
        if index != self.index:
            return f"{folder} lies on MDT{index:04x} instead of {self.name}; {self._again()}"
        return ""

    def _make(self, run: CommandRunner) -> None:
        """Make the folder on this MDT; one of a killed run is there already."""
        own, index = self._folders.within_own()._replace(make=True), str(self.index)
        folder = [index, "-c", "1"]
        made = run(["lfs", "mkdir", "-i", *folder, "-o", "0700", self._folders.name], SLOW_S, own)
        if not made.ok and "File exists" not in made.stderr:
            raise objection(made, own=False, within=own)
        ask(run, ["lfs", "setdirstripe", "-D", "-i", *folder, self._folders.name], SLOW_S, own)

    def _remedy(self) -> str:
        if not self._user:
            return DEPLOY
        calls = calls_of_root(self.index, self._folders.folder, self._user)
        return f"only root may choose an MDT, so let root make it once: {calls}"

    def _again(self) -> str:
        if self._user:
            return f"remove it; {self._remedy()}"
        return f"remove it, and {DEPLOY.replace('makes it', 'makes it anew')}"

    def _is_plain(self, run: CommandRunner) -> bool:
        own = self._folders.within_own()
        text = ask(run, ["lfs", "getstripe", "-d", self._folders.name], within=own)
        return _PLAIN.fullmatch(text.strip().replace("\n", " ")) is not None


def _make_mdt(keys: Keys, component: str, fill_limit: float) -> LustreMetadata:
    client = Client(keys["mount"], keys.get("folder", ""), "imports" in keys)
    return LustreMetadata(client, keys["mdt"], component, fill_limit, keys.get("user", ""))


def _make_directory(keys: Keys, component: str, fill_limit: float) -> DirectoryMetadata:
    return DirectoryMetadata(keys["directory"], keys.get("source", ""), component, fill_limit)


LUSTRE_MDT = Kind(
    "lustre-mdt",
    frozenset({"mount", "mdt"}),
    frozenset({"file_system", "folder", "imports", "user"}),
    _make_mdt,
    everywhere=True,
    counted=lambda keys, _component: (keys["mdt"],),
)
DIRECTORY_METADATA = Kind(
    "directory-metadata",
    frozenset({"directory"}),
    frozenset({"source", "file_system"}),
    _make_directory,
)
