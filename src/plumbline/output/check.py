"""A check that reads a document of its own: from its arguments to its exit code."""

from __future__ import annotations

import time

from plumbline import __version__
from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple
from plumbline.model.state import State
from plumbline.output.call import TIMEOUT_S, pairs, timeout
from plumbline.output.plugin import plugin_output
from plumbline.output.runtime import conclude, limited

if TYPE_CHECKING:
    from typing import Callable, Mapping, NoReturn, Sequence

    from plumbline.model.verdict import Verdict

_COMMON = {"--timeout": "--timeout", "-t": "--timeout"}


class Check(NamedTuple):
    """What one check takes, and who judges.

    ``text`` is its help, ``shown`` what is filled in there; ``options`` has its own options that
    take a value, by all spellings.  ``judge`` takes what was given, with the program's name as
    ``program``, and a moment in epoch seconds.
    """

    text: str
    shown: Mapping[str, object]
    options: Mapping[str, str]
    judge: Callable[[Mapping[str, str], float], Verdict]


def run_check(check: Check, argv: Sequence[str]) -> NoReturn:
    """Say what ``argv``, the program's name first, asks for; end the process."""
    conclude(argv, lambda program, service: _outcome(check, program, service, argv[1:]))


def _outcome(check: Check, program: str, service: str, argv: Sequence[str]) -> tuple[State, str]:
    options = tuple(pairs(program, argv, {**check.options, **_COMMON}))
    given = {"program": program, **dict(options)}
    if "--help" in given:
        words = {"program": program, "version": __version__, "timeout": TIMEOUT_S}
        return State.UNKNOWN, f"{check.text.format(**words, **check.shown)}\n"
    if "--version" in given:
        return State.UNKNOWN, f"{program} {__version__} (plumbline)\n"
    with limited(timeout(given)):
        found = check.judge(given, time.time())
    verbosity = sum(name == "--verbose" for name, _ in options)
    return found.state, plugin_output(service, found, verbosity)
