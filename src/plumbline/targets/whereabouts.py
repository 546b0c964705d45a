"""Which targets hold a user's file: from its layout, never from its data.

``stat`` on a file of Lustre asks its OSTs and hangs with a dead one, so none is called: the layout
comes from the metadata server, and a directory is known by how its layout is printed.
"""

from __future__ import annotations

from typing import Any, Iterable, Mapping, NamedTuple

from plumbline.errors import SkipTarget, UsageError
from plumbline.model.command import CommandRunner
from plumbline.targets.glusterfs import GlusterfsTarget, lies_on
from plumbline.targets.lustre_output import parse_objects
from plumbline.targets.mounts import Mount, mount_holding
from plumbline.targets.query import QUICK_S, ask, complaint

Descriptions = Mapping[str, Mapping[str, Any]]
"""What an expectation's ``target`` says, by component."""

_REFUSALS = {
    "No such file or directory": "is not there; look at how it is written and what is mounted here",
    "Not a directory": "is not there: one of its folders is a file",
    "File name too long": "is not there: a name in it is longer than this file system takes",
    "Too many levels of symbolic links": "is a link that leads in a circle",
    "Permission denied": "lies in a folder that this user may not enter; ask as its owner",
}
"""What realpath says in the language C, and what that means."""

_UNREADABLE = "\N{REPLACEMENT CHARACTER}"
"""In the place of each byte that is not UTF-8."""


class Holder(NamedTuple):
    """A target with its own name; ``component`` is empty where this node does not measure it."""

    name: str
    component: str


class Whereabouts(NamedTuple):
    """A file without symbolic links, the mount it lies in, and the targets that hold it."""

    path: str
    mount: str
    kind: str
    holders: tuple[Holder, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the document form."""
        return {**self._asdict(), "holders": [one._asdict() for one in self.holders]}


def whereabouts(run: CommandRunner, path: str, known: Descriptions) -> Whereabouts:
    """Return which of the targets that a node knows hold a file.

    Raises:
        UsageError: the path is not absolute, is not there, is a directory, has no data on any
            target, or lies on no file system that this node measures.
        SkipTarget: a tool failed or gave no answer.
    """
    if not path.startswith("/"):
        raise UsageError(f"{path!r} is no absolute path; write it from the root on")
    real = _real(run, path)
    mount = mount_holding(run, real)
    finders = {"lustre": _lustre, "fuse.glusterfs": _glusterfs}
    holders = finders.get(mount.kind, _directory)(run, real, mount, known)
    return Whereabouts(real, mount.point, mount.kind, holders)


def _real(run: CommandRunner, path: str) -> str:
    completed = run(["realpath", "--canonicalize-existing", "--zero", "--", path], QUICK_S)
    for said, meaning in _REFUSALS.items():
        if completed.stderr.strip().endswith(f": {said}"):
            raise UsageError(f"{_shown(path)} {meaning}")
    if not completed.ok:
        raise SkipTarget(complaint(completed))
    real = completed.stdout.rstrip("\0")
    if _UNREADABLE in real:
        raise UsageError(f"{real!r} is not UTF-8; name another file that was written beside it")
    return real


def _lustre(run: CommandRunner, path: str, mount: Mount, known: Descriptions) -> tuple[Holder, ...]:
    file_system = mount.source.partition(":/")[2].partition("/")[0]
    osts = {
        str(one.get("ost", name)): name for name, one in known.items() if one["kind"] == "lustre"
    }
    if not any(ost.startswith(f"{file_system}-OST") for ost in osts):
        raise _unknown(path, mount)
    # yaml does not print the path, which could look like a layout
    objects = parse_objects(ask(run, ["lfs", "getstripe", "-d", "-y", path]))
    if objects is None:
        raise _folder(path)
    if objects.released:
        raise UsageError(
            f"{_shown(path)} is released: its data lies in the archive and on no OST; "
            "bring it back with lfs hsm_restore"
        )
    if not objects.indices:
        raise UsageError(
            f"{_shown(path)} has no data on any OST: it is empty, or so small that it lies with "
            "its metadata"
        )
    names = [f"{file_system}-OST{index:04x}" for index in objects.indices]
    return tuple(Holder(name, osts.get(name, "")) for name in names)


def _glusterfs(
    run: CommandRunner, path: str, mount: Mount, known: Descriptions
) -> tuple[Holder, ...]:
    bricks = {
        name: GlusterfsTarget(one["mount"], (one["subvolume"], one.get("brick", "")), name, 1.0)
        for name, one in known.items()
        if one["kind"] == "glusterfs" and one["mount"].rstrip("/") == mount.point
    }
    if not bricks:
        raise _unknown(path, mount)
    lies = lies_on(run, path)
    if lies.folder:
        raise _folder(path)
    return tuple(
        Holder(
            f"{host}:{brick}",
            next((name for name, one in bricks.items() if one.is_brick(run, brick, host)), ""),
        )
        for brick, host in lies.bricks
    )


def _directory(
    run: CommandRunner, path: str, mount: Mount, known: Descriptions
) -> tuple[Holder, ...]:
    names = list(_mounted_with(run, mount, known))
    if not names:
        raise _unknown(path, mount)
    return tuple(Holder(name, name) for name in names)


def _mounted_with(run: CommandRunner, mount: Mount, known: Descriptions) -> Iterable[str]:
    """Yield the directories that lie in a mount."""
    for name, one in known.items():
        if one["kind"] == "directory" and mount_holding(run, one["directory"]) == mount:
            yield name


def _unknown(path: str, mount: Mount) -> UsageError:
    return UsageError(
        f"{_shown(path)} lies on {mount.source} at {mount.point} ({mount.kind}), which holds no "
        "target that this host measures; ask on a client of the site, or add it to the topology"
    )


def _folder(path: str) -> UsageError:
    return UsageError(
        f"{_shown(path)} is a directory, whose files may lie on any target; name one of its files"
    )


def _shown(path: str) -> str:
    """Return a path as it may stand in a sentence: one with a line break in it is quoted."""
    return path if path.isprintable() else repr(path)
