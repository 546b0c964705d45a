"""Interface of a kind of target: placement and proof.

A kind is how storage shows which target a file lies on: a file system's own way, or a folder or
device that the site names.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Callable, Mapping, NamedTuple, Optional

from plumbline.model.command import CommandRunner, Within
from plumbline.model.errors import UsageError
from plumbline.model.record import Flag
from plumbline.observe.mounts import Mount


class TargetState(NamedTuple):
    """A target that may be measured now.

    ``fill`` is used / (used + available), a fraction, None where it cannot be known; ``flags`` are
    known states that explain a lower rate; ``versions`` are the software versions that a baseline
    depends on, by role (``client``, ``server``, ``filesystem``), and the settings on which it
    depends as much, by name.  ``active`` are all targets of the file system that are in use, by
    name, where the file system shows them.
    """

    fill: Optional[float]
    flags: tuple[Flag, ...]
    versions: Mapping[str, str]
    active: tuple[str, ...] = ()


class Target(ABC):
    """One storage target: everything is asked through ``run``, nothing is touched directly.

    An object serves one measurement: ``state``, ``place``, ``verify``, the probe, ``verify`` again.
    Each method comes back in bounded time if ``run`` does.  Each raises
    ``SkipTarget`` with the reason when the target must not or cannot be
    measured, and ``ToolError`` when a command is not installed.  Of the
    former, ``BrokenTarget`` says that the target itself gave an I/O error, ``LostTarget`` that
    there is no connection to it, ``NoMount`` that this node's mount is at fault.

    What has an answer here is that of a target of this node alone, on which nothing is made.
    """

    @abstractmethod
    def state(self, run: CommandRunner) -> TargetState:
        """Return the state of a target that may be measured.

        Raises:
            SkipTarget: it is not mounted, inactive, unreachable, read-only, above the fill limit,
                or something of that cannot be determined.
        """

    @abstractmethod
    def place(self, run: CommandRunner, size_bytes: int) -> str:
        """Return the path of the permanent probe file of ``size_bytes``; create it if missing.

        A file of the right size in the right place is kept; a wrong one of ours is replaced, which
        also repairs what a killed run left.

        Raises:
            SkipTarget: it would exceed the fill limit, or the file cannot be made on this target.
        """

    @abstractmethod
    def verify(self, run: CommandRunner, path: str) -> None:
        """Return if the file that ``place`` gave still lies on this target alone, at full size.

        Raises:
            SkipTarget: it does not, or that cannot be proven.
        """

    def within(self) -> Optional[Within]:
        """Return folder and name of the file, a tool's standard input; None for a device."""
        return None

    def refuse_without_room(self, run: CommandRunner, size_bytes: int) -> None:  # noqa: B027
        """Raise SkipTarget when ``size_bytes`` more would fill the target above its limit."""

    def server_answers(self, run: CommandRunner) -> Optional[bool]:  # noqa: ARG002
        """Return True if the server of a lost target still answers this node.

        None where other targets of that server, which would tell, are not known here.
        """
        return None

    def refuse_lost(self, run: CommandRunner) -> None:  # noqa: B027
        """Raise if this node has lost its connection to the target, as far as it is known.

        It asks only sources that answer even if the target does not.

        Raises:
            SkipTarget: it has none, or that cannot be determined; see above.
        """

    def waits_for_others(self, run: CommandRunner) -> bool:  # noqa: ARG002
        """Return True if a question about this target may hang because of another server."""
        return False

    def traffic(self, run: CommandRunner) -> Optional[int]:  # noqa: ARG002
        """Return all bytes that the target has moved so far, None if unknown to this node."""
        return None

    def cause(self, run: CommandRunner, output: str, since: float) -> str:  # noqa: ARG002
        """Return the cause of a tool's failure from its output, and the remedy; empty if unknown.

        ``since`` is when the tool began, in seconds since the epoch.
        """
        return ""

    def leftovers(self, run: CommandRunner) -> tuple[str, ...]:  # noqa: ARG002
        """Return the paths that plumbline has made on this target, deepest first."""
        return ()

    def remove(self, run: CommandRunner) -> None:  # noqa: B027
        """Remove all of ``leftovers``; nothing else is touched."""


Keys = Mapping[str, Any]
"""An expectation's ``target``: its kind, and the keys of this kind."""

Descriptions = Mapping[str, Keys]
"""Descriptions of targets by component."""


class Holder(NamedTuple):
    """A target with its own name; ``component`` is empty if this node does not measure it."""

    name: str
    component: str


Finder = Callable[[CommandRunner, str, Mount, Descriptions], tuple[Holder, ...]]
"""Finds the targets that hold a file of a mount; raises UsageError if there are none."""


def its_name(keys: Keys, component: str) -> tuple[str, ...]:
    """Return the identity of a target's storage if its name is unique."""
    return keys["kind"], component


def not_counted(_keys: Keys, _component: str) -> tuple[str, ...]:
    """Return no names: no server counts the bytes of a target."""
    return ()


ANY_MOUNT = ""
"""The type of mount of a kind whose targets may lie in any."""


class Kind(NamedTuple):
    """One kind of target.

    ``must`` and ``may`` are the keys of its description; ``make`` takes the description, the
    component and the highest fill for writing, and raises DocumentError.  ``mounted`` is the type
    of its mounts in the kernel's list, and ``find`` returns the targets that hold a file.
    ``everywhere`` is True if all clients of the site reach the target.  ``storage`` identifies its
    storage under any name, and ``counted`` names the targets in the counters of Lustre's servers.
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
    """Return the error for a file on storage that this node does not measure."""
    return UsageError(
        f"{printable(path)} lies on {mount.source} at {mount.point} ({mount.kind}), which holds no "
        "target that this host measures; ask on a client of the site, or add it to the topology"
    )


def on_any(path: str) -> UsageError:
    """Return the error for a directory, which lies on no target of its own."""
    return UsageError(
        f"{printable(path)} is a directory, whose files may lie on any target; "
        "name one of its files"
    )


def printable(path: str) -> str:
    """Return a path for a sentence, quoted if it has a line break."""
    return path if path.isprintable() else repr(path)
