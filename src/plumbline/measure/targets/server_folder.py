"""Target on its own server: a folder beside what the server gives to clients, on the same storage.

A brick of GlusterFS or a storage target of BeeGFS may hold no foreign files, so its folders are
recognised by what they contain.  The folder must lie on the device that the topology names for the
target: directly, on a partition, or on volumes made of it.
"""

from __future__ import annotations

from plumbline.measure.targets.directory import DirectoryTarget
from plumbline.measure.targets.interface import Keys, Kind, TargetState
from plumbline.measure.targets.probe_file import absolute
from plumbline.model.command import CommandRunner
from plumbline.model.errors import DocumentError, SkipTarget
from plumbline.observe.mounts import Mount
from plumbline.observe.query import QUICK_S, ask, objection

PREFIX = "oss-"
"""Prefix of the folder's name: a client's folder of the same target may lie beside it."""

_MARKS = {
    ".glusterfs": "a brick of GlusterFS",
    "buddymir": "a storage target of BeeGFS",
    "targetNumID": "a storage target of BeeGFS",
}
"""Names at the top of what belongs to a file system (glusterfs: posix_handle_init; beegfs-setup-
storage: BUDDYMIRROR_DIRNAME, TARGET_NUMID_FILE)."""

_NETWORK = ("afs", "beegfs", "ceph", "cifs", "gpfs", "lustre", "nfs", "nfs4", "smb3", "9p")
_FUSE = "fuse."


class ServerFolder(DirectoryTarget):
    """One folder of a server; ``device``, if given, is what must hold its file system."""

    def __init__(self, directory: str, device: str, component: str, fill_limit: float) -> None:
        """Take folder and device; raise DocumentError if one is no path, or there is no name."""
        if not component:
            raise DocumentError(f"a target on {directory} has no name; give it one")
        super().__init__(directory, "", PREFIX + component, fill_limit)
        self._block = absolute(device, "the device of a target") if device else ""

    def state(self, run: CommandRunner) -> TargetState:
        """Return the state of a folder of this server that no other file system uses."""
        mount = self._mount(run)
        if mount.kind in _NETWORK or mount.kind.startswith(_FUSE):
            raise SkipTarget(
                f"{self._directory} lies on {mount.source} ({mount.kind}), which another server "
                "or program serves; name a folder on a file system of this server's own"
            )
        state = super().state(run)
        self._refuse_served(run)
        if self._block:
            self._refuse_elsewhere(run, mount)
        return state

    def _refuse_served(self, run: CommandRunner) -> None:
        """Raise SkipTarget if the folder is part of a brick or storage target."""
        above = self._directory.rstrip("/").split("/")
        folders = ["/".join(above[:number]) for number in range(len(above), 0, -1)]
        paths = {f"{folder}/{mark}": (folder, mark) for folder in folders for mark in _MARKS}
        completed = run(["stat", "--format=%n", "--", *paths], QUICK_S)
        # exit code 1 for missing files only is a valid answer
        missing = completed.stderr.strip().splitlines()
        absent = all(line.endswith("No such file or directory") for line in missing)
        if not completed.ok and (completed.exit_code != 1 or not missing or not absent):
            raise objection(completed, own=True)
        for line in completed.stdout.splitlines():
            if line in paths:
                folder, mark = paths[line]
                raise SkipTarget(
                    f"{self._directory} is in {folder or '/'}, {_MARKS[mark]}, which may hold no "
                    "other files; name a folder beside it, on the same file system"
                )

    def _refuse_elsewhere(self, run: CommandRunner, mount: Mount) -> None:
        """Raise SkipTarget unless the file system lies on the device or on what is made of it."""
        listed = ask(run, [*_LSBLK, self._block])
        numbers = {line.partition(" ")[0] for line in listed.splitlines()}
        names = {f"/dev/{line.partition(' ')[2]}" for line in listed.splitlines()}
        # Btrfs has a number of its own, as has no block device, and the source by name
        anonymous = mount.device.startswith("0:") and mount.source in names
        if not anonymous and mount.device not in numbers:
            raise SkipTarget(
                f"{self._directory} lies on {mount.source}, and not on {self._block} as the "
                "topology says; correct server_folder there, or device of the target's part"
            )


_LSBLK = ("lsblk", "--all", "--noheadings", "--raw", "--output", "MAJ:MIN,NAME", "--")
"""All that is made of a device, itself first."""


def _make(keys: Keys, component: str, fill_limit: float) -> ServerFolder:
    return ServerFolder(keys["directory"], keys.get("device", ""), component, fill_limit)


SERVER_FOLDER = Kind("server-folder", frozenset({"directory"}), frozenset({"device"}), _make)
