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
from plumbline.doors.call import TIMEOUT_S, parse
from plumbline.doors.plugin import plugin_output, status_line
from plumbline.model.errors import PlumblineError
from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple
from plumbline.model.verdict import State

if TYPE_CHECKING:
    from typing import Callable, Mapping, NoReturn, Sequence

    from plumbline.doors.call import Call
    from plumbline.model.verdict import Verdict


class _OutOfTime(PlumblineError):
    """The time limit has come."""


class Check(NamedTuple):
    """One check: its help, its options, and its judge.

    ``text`` is its help, ``shown`` what is filled in there; ``options`` has its own options that
    take a value, by all spellings.  ``judge`` takes what was asked and a moment in epoch seconds.
    """

    text: str
    shown: Mapping[str, object]
    options: Mapping[str, str]
    judge: Callable[[Call, float], Verdict]


def run_check(check: Check, argv: Sequence[str]) -> NoReturn:
    """Say what ``argv``, the program's name first, asks for; end the process.

    Whatever goes wrong is UNKNOWN, in one line.
    """
    program = os.path.basename(argv[0])
    service = program.rpartition("_")[2].upper()
    try:
        state, text = _outcome(check, service, parse(program, argv[1:], check.options))
    except PlumblineError as error:
        state, text = State.UNKNOWN, f"{status_line(service, State.UNKNOWN, str(error))}\n"
    # The only place that may catch everything: a traceback would go to standard error, and
    # Python's exit code 1 would be taken for WARNING.
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001
        state, text = State.UNKNOWN, f"{status_line(service, State.UNKNOWN, _internal(error))}\n"
    _end(state, text)


def _outcome(check: Check, service: str, call: Call) -> tuple[State, str]:
    if "--help" in call.given:
        words = {"program": call.program, "version": __version__, "timeout": TIMEOUT_S}
        return State.UNKNOWN, f"{check.text.format(**words, **check.shown)}\n"
    if "--version" in call.given:
        return State.UNKNOWN, f"{call.program} {__version__} (plumbline)\n"
    with limited(call.timeout_s):
        verdict = check.judge(call, time.time())
    return verdict.state, plugin_output(service, verdict, call.verbosity)


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
