"""Ask the system one thing by a command; no answer, or a refusal, means: do not measure."""

from __future__ import annotations

from typing import Optional, Sequence

from plumbline.errors import BrokenTarget, DisturbedTarget, SkipTarget
from plumbline.model.breakage import breaks
from plumbline.model.command import CommandRunner, Completed, Within, lines

QUICK_S = 10.0
"""What answers at all on a healthy system answers within this."""

SLOW_S = 60.0
"""For what creates or removes: it may wait for other servers."""

QUESTIONS = frozenset(
    ("cat", "find", "getent", "getfattr", "lctl", "lfs", "realpath", "rm", "rmdir")
    + ("stat", "test", "touch", "truncate", "folders")
)
"""The programs by which targets are asked and files made; all others move a target's bytes.

``folders`` opens the folder that any of them works in, see :data:`plumbline.folders.PROGRAM`."""


def ask(
    run: CommandRunner,
    argv: Sequence[str],
    timeout_s: float = QUICK_S,
    within: Optional[Within] = None,
) -> str:
    """Return what a command prints; raise SkipTarget in its own words unless it succeeds."""
    completed = run(argv, timeout_s, within)
    if not completed.ok:
        raise objection(completed, own=False, within=within)
    return completed.stdout


def ask_own(run: CommandRunner, argv: Sequence[str]) -> str:
    """Do the same with what lies on one target alone; raise BrokenTarget for an I/O error there."""
    completed = run(argv, QUICK_S)
    if not completed.ok:
        raise objection(completed, own=True)
    return completed.stdout


def objection(completed: Completed, *, own: bool, within: Optional[Within] = None) -> SkipTarget:
    """Return the error of a command on a target's file or device, its own or shared with others."""
    answered = not completed.timed_out and not completed.hung
    kind = SkipTarget
    if answered and breaks(completed.stderr):
        kind = BrokenTarget if own else DisturbedTarget
    return kind(complaint(completed, within))


def complaint(completed: Completed, within: Optional[Within] = None) -> str:
    """Return in one line what a command that did not succeed was, where, and said."""
    called = " ".join(completed.argv) + (f" in {within.path}" if within else "")
    if completed.timed_out or completed.hung:
        stuck = " and cannot be ended: it is stuck in the kernel" if completed.hung else ""
        return f"{called} gave no answer in {completed.seconds:.0f} s{stuck}"
    said = lines(completed.stderr) or lines(completed.stdout) or ["without a word"]
    return f"{called} failed with exit code {completed.exit_code}: {said[-1]}"
