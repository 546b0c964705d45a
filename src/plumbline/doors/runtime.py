"""Run a check from its arguments to its exit code, with a time limit and without tracebacks.

A check always prints one sentence on standard output, nothing on standard error, and exits with 0
to 3: the monitoring system would read any other exit as a wrong state.
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


class _TimeLimitReached(PlumblineError):
    """The time limit is reached."""


class Call(NamedTuple):
    """Arguments of a check: values of options by long name, and the number of -v."""

    program: str
    options: Mapping[str, str]
    verbosity: int

    @property
    def timeout_s(self) -> float:
        """Return the time limit in seconds; raise UsageError."""
        return self.number("--timeout", "seconds", TIMEOUT_S, 86400)

    def number(self, option: str, unit: str, default: float, limit: float) -> float:
        """Return the number of an option in ``unit``, between 0 and ``limit``, both excluded.

        Raises:
            UsageError: the value is no such number.
        """
        text = self.options.get(option, str(default))
        try:
            value = float(text)
        except ValueError:
            value = 0.0
        if not 0 < value < limit:
            raise UsageError(
                f"{option} {text!r} is no number of {unit}; write for example {default:g}"
            )
        return value


def run_check(
    argv: Sequence[str], text: str, judge: Callable[[Call, float], Verdict], **values: object
) -> NoReturn:
    """Print the verdict, help or version for ``argv``; end the process.

    ``argv`` begins with the program's name, ``text`` is the help, ``values`` are those of its
    placeholders.  ``judge`` takes the call and epoch seconds.  Every error is UNKNOWN, in one line.
    """
    program = os.path.basename(argv[0])
    service = program.rpartition("_")[2].upper()
    try:
        call = parse(program, argv[1:], text)
        if "--help" in call.options:
            words = {"program": program, "version": __version__, "timeout": TIMEOUT_S, **values}
            state, output = State.UNKNOWN, f"{text.format(**words)}\n"
        elif "--version" in call.options:
            state, output = State.UNKNOWN, f"{program} {__version__} (plumbline)\n"
        else:
            with limited(call.timeout_s):
                verdict = judge(call, time.time())
            state, output = verdict.state, plugin_output(service, verdict, call.verbosity)
    except PlumblineError as error:
        state, output = State.UNKNOWN, f"{status_line(service, State.UNKNOWN, str(error))}\n"
    # the only place that may catch everything: a traceback would go to standard error, and
    # Python's exit code 1 would mean WARNING
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001
        state, output = State.UNKNOWN, f"{status_line(service, State.UNKNOWN, _fault(error))}\n"
    _exit(state, output)


def parse(program: str, argv: Sequence[str], text: str) -> Call:
    """Return the parsed arguments of a check; ``-vt5`` is ``-v -t 5``.

    ``text`` is the help of the check.  Loading argparse would double the time of a check; getopt,
    which loads translations, would add a tenth.

    Raises:
        UsageError: an argument is unknown or has no value.
    """
    spellings, options, verbosity, words = _spellings(text), {}, 0, list(argv)
    while words:
        word = words.pop(0)
        is_long = word.startswith("--")
        name, glued, value = word.partition("=") if is_long else (word[:2], word[2:], word[2:])
        long, takes_value = spellings.get(name, ("", False))
        if not long or (is_long and glued and not takes_value):
            raise UsageError(f"argument {word!r} is not understood; see {program} --help")
        if takes_value and not glued and not words:
            raise UsageError(f"{name} needs a value; see {program} --help")
        if takes_value and not glued:
            value = words.pop(0)
        elif glued and not takes_value:
            words.insert(0, f"-{value}")
        options[long] = value
        verbosity += long == "--verbose"
    return Call(program, options, verbosity)


def _spellings(text: str) -> dict[str, tuple[str, bool]]:
    """Return options of a help by spelling: long name, and whether the option takes a value."""
    options = {}
    for line in text.splitlines():
        if line.startswith("  -"):
            words = line.replace(",", "").split()
            number = 1 + words[1].startswith("-")
            for spelling in words[:number]:
                options[spelling] = words[number - 1], words[number].isupper()
    return options


class limited:  # noqa: N801 - reads as a word; contextlib takes a tenth of a check's time
    """Context that raises an expected error after ``seconds``."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __enter__(self) -> None:
        signal.signal(signal.SIGALRM, self._ring)
        signal.setitimer(signal.ITIMER_REAL, self._seconds)

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)

    def _ring(self, *_: object) -> NoReturn:
        raise _TimeLimitReached(
            f"not done within {self._seconds:g} s; see whether the disk that holds "
            "/var/lib/plumbline hangs or the machine is overloaded"
        )


def _fault(error: BaseException) -> str:
    """Return one line for a bug report."""
    frame, place = error.__traceback__, ""
    while frame:
        place = f"{os.path.basename(frame.tb_frame.f_code.co_filename)}:{frame.tb_lineno}"
        frame = frame.tb_next
    return f"internal error {type(error).__name__}: {error} at {place}; please report it"


def _exit(state: State, text: str) -> NoReturn:
    try:
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
        sys.stdout.buffer.flush()
    except (OSError, AttributeError, ValueError):
        # the reader has closed the pipe
        state = State.UNKNOWN
    # nothing is open or buffered, and a normal exit takes as long as judging
    os._exit(state)
