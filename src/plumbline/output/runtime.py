"""Run a check from its arguments to its exit code; alone owns exit code, time limit, traceback.

Whatever happens, a check prints one sentence on standard output, nothing on standard error, and
ends with 0 to 3: any other end would be read as a state that nobody has measured.
"""

from __future__ import annotations

import os
import signal
import sys
import time

from plumbline.errors import DocumentError, PlumblineError, UsageError
from plumbline.model.ages import CLOCK_STEP_S
from plumbline.model.named_tuple import TYPE_CHECKING
from plumbline.model.state import State
from plumbline.output.call import parse
from plumbline.output.plugin import plugin_output, status_line
from plumbline.store.verdicts import load_published

if TYPE_CHECKING:
    from typing import Callable, NoReturn, Sequence

    from plumbline.model.published import Published
    from plumbline.model.verdict import Verdict
    from plumbline.output.call import Call


class _OutOfTime(PlumblineError):
    """The time limit has come."""


def run(layer: str, argv: Sequence[str]) -> NoReturn:
    """Say the verdict that ``argv``, the program's name first, asks for; end the process."""
    conclude(argv, lambda program, service: _outcome(service, layer, parse(program, argv[1:])))


def conclude(argv: Sequence[str], outcome: Callable[[str, str], tuple[State, str]]) -> NoReturn:
    """Print what ``outcome`` gives for the program and its service, and end the process.

    Whatever goes wrong in it is UNKNOWN, in one line.
    """
    program = os.path.basename(argv[0])
    service = program.rpartition("_")[2].upper()
    try:
        state, text = outcome(program, service)
    except PlumblineError as error:
        state, text = State.UNKNOWN, f"{status_line(service, State.UNKNOWN, str(error))}\n"
    # The only place that may catch everything: a traceback would go to standard error, and
    # Python's exit code 1 would be taken for WARNING.
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001
        state, text = State.UNKNOWN, f"{status_line(service, State.UNKNOWN, _internal(error))}\n"
    _end(state, text)


def _outcome(service: str, layer: str, call: Call) -> tuple[State, str]:
    if call.answer:
        return State.UNKNOWN, f"{call.answer}\n"
    with limited(call.timeout_s):
        now = time.time()
        found = _as_it_stands(_published(layer, call), now)
    return found.state, plugin_output(service, found, call.verbosity)


def _published(layer: str, call: Call) -> Published:
    if call.group:
        from plumbline.layers import PAIRED

        if layer in PAIRED:
            raise UsageError("--group: a node measures one host, its own; name it with --component")
    subject = layer, call.group or call.component, bool(call.group)
    try:
        return load_published(call.verdicts, subject, call.expectations)
    except DocumentError as error:
        if not isinstance(error.__cause__, FileNotFoundError):
            raise
        # most checks find their verdict and do not need this
        from plumbline.output.unpublished import refuse_unexpected

        refuse_unexpected(call.expectations, subject)
        raise


def _as_it_stands(published: Published, now: float) -> Verdict:
    """Return a verdict with what the clock and the processes of this node add to it."""
    found = published.at(now)
    if not published.running and now >= published.judged_at - CLOCK_STEP_S:
        return found
    # most checks find neither and do not need this
    from plumbline.output.unfinished import with_clock, with_runs

    return with_clock(with_runs(found, published, now), published, now)


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
