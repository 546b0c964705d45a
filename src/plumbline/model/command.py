"""Result of a command, and the interface of a command runner.

Targets and probes take a :class:`CommandRunner` as a parameter, so they start no processes
themselves, and a single fake serves all their tests.
"""

from __future__ import annotations

from typing import NamedTuple, Optional, Protocol, Sequence


class Completed(NamedTuple):
    """Result of one command.

    ``exit_code`` is negative for a signal, as in :mod:`subprocess`, and None if the command did not
    end after SIGKILL (``hung``); ``timed_out`` is True if it was killed at its limit.
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
        """True if the command ended with exit code 0 before its limit."""
        return self.exit_code == 0 and not self.timed_out and not self.hung


def lines(text: str) -> list[str]:
    """Return the non-empty lines of a tool's output, safe for a terminal."""
    stripped = (line.expandtabs(1).strip() for line in text.splitlines())
    return [printable(line) for line in stripped if line]


def printable(text: str) -> str:
    """Return a text with control characters and line breaks replaced, safe for a terminal."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


class Within(NamedTuple):
    """Working folder of a command, opened and checked first (:mod:`plumbline.observe.folders`).

    ``base`` is a folder from the site's topology; ``names`` lead down from it to the working
    folder, and each must belong to the caller or root.  ``make`` creates missing ones.  ``file`` in
    the working folder is checked too if it exists; with ``opened`` it must exist, and is the
    command's standard input.  ``inode`` is the inode number that the file must have.
    """

    base: str
    names: tuple[str, ...] = ()
    make: bool = False
    file: str = ""
    opened: bool = False
    inode: Optional[int] = None

    @property
    def path(self) -> str:
        """Path of the folder, for messages."""
        return "/".join((self.base.rstrip("/"), *self.names)) or "/"


class Check(NamedTuple):
    """Command that takes a name, and the texts that it may print."""

    argv: tuple[str, ...]
    answers: tuple[str, ...]


class Proof(NamedTuple):
    """Checks that the files and folders that a tool creates lie where they should.

    ``layout`` are commands that take the name of the tool's folder and say where its files go.
    """

    files: tuple[Check, ...] = ()
    folders: tuple[Check, ...] = ()
    layout: tuple[tuple[str, ...], ...] = ()


class CommandRunner(Protocol):
    """Function that runs one command and returns in any case, at the latest after a time limit."""

    def __call__(
        self, argv: Sequence[str], timeout_s: float, within: Optional[Within] = None
    ) -> Completed:
        """Run ``argv``, in the folder ``within`` if given.

        Raises:
            ToolError: the program is not installed.
            SkipTarget: the folder or its file is not safe to use; nothing was run.
        """
        ...


MAX_FILE_BYTES = 1 << 20
"""Limit of a file of /proc or /sys; /proc/mdstat has a few lines per array."""


class Files(Protocol):
    """The files of a node; paths are absolute, and a missing file is empty, never an error."""

    def read(self, path: str, most_bytes: int = MAX_FILE_BYTES) -> str:
        """Return the stripped text of a small file; empty if it cannot be read."""
        ...

    def names(self, folder: str) -> tuple[str, ...]:
        """Return the sorted names in a folder; empty if there is none."""
        ...


class System(Files, Protocol):
    """The files and commands of a node."""

    def run(self, argv: Sequence[str], timeout_s: float) -> Completed:
        """Run a command; raise ToolError if it is not installed."""
        ...

    def real(self, path: str) -> str:
        """Return a path with all links resolved."""
        ...
