"""Interface of a storage target: placement of a file, and its proof.

The kind of a target is the way to find the target of a file: by the file system's own tools, or by
a folder or device that the site names.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Callable, Mapping, NamedTuple, Optional, Sequence

from plumbline.model.command import CommandRunner, Proof, Within
from plumbline.model.errors import UsageError
from plumbline.model.record import Flag, Operation
from plumbline.observe.lustre_output import Requests
from plumbline.observe.mounts import Mount, Room, Traffic


class TargetState(NamedTuple):
    """State of a target that may be measured now.

    ``fill`` is used / (used + available), a fraction, None if unknown; ``flags`` are states that
    explain a lower rate; ``versions`` are software versions by role (``client``, ``server``,
    ``filesystem``) and settings by name: a baseline depends on both.  ``active`` are the names of
    all active targets of the file system, if it shows them.
    """

    fill: Optional[float]
    flags: tuple[Flag, ...]
    versions: Mapping[str, str]
    active: tuple[str, ...] = ()


class Target(ABC):
    """One storage target; all access is through the command runner ``run``.

    An object serves one measurement: ``state``, ``place``, ``verify``, the probe, ``verify`` again.
    Each method returns in bounded time if ``run`` does.  Each raises ``SkipTarget`` with the reason
    if the target must not or cannot be measured, and ``ToolError`` if a command is not installed.
    Subclasses of ``SkipTarget``: ``BrokenTarget``, an I/O error of the target itself;
    ``LostTarget``, no connection to it; ``NoMount``, a fault of this node's mount.

    The defaults fit a target that only this node uses and on which nothing is created.
    """

    @abstractmethod
    def state(self, run: CommandRunner) -> TargetState:
        """Return the state of a target that may be measured.

        Raises:
            SkipTarget: the target is not mounted, inactive, unreachable, read-only or above the
                fill limit, or one of these cannot be determined.
        """

    @abstractmethod
    def place(self, run: CommandRunner, size_bytes: int) -> str:
        """Return the path of the permanent probe file of ``size_bytes``; create it if missing.

        A file of the right size in the right place is kept; any other probe file is replaced, for
        instance after a killed run.

        Raises:
            SkipTarget: the file would exceed the fill limit, or cannot be created on this target.
        """

    @abstractmethod
    def verify(self, run: CommandRunner, path: str) -> None:
        """Check that the placed file still lies only on this target, at full size.

        Raises:
            SkipTarget: it does not, or this cannot be proven.
        """

    def within(self) -> Optional[Within]:
        """Return folder and name of the file for a tool's standard input; None for a device."""
        return None

    def proof(self) -> Optional[Proof]:
        """Return the checks of what a tool creates on the target; None if it creates nothing."""
        return None

    def refuse_without_room(self, run: CommandRunner, size_bytes: int) -> None:  # noqa: B027
        """Raise SkipTarget if ``size_bytes`` more would fill the target above its limit."""

    def room(self, run: CommandRunner) -> Optional[Room]:  # noqa: ARG002
        """Return how full the target is, at any fill; None if it holds no files.

        Raises:
            SkipTarget: it is not mounted, lost, or does not answer.
        """
        return None

    def server_answers(self, run: CommandRunner) -> Optional[bool]:  # noqa: ARG002
        """Return True if the server of a lost target still answers this node.

        None if unknown: this takes other targets of the same server.
        """
        return None

    def refuse_lost(self, run: CommandRunner) -> None:  # noqa: B027
        """Raise if this node has lost its connection to the target.

        Only sources are asked that answer even if the target does not.

        Raises:
            SkipTarget: the connection is lost, or its state cannot be determined.
        """

    def waits_for_others(self, run: CommandRunner) -> str:  # noqa: ARG002
        """Return why a query about this target may hang because of another server, else empty."""
        return ""

    def traffic(self, run: CommandRunner) -> Optional[Traffic]:  # noqa: ARG002
        """Return the target's byte counters, None if this node cannot read them."""
        return None

    def requests(self, run: CommandRunner, operation: Operation) -> Optional[Requests]:  # noqa: ARG002
        """Return this node's requests of an operation to the target since its mount.

        None if they are not counted, or this user may not read their counters.
        """
        return None

    def cause(self, run: CommandRunner, output: str, since: float) -> str:  # noqa: ARG002
        """Return cause and remedy of a tool's failure from its output; empty if unknown.

        ``since`` is the tool's start in seconds since the epoch.
        """
        return ""

    def leftovers(self, run: CommandRunner) -> tuple[str, ...]:  # noqa: ARG002
        """Return the paths that plumbline has made on this target, deepest first."""
        return ()

    def remove(self, run: CommandRunner) -> None:  # noqa: B027
        """Remove all of ``leftovers`` and nothing else."""


Keys = Mapping[str, Any]
"""An expectation's ``target``: its kind, and the keys of this kind."""

Descriptions = Mapping[str, Keys]
"""Descriptions of targets by component."""


class Holder(NamedTuple):
    """Target that holds a file, by its own name; ``component`` is empty if not measured here.

    ``server`` is the address of its server where no plan names it, else empty.
    """

    name: str
    component: str
    server: str = ""


Finder = Callable[[CommandRunner, str, Mount, Descriptions], tuple[Holder, ...]]
"""Function that finds the targets of a file in a mount; raises UsageError if there are none."""


def by_component(keys: Keys, component: str) -> tuple[str, ...]:
    """Return the identity of a target's storage: its kind and component."""
    return keys["kind"], component


def not_counted(_keys: Keys, _component: str) -> tuple[str, ...]:
    """Return no names: no server of Lustre counts the bytes of this target."""
    return ()


ANY_MOUNT = ""
"""Type of mount of a kind whose targets may lie in any mount."""


STRIPED = "lustre-striped"
"""Kind of a file that lies on several OSTs."""


def osts_of(keys: Keys) -> tuple[str, ...]:
    """Return the OSTs of a striped target; empty for any other target."""
    return tuple(keys["osts"].split(",")) if keys.get("kind") == STRIPED else ()


def unnamed(active: Sequence[str], named: frozenset[str]) -> tuple[str, ...]:
    """Return the active OSTs without a name in the topology, in the same order."""
    return tuple(name for name in active if name not in named)


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
    storage: Callable[[Keys, str], tuple[str, ...]] = by_component
    counted: Callable[[Keys, str], tuple[str, ...]] = not_counted


def elsewhere(path: str, mount: Mount) -> UsageError:
    """Return the error for a file on storage that this node does not measure."""
    return UsageError(
        f"{printable(path)} lies on {mount.source} at {mount.point} ({mount.kind}), which holds no "
        "target that this host measures; ask on a client of the site, or add it to the topology"
    )


def on_any(path: str) -> UsageError:
    """Return the error for a directory: its files may lie on any target."""
    return UsageError(
        f"{printable(path)} is a directory, whose files may lie on any target; "
        "name one of its files"
    )


def printable(path: str) -> str:
    """Return a path for a message, quoted if it has unprintable characters."""
    return path if path.isprintable() else repr(path)
