"""A fake command runner with the answers of a test, which remembers its calls."""

from __future__ import annotations

from typing import Callable, Mapping, Optional, Sequence, Union

from plumbline.model.command import Completed, Within
from plumbline.model.errors import SkipTarget

Deed = Callable[[tuple[str, ...]], Completed]
"""A function run for a command; it may raise the errors of a runner."""


def answer(stdout: str = "", stderr: str = "", exit_code: int = 0) -> Completed:
    """Return the result of a completed command."""
    return Completed((), exit_code, stdout, stderr, seconds=0.1)


def file_status(size: int, blocks: int, device: int = 59, inode: int = 7) -> str:
    """Return the output of stat for a probe file and the two folders above it."""
    return (
        f"4096 8 512 {device} 1 ..\n4096 8 512 {device} 2 .\n"
        f"{size} {blocks} 512 {device} {inode} probe.dat\n"
    )


NO_FILE = answer(
    "4096 8 512 59 1 ..\n4096 8 512 59 2 .\n",
    "stat: cannot statx 'probe.dat': No such file or directory\n",
    1,
)
"""Output of stat if only the folders exist."""


REMOVED = "rm -f -- probe.dat trial trial-1 trial-2 trial-3 trial-4 trial-5"
"""The call that removes a probe file and the leftovers of a killed run."""


def unsafe(reason: str) -> Deed:
    """Return the action for a refused folder or file: the command is not run."""

    def refuse(_argv: tuple[str, ...]) -> Completed:
        raise SkipTarget(reason)

    return refuse


HANGING = Completed((), None, "", "", seconds=10.0, timed_out=True, hung=True)
"""The result of a command that is stuck in the kernel."""

Answer = Union[str, Completed, Deed, Sequence[Completed]]


class FakeRunner:
    """Answers a command by the longest matching prefix; the last of several answers repeats.

    A command without an answer fails the test.  ``places`` are the working folders of
    the calls, None for none, and ``limits_s`` their time limits.
    """

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        self._answers: dict[str, list[Union[Completed, Deed]]] = {
            start: [answer(value)] if isinstance(value, str) else self._many(value)
            for start, value in answers.items()
        }
        self.calls: list[str] = []
        self.places: list[Optional[Within]] = []
        self.limits_s: list[float] = []

    def __call__(
        self, argv: Sequence[str], timeout_s: float, within: Optional[Within] = None
    ) -> Completed:
        assert timeout_s > 0
        words = " ".join(argv)
        self.calls.append(words)
        self.places.append(within)
        self.limits_s.append(timeout_s)
        prefixes = [start for start in self._answers if words.startswith(start)]
        assert prefixes, f"no answer for: {words}"
        answers = self._answers[max(prefixes, key=len)]
        reply = answers.pop(0) if len(answers) > 1 else answers[0]
        completed = reply if isinstance(reply, Completed) else reply(tuple(argv))
        return completed._replace(argv=tuple(argv))

    def called(self, start: str) -> list[str]:
        """Return the calls with this prefix."""
        return [call for call in self.calls if call.startswith(start)]

    def placed(self, start: str) -> list[Optional[Within]]:
        """Return the folders of the calls with this prefix."""
        calls = zip(self.calls, self.places)
        return [within for call, within in calls if call.startswith(start)]

    @staticmethod
    def _many(
        value: Union[Completed, Deed, Sequence[Completed]],
    ) -> list[Union[Completed, Deed]]:
        return [value] if isinstance(value, Completed) or callable(value) else list(value)
