# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure with the systemd units of the timers, so a manual run equals a nightly one.

The function that runs commands is a parameter: modules run them locally, action plug-ins through
the connection to the node.
"""

from __future__ import annotations

from typing import Callable, NamedTuple, Optional, Sequence

LAYERS = ("ost", "raw", "fs", "net", "mdt", "oss", "shared", "rdma")
"""Layers in measuring order."""

IF_NAMED = ("mdt", "oss", "shared", "rdma")
"""Layers that are off until the policy names them."""

RECEIVERS = {"net": "plumbline-netserver.service", "rdma": "plumbline-receiver.service"}
"""Receiving ends of layers that measure in pairs; they close at the end of their window."""

PAIRED = tuple(RECEIVERS)
"""Layers that measure in pairs, in the slots of rounds."""

_LATE = 124
"""Exit code of timeout(1) at its limit (coreutils)."""
_STOPPING_S = 20

Run = Callable[[Sequence[str]], "tuple[int, str, str]"]
"""Function that runs a command on the node; returns exit code, output and error output."""


class Outcome(NamedTuple):
    """Result of a unit; ``trouble`` is empty on success.

    ``late`` is True if it was stopped at its time limit.
    """

    unit: str
    trouble: str = ""
    late: bool = False


def unit_name(layer: str, component: str = "", slot: Optional[int] = None) -> str:
    """Return the unit for a component or slot, or for the entire layer of the node."""
    instance = str(slot) if slot is not None else component
    return f"plumbline-{layer}{'@' if instance else ''}{instance}.service"


def measure(run: Run, unit: str, limit_s: Optional[int] = None) -> Outcome:
    """Start a unit, wait for its end, and return the outcome.

    Without a limit the unit's own applies.  A stopped unit keeps its records and removes its
    unfinished files.
    """
    bounded = [] if limit_s is None else ["timeout", str(limit_s)]
    code, _, errors = run([*bounded, "systemctl", "start", unit])
    if code == 0:
        return Outcome(unit)
    if limit_s is not None and code == _LATE:
        run(["timeout", str(_STOPPING_S), "systemctl", "stop", unit])
        return Outcome(unit, f"did not finish within {limit_s} s", late=True)
    return Outcome(unit, f"failed: {_reason(run, unit, errors)}")


def open_window(run: Run, layer: str) -> None:
    """Open the receiving end of measurements in pairs for another window.

    It closes by itself: to stop it might end a measurement of the timer's slot.
    """
    run(["systemctl", "restart", RECEIVERS[layer]])


def _reason(run: Run, unit: str, errors: str) -> str:
    """Return the last sentence of a unit in the journal, or the error of systemctl."""
    words = ["--unit", unit, "--identifier=plumbline", "--lines=1", "--output=cat", "--no-pager"]
    code, out, _ = run(["journalctl", *words])
    lines = (out if code == 0 else "").split("\n") + errors.split("\n")
    return next(
        (line.strip() for line in lines if line.strip()), f"no reason in journalctl --unit {unit}"
    )
