"""Run a check from its arguments to its exit code; alone owns exit code, time limit, traceback.

Whatever happens, a check prints one sentence on standard output, nothing on standard error, and
ends with 0 to 3: any other end would be read as a state that nobody has measured.
"""

from __future__ import annotations

import os
import signal
import sys
import time

from plumbline import __version__
from plumbline.doors.plugin import plugin_output, status_line
from plumbline.model.errors import PlumblineError, UsageError
from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple
from plumbline.model.verdict import State

if TYPE_CHECKING:
    from typing import Callable, Mapping, NoReturn, Sequence

    from plumbline.model.verdict import Verdict

TIMEOUT_S = 10.0


class _OutOfTime(PlumblineError):
    """The time limit has come."""


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


def run_check(
    argv: Sequence[str], text: str, judge: Callable[[Call, float], Verdict], **shown: object
) -> NoReturn:
    """Print what ``argv``, the program's name first, asks for; end the process.

    ``text`` is the help with the options, ``shown`` what is filled in there.  ``judge`` takes the
    call and a moment in epoch seconds.  Whatever goes wrong is UNKNOWN, in one line.
    """
    program = os.path.basename(argv[0])
    service = program.rpartition("_")[2].upper()
    try:
        call = parse(program, argv[1:], text)
        if "--help" in call.given:
            words = {"program": program, "version": __version__, "timeout": TIMEOUT_S, **shown}
            state, output = State.UNKNOWN, f"{text.format(**words)}\n"
        elif "--version" in call.given:
            state, output = State.UNKNOWN, f"{program} {__version__} (plumbline)\n"
        else:
            with limited(call.timeout_s):
                verdict = judge(call, time.time())
            state, output = verdict.state, plugin_output(service, verdict, call.verbosity)
    except PlumblineError as error:
        state, output = State.UNKNOWN, f"{status_line(service, State.UNKNOWN, str(error))}\n"
    # The only place that may catch everything: a traceback would go to standard error, and
    # Python's exit code 1 would be taken for WARNING.
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001
        state, output = State.UNKNOWN, f"{status_line(service, State.UNKNOWN, _internal(error))}\n"
    _end(state, output)


def parse(program: str, argv: Sequence[str], text: str) -> Call:
    """Return what the arguments of a check ask for; ``-vt5`` is ``-v -t 5``.

    ``text`` is its help.  argparse would take as long to start as everything else together, and
    getopt, which loads the translations of messages, a tenth of it.

    Raises:
        UsageError: they are not understood.
    """
    options, given, verbosity, words = _options(text), {}, 0, list(argv)
    while words:
        word = words.pop(0)
        is_long = word.startswith("--")
        name, glued, value = word.partition("=") if is_long else (word[:2], word[2:], word[2:])
        long, takes_value = options.get(name, ("", False))
        if not long or (is_long and glued and not takes_value):
            raise UsageError(f"argument {word!r} is not understood; see {program} --help")
        if takes_value and not glued and not words:
            raise UsageError(f"{name} needs a value; see {program} --help")
        if takes_value and not glued:
            value = words.pop(0)
        elif glued and not takes_value:
            words.insert(0, f"-{value}")
        given[long] = value
        verbosity += long == "--verbose"
    return Call(program, given, verbosity)


def _options(text: str) -> dict[str, tuple[str, bool]]:
    """Return the long name of each option in a help by its spellings, and if it takes a value."""
    options = {}
    for line in text.splitlines():
        if line.startswith("  -"):
            words = line.replace(",", "").split()
            number = 1 + words[1].startswith("-")
            for spelling in words[:number]:
                options[spelling] = words[number - 1], words[number].isupper()
    return options


class limited:  # noqa: N801 - reads as a word; contextlib takes a tenth of a check's time
    """Raise an expected error when what is inside takes longer than some seconds."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __enter__(self) -> None:
        signal.signal(signal.SIGALRM, self._ring)
        signal.setitimer(signal.ITIMER_REAL, self._seconds)

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)

    def _ring(self, *_: object) -> NoReturn:
        raise _OutOfTime(
            f"not done within {self._seconds:g} s; see whether the disk that holds "
            "/var/lib/plumbline hangs or the machine is overloaded"
        )


def _internal(error: BaseException) -> str:
    """Return one line that a report of the fault can begin with."""
    frame, place = error.__traceback__, ""
    while frame:
        place = f"{os.path.basename(frame.tb_frame.f_code.co_filename)}:{frame.tb_lineno}"
        frame = frame.tb_next
    return f"internal error {type(error).__name__}: {error} at {place}; please report it"


def _end(state: State, text: str) -> NoReturn:
    try:
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
        sys.stdout.buffer.flush()
    except (OSError, AttributeError, ValueError):
        # nobody is listening any more
        state = State.UNKNOWN
    # Nothing is open or buffered, and taking the interpreter down takes as long as judging.
    os._exit(state)
