"""The arguments of a check, as the guidelines of the Monitoring Plugins want them.

argparse would take as long to start as everything else together, and getopt, which loads the
translations of messages, a tenth of it.
"""

from __future__ import annotations

from plumbline import __version__
from plumbline.errors import DocumentError, UsageError
from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple
from plumbline.model.threshold import Range
from plumbline.store.snapshot import EXPECTATIONS, SNAPSHOT

if TYPE_CHECKING:
    from typing import Iterator, Mapping, Optional, Sequence

    from plumbline.model.expectation import Expectation

TIMEOUT_S = 10.0

_WITH_VALUE = {
    "--component": "--component",
    "--group": "--group",
    "--warning": "--warning",
    "-w": "--warning",
    "--critical": "--critical",
    "-c": "--critical",
    "--timeout": "--timeout",
    "-t": "--timeout",
    "--expectations": "--expectations",
    "--snapshot": "--snapshot",
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
{program} {version}: judge what this node has measured of one component

usage: {program} (--component NAME | --group NAME) [options]

  --component NAME      the component to judge
  --group NAME          judge the median of a group of peers instead; a host has none
  -w, --warning RANGE   watch a run outside this range, in percent of the baseline, e.g. 80:
  -c, --critical RANGE  an alarm is CRITICAL outside this range, e.g. 50:, else WARNING
                        (default of both: what the expectations say)
  -t, --timeout SECONDS UNKNOWN when it takes longer, default {timeout:g}
  -v, --verbose         show the evidence; up to three times
  --expectations FILE   default {expectations}
  --snapshot FILE       default {snapshot}
  -V, --version         show the version
  -h, --help            show this help

Exit codes: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.  It reads the two files, and of a
run that has not ended whether its process is there (/proc)."""


class Call(NamedTuple):
    """What a check was asked; ``answer`` is set when it has only to say something about itself.

    ``warning`` and ``critical`` are in percent of the baseline and None for the expectation's own.
    """

    component: str = ""
    group: str = ""
    warning: Optional[Range] = None
    critical: Optional[Range] = None
    timeout_s: float = TIMEOUT_S
    verbosity: int = 0
    expectations: str = EXPECTATIONS
    snapshot: str = SNAPSHOT
    answer: str = ""

    def limited(self, expectation: Expectation) -> Expectation:
        """Return an expectation with the levels of this call in the place of its own."""
        limits = expectation.limits
        return expectation._replace(
            limits=limits._replace(
                warning=self.warning or limits.warning, critical=self.critical or limits.critical
            )
        )


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
        warning=_level(given, "--warning"),
        critical=_level(given, "--critical"),
        timeout_s=timeout(given),
        verbosity=sum(name == "--verbose" for name, _ in found),
        expectations=given.get("--expectations", EXPECTATIONS),
        snapshot=given.get("--snapshot", SNAPSHOT),
    )


def pairs(
    program: str, argv: Sequence[str], with_value: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield long names and values, in the order given; ``-vw80:`` is ``-v -w 80:``.

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
        snapshot=SNAPSHOT,
    )


def _level(given: dict[str, str], option: str) -> Optional[Range]:
    try:
        return Range.parse(given[option]) if option in given else None
    except DocumentError as error:
        raise UsageError(f"{option}: {error}") from error


def timeout(given: Mapping[str, str]) -> float:
    """Return the seconds that a check may take; raise UsageError."""
    text = given.get("--timeout", str(TIMEOUT_S))
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 86400:
        raise UsageError(f"--timeout {text!r} is no number of seconds; write for example 10")
    return seconds
