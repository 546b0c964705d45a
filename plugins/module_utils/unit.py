# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure through the units of the timers, so that what is tried by hand is what runs at night.

How a command is run on the node comes in as a parameter: a module runs it where it is, an action
plug-in through the connection to the node.
"""

from __future__ import annotations

from typing import Callable, NamedTuple, Optional, Sequence

LAYERS = ("ost", "raw", "fs", "net")
"""In the order in which they are measured."""

RECEIVER = "plumbline-netserver.service"
"""The receiving end of network measurements; it closes when its window is over."""

_LATE = 124
"""How timeout(1) ends when time is up (coreutils)."""
_STOPPING_S = 20

Run = Callable[[Sequence[str]], "tuple[int, str, str]"]
"""Runs an argument list on the node and returns exit code, standard output and standard error."""


class Outcome(NamedTuple):
    """How a unit ended: ``trouble`` is empty when it has measured to its end.

    ``late`` says that it was stopped when its time was up.
    """

    unit: str
    trouble: str = ""
    late: bool = False


def unit_name(layer: str, component: str = "", slot: Optional[int] = None) -> str:
    """Return the unit that measures a component or slot, or all that the node has of a layer."""
    instance = str(slot) if slot is not None else component
    return f"plumbline-{layer}{'@' if instance else ''}{instance}.service"


def measure(run: Run, unit: str, limit_s: Optional[int] = None) -> Outcome:
    """Start a unit, wait for its end, and say what went wrong.

    Without a limit the unit's own holds.  A unit that is stopped keeps its records and removes
    what it has begun.
    """
    bounded = [] if limit_s is None else ["timeout", str(limit_s)]
    code, _, said = run([*bounded, "systemctl", "start", unit])
    if code == 0:
        return Outcome(unit)
    if limit_s is not None and code == _LATE:
        run(["timeout", str(_STOPPING_S), "systemctl", "stop", unit])
        return Outcome(unit, f"did not finish within {limit_s} s", late=True)
    return Outcome(unit, f"failed: {_reason(run, unit, said)}")


def open_window(run: Run) -> None:
    """Open the receiving end of network measurements for one more window."""
    run(["systemctl", "restart", RECEIVER])


def close_window(run: Run) -> None:
    """Close the receiving end of network measurements."""
    run(["systemctl", "stop", RECEIVER])


def _reason(run: Run, unit: str, said: str) -> str:
    """Return the last sentence of a unit in the journal, or what systemctl said."""
    asked = ["--unit", unit, "--identifier=plumbline", "--lines=1", "--output=cat", "--no-pager"]
    code, out, _ = run(["journalctl", *asked])
    lines = (out if code == 0 else "").split("\n") + said.split("\n")
    return next(
        (line.strip() for line in lines if line.strip()), f"no reason in journalctl --unit {unit}"
    )
