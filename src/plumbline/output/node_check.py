"""check_node: its arguments, and what it says of the probes of this node."""

from __future__ import annotations

import os
import time

from plumbline import __version__
from plumbline.errors import DocumentError
from plumbline.judge.node import JudgedNode, judge_node
from plumbline.model.named_tuple import TYPE_CHECKING
from plumbline.model.series import Snapshot
from plumbline.model.state import State
from plumbline.output.call import TIMEOUT_S, pairs, timeout
from plumbline.output.plugin import plugin_output
from plumbline.output.runtime import conclude, limited
from plumbline.store.places import EXPECTATIONS, SNAPSHOT
from plumbline.store.snapshot import load_expectations, load_snapshot

if TYPE_CHECKING:
    from typing import Mapping, NoReturn, Sequence

    from plumbline.model.verdict import Verdict

_WITH_VALUE = {
    "--timeout": "--timeout",
    "-t": "--timeout",
    "--expectations": "--expectations",
    "--snapshot": "--snapshot",
}
_HELP = """\
{program} {version}: say whether the probes of this node run

usage: {program} [options]

  -t, --timeout SECONDS UNKNOWN when it takes longer, default {timeout:g}
  -v, --verbose         show each layer; twice, each operation without a rate
  --expectations FILE   default {expectations}
  --snapshot FILE       default {snapshot}
  -V, --version         show the version
  -h, --help            show this help

Exit codes: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.  It reads the two files, and of a
run that has not ended whether its process is there (/proc)."""


def run(argv: Sequence[str]) -> NoReturn:
    """Say what ``argv``, the program's name first, asks for; end the process."""
    conclude(argv, lambda program, service: _outcome(program, service, argv[1:]))


def _outcome(program: str, service: str, argv: Sequence[str]) -> tuple[State, str]:
    options = tuple(pairs(program, argv, _WITH_VALUE))
    given = dict(options)
    if "--help" in given:
        words = {"program": program, "version": __version__, "timeout": TIMEOUT_S}
        text = _HELP.format(**words, expectations=EXPECTATIONS, snapshot=SNAPSHOT)
        return State.UNKNOWN, f"{text}\n"
    if "--version" in given:
        return State.UNKNOWN, f"{program} {__version__} (plumbline)\n"
    with limited(timeout(given)):
        found = _judged(given, time.time())
    verbosity = sum(name == "--verbose" for name, _ in options)
    return found.state, plugin_output(service, found, verbosity)


def _judged(given: Mapping[str, str], now: float) -> Verdict:
    path = given.get("--expectations", EXPECTATIONS)
    expectations = load_expectations(path)
    # the role replaces the file when something else is expected
    asked = JudgedNode(expectations, os.stat(path).st_mtime, now)
    try:
        return judge_node(asked, load_snapshot(given.get("--snapshot", SNAPSHOT)))
    except DocumentError as error:
        if not isinstance(error.__cause__, FileNotFoundError):
            raise
        # before the first run there is none, and no fault either
        found = judge_node(asked, Snapshot(expectations.node, now, (), {}, {}))
        if found.state is State.OK:
            return found
        raise
