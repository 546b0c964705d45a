"""check_node: arguments, and the verdict on the probes of this node."""

from __future__ import annotations

import os

from plumbline.doors.runtime import run_check
from plumbline.judge.node import JudgedNode, judge_node
from plumbline.model.errors import DocumentError
from plumbline.model.named_tuple import TYPE_CHECKING
from plumbline.model.series import Snapshot
from plumbline.model.verdict import State
from plumbline.store.files import EXPECTATIONS, LOCKS, SNAPSHOT
from plumbline.store.snapshot import load_expectations, load_snapshot
from plumbline.store.verdicts import unrecorded

if TYPE_CHECKING:
    from typing import NoReturn, Sequence

    from plumbline.doors.runtime import Call
    from plumbline.model.verdict import Verdict

_HELP = """\
{program} {version}: show whether the probes of this node run

usage: {program} [options]

  -t, --timeout SECONDS UNKNOWN when it takes longer, default {timeout:g}
  -v, --verbose         show each layer; twice, each operation without a rate
  --expectations FILE   default {expectations}
  --snapshot FILE       default {snapshot}
  -V, --version         show the version
  -h, --help            show this help

Exit codes: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.  It reads the two files, the note
of a run that could not be recorded, and of a run that has not ended whether its
process is there (/proc)."""


def run(argv: Sequence[str]) -> NoReturn:
    """Print the verdict for ``argv``, which begins with the program's name; end the process."""
    run_check(argv, _HELP, _judged, expectations=EXPECTATIONS, snapshot=SNAPSHOT)


def _judged(call: Call, now: float) -> Verdict:
    path = call.options.get("--expectations", EXPECTATIONS)
    expectations = load_expectations(path)
    # the role replaces the file if the expectations change
    node = JudgedNode(expectations, os.stat(path).st_mtime, now)
    file = call.options.get("--snapshot", SNAPSHOT)
    try:
        snapshot = load_snapshot(file)
        return judge_node(_with_notes(node, file, snapshot.locks), snapshot)
    except DocumentError as error:
        if not isinstance(error.__cause__, FileNotFoundError):
            raise
        # before the first run a missing snapshot is no fault
        node = _with_notes(node, file, LOCKS)
        verdict = judge_node(node, Snapshot(expectations.node, now, (), {}, {}))
        if verdict.state is State.OK or node.unrecorded:
            return verdict
        raise


def _with_notes(node: JudgedNode, snapshot: str, locks: str) -> JudgedNode:
    """Return the node with the notes of its runs; raise DocumentError for a damaged one."""
    state = os.path.dirname(os.path.abspath(snapshot))
    return node._replace(unrecorded=unrecorded(node.expectations.layers(), state, locks or LOCKS))
