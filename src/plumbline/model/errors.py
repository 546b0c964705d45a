"""The one tree of errors: each message names the object and the remedy.

Lowest layer: every stage raises these, only ``cli`` and ``checks`` catch the base class.
"""

from __future__ import annotations

INTERRUPTED = 130
"""The exit code of a command that somebody has ended, as a shell says it of SIGINT."""


class PlumblineError(Exception):
    """Base of all expected trouble; ``exit_code`` is what the command line ends with."""

    exit_code = 70


class UsageError(PlumblineError):
    """The command was called in a way that cannot be understood."""

    exit_code = 64


class DocumentError(PlumblineError):
    """A document of a person or a program is missing, damaged, or says something impossible."""

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


class StorageError(ToolError):
    """A tool was given an I/O error by the storage that it reads or writes."""


class NoSpaceError(ToolError):
    """A tool found no space left; where there is some, the storage is at fault."""


class SkipTarget(PlumblineError):
    """A target must not or cannot be measured now; the message is the reason in the record."""


class PrivilegeError(SkipTarget):
    """This user lacks a privilege that the unit of the layer has; ``component`` says for what."""

    exit_code = 77

    def __init__(self, message: str, component: str = "") -> None:
        """Take the sentence, and the component where one alone is concerned."""
        super().__init__(message)
        self.component = component


class BrokenTarget(SkipTarget):
    """A target answers with an I/O error, or is gone."""


class DisturbedTarget(SkipTarget):
    """A part that a target shares with others gave an I/O error, perhaps for another target."""


class LostTarget(SkipTarget):
    """A client has no connection to a target: the target, its server or the network is down."""


class NoMount(SkipTarget):
    """The mount of a client is dead or missing: no fault of a target."""
