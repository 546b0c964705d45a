"""Directories that a call names, one for each target, where there is no inventory."""

from __future__ import annotations

from typing import Sequence

from plumbline.errors import UsageError
from plumbline.run.command import SystemRunner


def named_directories(given: Sequence[str], least: int = 2) -> dict[str, str]:
    """Return real paths by name, ``least`` or more.

    Raises:
        UsageError: something is not NAME=PATH, or there twice, or too few are given.
    """
    found: dict[str, str] = {}
    for text in given:
        name, equals, path = text.partition("=")
        if not (name and equals and path):
            raise UsageError(f"--directory {text!r} is not NAME=PATH; write for example a=/mnt/a")
        if not name.isprintable():
            raise UsageError(f"--directory {text!r}: its name cannot be printed; choose another")
        if name in found:
            raise UsageError(f"--directory {name} is given twice; name each directory differently")
        found[name] = _real(path)
    if len(found) < least:
        raise UsageError("--directory is given once; give it twice or more, to have a comparison")
    return found


def _real(path: str) -> str:
    """Return the path without links; a mount that does not answer cannot block here."""
    # the working directory is that of the caller
    completed = SystemRunner()(["realpath", "--canonicalize-existing", "--", path], 10.0)
    if not completed.ok:
        reason = "it gives no answer" if completed.timed_out else completed.stderr.strip()
        raise UsageError(f"--directory {path}: {reason}; name a directory that is there")
    return completed.stdout.rstrip("\n")
