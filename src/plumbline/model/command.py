"""Result of a command, and the interface of a command runner.

Targets and probes take a :class:`CommandRunner` as a parameter, so they import nothing that touches
the world and their tests need one hand-written fake.
"""

from __future__ import annotations

from typing import NamedTuple, Optional, Protocol, Sequence


class Completed(NamedTuple):
    """The end of one command.

    ``exit_code`` is negative for a signal, as in :mod:`subprocess`, and None when the command was
    still there after SIGKILL (``hung``); ``timed_out`` says that it was ended at its limit.
    """

    argv: tuple[str, ...]
    exit_code: Optional[int]
    stdout: str
    stderr: str
    seconds: float
    timed_out: bool = False
    hung: bool = False

    @property
    def ok(self) -> bool:
        """True when the command ended with exit code 0 before any limit."""
        return self.exit_code == 0 and not self.timed_out and not self.hung


def lines(text: str) -> list[str]:
    """Return what a tool has said, line by line, without what a terminal would obey."""
    stripped = (line.expandtabs(1).strip() for line in text.splitlines())
    return [printable(line) for line in stripped if line]


def printable(text: str) -> str:
    """Return a text without what a terminal would obey, line ends too."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


class Within(NamedTuple):
    """A folder that a command works in, opened and checked first: :mod:`plumbline.observe.folders`.

    ``base`` is the folder that the site has named; each of ``names`` lies in the one before and
    belongs to the caller or root alone.  ``make`` makes those that are missing.  ``file`` in the
    last one is checked too where it is there; ``opened`` gives it to the command as its standard
    input, and so it must be there.  ``inode`` is the number that the file must have.
    """

    base: str
    names: tuple[str, ...] = ()
    make: bool = False
    file: str = ""
    opened: bool = False
    inode: Optional[int] = None

    @property
    def path(self) -> str:
        """Return the path of the folder, for a sentence."""
        return "/".join((self.base.rstrip("/"), *self.names)) or "/"


class CommandRunner(Protocol):
    """Runs one command with a time limit and comes back in any case."""

    def __call__(
        self, argv: Sequence[str], timeout_s: float, within: Optional[Within] = None
    ) -> Completed:
        """Run ``argv``, in a folder that others may have their hands on if one is named.

        Raises:
            ToolError: it is not installed.
            SkipTarget: the folder or its file is not safe to work in; nothing was run.
        """
        ...
