"""A command runner at the edge that answers what a test has told it, and remembers the calls."""

from __future__ import annotations

from typing import Callable, Mapping, Optional, Sequence, Union

from plumbline.model.command import Completed, Within
from plumbline.model.errors import SkipTarget

Deed = Callable[[tuple[str, ...]], Completed]
"""What a command does when it is called; it may raise what a runner raises."""


def answer(stdout: str = "", stderr: str = "", exit_code: int = 0) -> Completed:
    """Return the end of a command that ended by itself."""
    return Completed((), exit_code, stdout, stderr, seconds=0.1)


def file_status(size: int, blocks: int, device: int = 59, inode: int = 7) -> str:
    """Return what stat says of a probe file and of the two folders above it."""
    return (
        f"4096 8 512 {device} 1 ..\n4096 8 512 {device} 2 .\n"
        f"{size} {blocks} 512 {device} {inode} probe.dat\n"
    )


NO_FILE = answer(
    "4096 8 512 59 1 ..\n4096 8 512 59 2 .\n",
    "stat: cannot statx 'probe.dat': No such file or directory\n",
    1,
)
"""What it says where the folders alone are there."""


REMOVED = "rm -f -- probe.dat trial trial-1 trial-2 trial-3 trial-4 trial-5"
"""The call that removes a probe file and whatever a killed run left beside it."""


def unsafe(reason: str) -> Deed:
    """Return what a runner does where a folder or file is refused: the command is not run."""

    def refuse(_argv: tuple[str, ...]) -> Completed:
        raise SkipTarget(reason)

    return refuse


HANGING = Completed((), None, "", "", seconds=10.0, timed_out=True, hung=True)
"""The end of a command that is stuck in the kernel."""

Answer = Union[str, Completed, Deed, Sequence[Completed]]


class FakeRunner:
    """Answers a command by the longest known start of its words; the last of several answers stays.

    A command that no test has foreseen is an error of the test.  ``places`` are the folders that
    the calls were to work in, None for none.
    """

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        self._answers: dict[str, list[Union[Completed, Deed]]] = {
            start: [answer(value)] if isinstance(value, str) else self._many(value)
            for start, value in answers.items()
        }
        self.calls: list[str] = []
        self.places: list[Optional[Within]] = []

    def __call__(
        self, argv: Sequence[str], timeout_s: float, within: Optional[Within] = None
    ) -> Completed:
        assert timeout_s > 0
        words = " ".join(argv)
        self.calls.append(words)
        self.places.append(within)
        known = [start for start in self._answers if words.startswith(start)]
        assert known, f"no answer for: {words}"
        left = self._answers[max(known, key=len)]
        found = left.pop(0) if len(left) > 1 else left[0]
        completed = found if isinstance(found, Completed) else found(tuple(argv))
        return completed._replace(argv=tuple(argv))

    def called(self, start: str) -> list[str]:
        """Return the calls that began so."""
        return [words for words in self.calls if words.startswith(start)]

    def placed(self, start: str) -> list[Optional[Within]]:
        """Return the folders of the calls that began so."""
        calls = zip(self.calls, self.places)
        return [within for words, within in calls if words.startswith(start)]

    @staticmethod
    def _many(
        value: Union[Completed, Deed, Sequence[Completed]],
    ) -> list[Union[Completed, Deed]]:
        return [value] if isinstance(value, Completed) or callable(value) else list(value)
