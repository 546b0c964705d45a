"""Interface of a kind of target: placement and proof.

A kind is how storage shows which target a file lies on: a file system's own way, or a folder or
device that the site names.
"""

from __future__ import annotations

from typing import Any, Callable, Mapping, NamedTuple, Optional, Protocol

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


class Target(Protocol):
    """One storage target: everything is asked through ``run``, nothing is touched directly.

    An object serves one measurement: ``state``, ``place``, ``verify``, the probe, ``verify`` again.
    Each method comes back in bounded time if ``run`` does.  Each raises
    ``SkipTarget`` with the reason when the target must not or cannot be
    measured, and ``ToolError`` when a command is not installed.  Of the
    former, ``BrokenTarget`` says that the target itself gave an I/O error, ``LostTarget`` that
    there is no connection to it, ``NoMount`` that this node's mount is at fault.
    """

    def state(self, run: CommandRunner) -> TargetState:
        """Return the state of a target that may be measured.

        Raises:
            SkipTarget: it is not mounted, inactive, unreachable, read-only, above the fill limit,
                or something of that cannot be determined.
        """
        ...

    def place(self, run: CommandRunner, size_bytes: int) -> str:
        """Return the path of the permanent probe file of ``size_bytes``, making it when needed.

        A file of the right size in the right place is kept; a wrong one of ours is replaced, which
        also repairs what a killed run left.

        Raises:
            SkipTarget: it would exceed the fill limit, or the file cannot be made on this target.
        """
        ...

    def verify(self, run: CommandRunner, path: str) -> None:
        """Return if the file that ``place`` gave still lies on this target alone, at full size.

        Raises:
            SkipTarget: it does not, or that cannot be proven.
        """
        ...

    def within(self) -> Optional[Within]:
        """Return where a tool finds the placed file as its standard input; None for a device."""
        ...

    def refuse_without_room(self, run: CommandRunner, size_bytes: int) -> None:
        """Raise SkipTarget when ``size_bytes`` more would fill the target above its limit."""
        ...

    def server_answers(self, run: CommandRunner) -> Optional[bool]:
        """Return whether the server of a target that this node has lost still answers it.

        None where other targets of that server, which would tell, are not known here.
        """
        ...

    def refuse_lost(self, run: CommandRunner) -> None:
        """Return if this node has its connection to the target, as far as it can tell at once.

        Only what answers in any case is asked, also while the target gives no answer.

        Raises:
            SkipTarget: it has none, or that cannot be determined; see above.
        """
        ...

    def waits_for_others(self, run: CommandRunner) -> bool:
        """Return whether a question about this target may hang because of another server."""
        ...

    def traffic(self, run: CommandRunner) -> Optional[int]:
        """Return all bytes that the target has moved so far, None where this node cannot know."""
        ...

    def cause(self, run: CommandRunner, said: str, since: float) -> str:
        """Return why a tool failed that ``said`` so, with the remedy; empty where that is plain.

        ``since`` is when the tool began, in seconds since the epoch.
        """
        ...

    def leftovers(self, run: CommandRunner) -> tuple[str, ...]:
        """Return the paths that plumbline has made on this target, deepest first."""
        ...

    def remove(self, run: CommandRunner) -> None:
        """Remove all of ``leftovers``; nothing else is touched."""
        ...


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
