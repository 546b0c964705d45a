"""A command runner at the edge that answers what a test has told it, and remembers the calls."""

from __future__ import annotations

from typing import Callable, Mapping, Sequence, Union

from plumbline.model.command import Completed


def answer(stdout: str = "", stderr: str = "", exit_code: int = 0) -> Completed:
    """Return the end of a command that ended by itself."""
    return Completed((), exit_code, stdout, stderr, seconds=0.1)


HANGING = Completed((), None, "", "", seconds=10.0, timed_out=True, hung=True)
"""The end of a command that is stuck in the kernel."""

Deed = Callable[[tuple[str, ...]], Completed]
"""What a command does when it is called; it may raise what a runner raises."""

Answer = Union[str, Completed, Deed, Sequence[Completed]]


class FakeRunner:
    """Answers a command by the longest known start of its words; the last of several answers stays.

    A command that no test has foreseen is an error of the test.
    """

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        self._answers: dict[str, list[Union[Completed, Deed]]] = {
            start: [answer(value)] if isinstance(value, str) else self._many(value)
            for start, value in answers.items()
        }
        self.calls: list[str] = []

    def __call__(self, argv: Sequence[str], timeout_s: float) -> Completed:
        assert timeout_s > 0
        words = " ".join(argv)
        self.calls.append(words)
        known = [start for start in self._answers if words.startswith(start)]
        assert known, f"no answer for: {words}"
        left = self._answers[max(known, key=len)]
        found = left.pop(0) if len(left) > 1 else left[0]
        completed = found if isinstance(found, Completed) else found(tuple(argv))
        return completed._replace(argv=tuple(argv))

    def called(self, start: str) -> list[str]:
        """Return the calls that began so."""
        return [words for words in self.calls if words.startswith(start)]

    @staticmethod
    def _many(
        value: Union[Completed, Deed, Sequence[Completed]],
    ) -> list[Union[Completed, Deed]]:
        return [value] if isinstance(value, Completed) or callable(value) else list(value)
