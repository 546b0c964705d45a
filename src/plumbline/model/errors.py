"""Errors with one common base; each message names the object and the remedy.

Any module may raise them; only ``cli`` and ``checks`` catch the base class.
"""

from __future__ import annotations

INTERRUPTED = 130
"""Exit code of a command that was ended by SIGINT, as in a shell."""


def reason_in(error: object) -> str:
    """Return the words of an error without number and file, e.g. ``Permission denied``."""
    words = (isinstance(error, OSError) and error.strerror) or str(error)
    return words or type(error).__name__


class PlumblineError(Exception):
    """Base of all expected errors; ``exit_code`` is the exit code of the command line."""

    exit_code = 70


class UsageError(PlumblineError):
    """The command line is not understood."""

    exit_code = 64


class DocumentError(PlumblineError):
    """A document of a person or a program is missing, damaged, or has impossible values."""

    exit_code = 65


class ToolError(PlumblineError):
    """A tool is missing, failed, or printed something that is not understood."""

    exit_code = 69


class StoreError(PlumblineError):
    """Results cannot be written or read back."""

    exit_code = 74


class BusyError(PlumblineError):
    """Another run holds the lock of a target."""

    exit_code = 75


class MissingTool(ToolError):
    """A tool is not installed, or this user may not execute it."""


class ForbiddenTool(MissingTool):
    """A tool is installed, and this user may not execute it."""


class StorageError(ToolError):
    """A tool got an I/O error from the storage that it reads or writes."""


class NoSpaceError(ToolError):
    """A tool found no space left; if there is some, the storage is at fault."""


class SkipTarget(PlumblineError):
    """A target must not or cannot be measured now; the message is the reason in the record."""


class PrivilegeError(SkipTarget):
    """This user lacks a privilege that the systemd unit has, to measure ``component``."""

    exit_code = 77

    def __init__(self, message: str, component: str = "") -> None:
        """Take the message, and the component if only one is concerned."""
        super().__init__(message)
        self.component = component


class BrokenTarget(SkipTarget):
    """A target reports an I/O error, or is gone."""


class DisturbedTarget(SkipTarget):
    """A part shared by several targets reported an I/O error, perhaps because of another target."""


class LostTarget(SkipTarget):
    """A client has no connection to a target: the target, its server or the network is down."""


class NoMount(SkipTarget):
    """The mount of a client is dead or missing: no fault of a target."""
