"""Ask the system one thing by a command; no answer, or a refusal, means: do not measure."""

from __future__ import annotations

from typing import Optional, Sequence

from plumbline.errors import SkipTarget
from plumbline.model.command import CommandRunner, Completed, Within, lines

QUICK_S = 10.0
"""What answers at all on a healthy system answers within this."""

SLOW_S = 60.0
"""For what creates or removes: it may wait for other servers."""


def ask(
    run: CommandRunner,
    argv: Sequence[str],
    timeout_s: float = QUICK_S,
    within: Optional[Within] = None,
) -> str:
    """Return what a command prints; raise SkipTarget in its own words unless it succeeds."""
    completed = run(argv, timeout_s, within)
    if not completed.ok:
        raise SkipTarget(complaint(completed, within))
    return completed.stdout


def complaint(completed: Completed, within: Optional[Within] = None) -> str:
    """Return in one line what a command that did not succeed was, where, and said."""
    called = " ".join(completed.argv) + (f" in {within.path}" if within else "")
    if completed.timed_out or completed.hung:
        stuck = " and cannot be ended: it is stuck in the kernel" if completed.hung else ""
        return f"{called} gave no answer in {completed.seconds:.0f} s{stuck}"
    said = lines(completed.stderr) or lines(completed.stdout) or ["without a word"]
    return f"{called} failed with exit code {completed.exit_code}: {said[-1]}"
