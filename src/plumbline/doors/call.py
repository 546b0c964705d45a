"""The arguments of a check, as the guidelines of the Monitoring Plugins want them.

argparse would take as long to start as everything else together, and getopt, which loads the
translations of messages, a tenth of it.
"""

from __future__ import annotations

from plumbline.model.errors import UsageError
from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Iterator, Mapping, Sequence

TIMEOUT_S = 10.0

_COMMON = {"--timeout": "--timeout", "-t": "--timeout"}
_ALONE = {
    "--verbose": "--verbose",
    "-v": "--verbose",
    "--version": "--version",
    "-V": "--version",
    "--help": "--help",
    "-h": "--help",
}


class Call(NamedTuple):
    """Arguments of a check: the values of options by their long names, and the number of -v."""

    program: str
    given: Mapping[str, str]
    verbosity: int

    @property
    def timeout_s(self) -> float:
        """Return the seconds that it may take; raise UsageError."""
        return self.seconds("--timeout", TIMEOUT_S, 86400)

    def seconds(self, option: str, usual: float, limit: float) -> float:
        """Return the seconds of an option, more than none and less than ``limit``.

        Raises:
            UsageError: it is no such number.
        """
        text = self.given.get(option, str(usual))
        try:
            value = float(text)
        except ValueError:
            value = 0.0
        if not 0 < value < limit:
            raise UsageError(
                f"{option} {text!r} is no number of seconds; write for example {usual:g}"
            )
        return value


def parse(program: str, argv: Sequence[str], options: Mapping[str, str]) -> Call:
    """Return what the arguments ask for; ``options`` are a check's own that take a value.

    They have their long names by all spellings.  Raises UsageError with one sentence.
    """
    pairs = tuple(_pairs(program, argv, {**options, **_COMMON}))
    return Call(program, dict(pairs), sum(name == "--verbose" for name, _ in pairs))


def _pairs(
    program: str, argv: Sequence[str], with_value: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield long names and values, in the order given; ``-vt5`` is ``-v -t 5``.

    ``with_value`` are the options that take one, with their long names; raises UsageError.
    """
    words = list(argv)
    while words:
        word = words.pop(0)
        name, glued, value = word.partition("=") if word.startswith("--") else _short(word)
        if name in _ALONE and not glued:
            yield _ALONE[name], ""
        elif name in _ALONE and not word.startswith("--"):
            yield _ALONE[name], ""
            words.insert(0, f"-{value}")
        elif name in with_value and (glued or words):
            yield with_value[name], value if glued else words.pop(0)
        elif name in with_value:
            raise UsageError(f"{name} needs a value; see {program} --help")
        else:
            raise UsageError(f"argument {word!r} is not understood; see {program} --help")


def _short(word: str) -> tuple[str, str, str]:
    """Return a short option, and twice what is glued to it."""
    return word[:2], word[2:], word[2:]
