"""What every kind of target can do: the interface between targets and whoever runs probes."""

from __future__ import annotations

from typing import Mapping, NamedTuple, Optional, Protocol

from plumbline.model.command import CommandRunner, Within
from plumbline.model.record import Flag


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
    :class:`~plumbline.errors.SkipTarget` with the reason when the target must not or cannot be
    measured, and :class:`~plumbline.errors.ToolError` when a command is not installed.  Of the
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
