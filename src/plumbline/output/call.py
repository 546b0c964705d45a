"""The arguments of a check, as the guidelines of the Monitoring Plugins want them.

argparse would take as long to start as everything else together, and getopt, which loads the
translations of messages, a tenth of it.
"""

from __future__ import annotations

from plumbline import __version__
from plumbline.errors import UsageError
from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple
from plumbline.store.places import EXPECTATIONS, VERDICTS

if TYPE_CHECKING:
    from typing import Iterator, Mapping, Sequence

TIMEOUT_S = 10.0

_WITH_VALUE = {
    "--component": "--component",
    "--group": "--group",
    "--timeout": "--timeout",
    "-t": "--timeout",
    "--expectations": "--expectations",
    "--verdicts": "--verdicts",
}
_ALONE = {
    "--verbose": "--verbose",
    "-v": "--verbose",
    "--version": "--version",
    "-V": "--version",
    "--help": "--help",
    "-h": "--help",
}

_HELP = """\
{program} {version}: say how one component that this node measures fares

usage: {program} (--component NAME | --group NAME) [options]

  --component NAME      the component
  --group NAME          a group of peers as one instead; a host has none
  -t, --timeout SECONDS UNKNOWN when it takes longer, default {timeout:g}
  -v, --verbose         show the evidence; up to three times
  --expectations FILE   default {expectations}
  --verdicts FOLDER     default {verdicts}
  -V, --version         show the version
  -h, --help            show this help

Exit codes: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.  It reads the verdict that the
node has written, when the expectations were replaced, and of a run that has not ended
whether its process is there (/proc).  Levels are those of the policy."""


class Call(NamedTuple):
    """What a check was asked; ``answer`` is set when it has only to say something about itself."""

    component: str = ""
    group: str = ""
    timeout_s: float = TIMEOUT_S
    verbosity: int = 0
    expectations: str = EXPECTATIONS
    verdicts: str = VERDICTS
    answer: str = ""


def parse(program: str, argv: Sequence[str]) -> Call:
    """Return what the arguments ask for; raise UsageError with one sentence."""
    found = tuple(pairs(program, argv, _WITH_VALUE))
    given = dict(found)
    if "--help" in given or "--version" in given:
        return Call(answer=_answer(program, "--help" in given))
    if bool(given.get("--component")) is bool(given.get("--group")):
        raise UsageError(f"name either --component or --group; see {program} --help")
    return Call(
        component=given.get("--component", ""),
        group=given.get("--group", ""),
        timeout_s=timeout(given),
        verbosity=sum(name == "--verbose" for name, _ in found),
        expectations=given.get("--expectations", EXPECTATIONS),
        verdicts=given.get("--verdicts", VERDICTS),
    )


def pairs(
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


def _answer(program: str, long: bool) -> str:
    if not long:
        return f"{program} {__version__} (plumbline)"
    return _HELP.format(
        program=program,
        version=__version__,
        timeout=TIMEOUT_S,
        expectations=EXPECTATIONS,
        verdicts=VERDICTS,
    )


def timeout(given: Mapping[str, str]) -> float:
    """Return the seconds that a check may take; raise UsageError."""
    return seconds(given, "--timeout", TIMEOUT_S, 86400)


def seconds(given: Mapping[str, str], option: str, usual: float, limit: float) -> float:
    """Return the seconds of an option, more than none and less than ``limit``.

    Raises:
        UsageError: it is no such number.
    """
    text = given.get(option, str(usual))
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < limit:
        raise UsageError(f"{option} {text!r} is no number of seconds; write for example {usual:g}")
    return found
