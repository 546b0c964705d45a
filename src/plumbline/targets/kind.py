"""What the other stages ask of a kind of target: one value in its own file.

A kind is how storage shows which target a file lies on: a file system's own way, or a folder or
device that the site names.
"""

from __future__ import annotations

from typing import Any, Callable, Mapping, NamedTuple, Optional

from plumbline.errors import UsageError
from plumbline.model.command import CommandRunner
from plumbline.targets.interface import Target
from plumbline.targets.mounts import Mount

Keys = Mapping[str, Any]
"""What an expectation's ``target`` says: its kind, and the keys of this kind."""

Descriptions = Mapping[str, Keys]
"""What is said of targets, by component."""


class Holder(NamedTuple):
    """A target with its own name; ``component`` is empty where this node does not measure it."""

    name: str
    component: str


Finder = Callable[[CommandRunner, str, Mount, Descriptions], tuple[Holder, ...]]
"""Returns which targets hold a file of a mount; raises UsageError where none does."""


def its_name(keys: Keys, component: str) -> tuple[str, ...]:
    """Return what tells the storage of a target from others where its name does."""
    return keys["kind"], component


def not_counted(_keys: Keys, _component: str) -> tuple[str, ...]:
    """Return that no server counts what is moved to a target."""
    return ()


ANY_MOUNT = ""
"""The type of mount of a kind whose targets may lie in any."""


class Kind(NamedTuple):
    """One kind of target.

    ``must`` and ``may`` are the keys of its description; ``make`` takes the description, the
    component and the fill above which nothing is written, and raises DocumentError.  ``mounted``
    is the type in the kernel's list of mounts of a file system of many targets, and ``find`` tells
    which of them hold a file.  ``everywhere`` says that all clients of the site reach the target.
    ``storage`` tells it from the storage of others, whatever it is called, and ``counted`` names
    the targets under which Lustre's servers count its bytes.
    """

    name: str
    must: frozenset[str]
    may: frozenset[str]
    make: Callable[[Keys, str, float], Target]
    mounted: str = ANY_MOUNT
    find: Optional[Finder] = None
    everywhere: bool = False
    storage: Callable[[Keys, str], tuple[str, ...]] = its_name
    counted: Callable[[Keys, str], tuple[str, ...]] = not_counted


def elsewhere(path: str, mount: Mount) -> UsageError:
    """Return that a file lies on nothing that this node measures."""
    return UsageError(
        f"{shown(path)} lies on {mount.source} at {mount.point} ({mount.kind}), which holds no "
        "target that this host measures; ask on a client of the site, or add it to the topology"
    )


def on_any(path: str) -> UsageError:
    """Return that a path is a directory, which lies on no target of its own."""
    return UsageError(
        f"{shown(path)} is a directory, whose files may lie on any target; name one of its files"
    )


def shown(path: str) -> str:
    """Return a path as it may stand in a sentence: one with a line break in it is quoted."""
    return path if path.isprintable() else repr(path)
