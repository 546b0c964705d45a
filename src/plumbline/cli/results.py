"""What every verb that measures prints of a run, and the code that it ends with."""

from __future__ import annotations

import json
import shlex
import sys
from typing import TYPE_CHECKING, Sequence

from plumbline.errors import INTERRUPTED
from plumbline.model.state import worst

if TYPE_CHECKING:
    from plumbline.run.unit_context import Unit
    from plumbline.site.measure import Result

_MOST_SAID = 5


def end(result: Result) -> int:
    """Return the exit code: the worst verdict, unless it is not about all that was asked."""
    if result.interrupted:
        print("plumbline: interrupted; this is what was measured before", file=sys.stderr)
        return INTERRUPTED
    for error in result.busy[:_MOST_SAID]:
        print(f"plumbline: {error}", file=sys.stderr)
    if len(result.busy) > _MOST_SAID:
        print(f"plumbline: {len(result.busy) - _MOST_SAID} more not measured", file=sys.stderr)
    if result.busy:
        return result.busy[0].exit_code
    return int(worst(verdict.state for verdict in result.verdicts))


def print_commands(units: Sequence[Unit]) -> int:
    """Print what the tools would be called with, as a shell takes it."""
    for unit in units:
        for argv in unit.commands():
            print(" ".join(word if word == "<>" else shlex.quote(word) for word in argv))
    return 0


def print_json(result: Result) -> None:
    """Print records and verdicts for programs."""
    print(json.dumps(result.to_json(), allow_nan=False))
