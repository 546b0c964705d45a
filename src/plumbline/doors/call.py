"""A check as a process: its arguments, its time limit and its end.

A check prints nothing on standard error and exits with 0 to 3: Nagios would read any other exit
code as a wrong state.  The checks load this module, so it imports as little as possible: argparse
alone takes longer than a check.
"""

from __future__ import annotations

import os
import sys

# signal loads enum, which takes a third of the start of Python itself
from _signal import ITIMER_REAL, SIGALRM, setitimer, signal  # type: ignore[import-not-found]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Iterable, NoReturn

CERTIFICATES = "/etc/plumbline-tls"
"""Folder in which the role nrpe puts key and certificate."""

RENEW_DAYS = 60.0
"""As ``nrpe_renew_days``: a deployment renews a certificate from then on."""
STALE_AFTER_S = 3600.0
SPACE_STALE_S = 3 * STALE_AFTER_S
TIMEOUT_S = 10.0
STATES = ("OK", "WARNING", "CRITICAL", "UNKNOWN")
"""States by their exit codes."""

OPTIONS = {
    "node": ("--expectations", "--verdicts", "--certificates", "--renew-days"),
    "symptoms": ("--kind", "--node", "--stale-after", "--document", "--commands"),
    "path": ("--service", "--document"),
    "space": ("--file-system", "--node", "--stale-after", "--document", "--expectations"),
}
"""Options with a value, by check."""
OF_COMPONENTS = ("--component", "--group", "--expectations", "--verdicts")
_FLAGS = {"-v": "--verbose", "-V": "--version", "-h": "--help"}
_SHORT = {"-t": "--timeout", "-k": "--kind", "-s": "--service", **_FLAGS}


class Refusal(Exception):
    """There is no verdict to show, for the reason of the message: UNKNOWN."""


def parse(kind: str, words: Iterable[str]) -> tuple[dict[str, str], int]:
    """Return the options of ``check_KIND`` by long name, and the number of -v.

    ``-vt5`` is ``-v -t 5``.

    Raises:
        Refusal: an argument is unknown or has no value.
    """
    takers = (*OPTIONS.get(kind, OF_COMPONENTS), "--timeout")
    options, verbosity, pending = {}, 0, list(words)
    while pending:
        word = pending.pop(0)
        is_long = word.startswith("--")
        name, glued, value = word.partition("=") if is_long else (word[:2], word[2:], word[2:])
        option = name if is_long else _SHORT.get(name, "")
        takes_value = option in takers
        if not takes_value and (option not in _FLAGS.values() or (is_long and glued)):
            raise Refusal(f"argument {word!r} is not understood; see check_{kind} --help")
        if takes_value and not glued and not pending:
            raise Refusal(f"{name} needs a value; see check_{kind} --help")
        if takes_value and not glued:
            value = pending.pop(0)
        elif glued and not takes_value:
            pending.insert(0, f"-{value}")
        options[option] = value
        verbosity += option == "--verbose"
    return options, verbosity


def number(options: dict[str, str], option: str, unit: str, default: float, limit: float) -> float:
    """Return the value of an option in ``unit``, between 0 and ``limit``, both excluded.

    Raises:
        Refusal: it is no such number.
    """
    text = options.get(option, str(default))
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < limit:
        raise Refusal(f"{option} {text!r} is no number of {unit}; write for example {default:g}")
    return value


def limit(seconds: float, late: Callable[[str], object]) -> None:
    """Call ``late`` with the reason after so many seconds, unless the check ends before.

    An error instead could come when nothing handles it, and the check would print nothing.
    """

    def ring(*_: object) -> None:
        late(
            f"not done within {seconds:g} s; see whether the disk that holds /var/lib/plumbline "
            "hangs or the machine is overloaded"
        )

    signal(SIGALRM, ring)
    setitimer(ITIMER_REAL, seconds)


def fault(error: BaseException) -> str:
    """Return one line for a bug report."""
    frame, place = error.__traceback__, ""
    while frame:
        place = f"{os.path.basename(frame.tb_frame.f_code.co_filename)}:{frame.tb_lineno}"
        frame = frame.tb_next
    return f"internal error {type(error).__name__}: {error} at {place}; please report it"


def finish(state: str, text: str) -> NoReturn:
    """Print a text and exit with the code of a state, UNKNOWN if nobody reads the text."""
    setitimer(ITIMER_REAL, 0)
    try:
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
        sys.stdout.buffer.flush()
    except (OSError, AttributeError, ValueError):
        state = "UNKNOWN"
    # nothing is open or buffered, and a normal exit takes as long as reading a verdict
    os._exit(STATES.index(state))
