"""Which targets hold a user's file: from its layout, never from its data.

``stat`` on a file of Lustre asks its OSTs and hangs with a dead one, so none is called: the layout
comes from the metadata server, and a directory is known by how its layout is printed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from plumbline.errors import SkipTarget, UsageError
from plumbline.model.command import CommandRunner
from plumbline.targets import KINDS
from plumbline.targets.kind import ANY_MOUNT, Descriptions, Holder, shown
from plumbline.targets.mounts import mount_holding
from plumbline.targets.query import QUICK_S, complaint

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
    finders = {one.mounted: one.find for one in KINDS.values() if one.find}
    find = finders.get(mount.kind, finders[ANY_MOUNT])
    holders = find(run, real, mount, known)
    return Whereabouts(real, mount.point, mount.kind, holders)


def _real(run: CommandRunner, path: str) -> str:
    completed = run(["realpath", "--canonicalize-existing", "--zero", "--", path], QUICK_S)
    for said, meaning in _REFUSALS.items():
        if completed.stderr.strip().endswith(f": {said}"):
            raise UsageError(f"{shown(path)} {meaning}")
    if not completed.ok:
        raise SkipTarget(complaint(completed))
    real = completed.stdout.rstrip("\0")
    if _UNREADABLE in real:
        raise UsageError(f"{real!r} is not UTF-8; name another file that was written beside it")
    return real
