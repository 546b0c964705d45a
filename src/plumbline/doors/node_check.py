"""check_node: arguments, and the verdict on the probes and the certificates of this node.

All certificates of NRPE are made on one day and end on one day, when every check of the site would
fail at once.  Hence each node tells it in time.
"""

from __future__ import annotations

import os

from plumbline.doors.runtime import run_check
from plumbline.judge.node import JudgedNode, judge_node
from plumbline.model.errors import DocumentError
from plumbline.model.named_tuple import TYPE_CHECKING
from plumbline.model.series import Snapshot
from plumbline.model.units import DAY_S
from plumbline.model.verdict import Reason, State, worst
from plumbline.observe.certificate import ends_at
from plumbline.store.files import EXPECTATIONS, LOCKS, SNAPSHOT, read_bytes
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
  --certificates FOLDER those of NRPE, if there are any; default {certificates}
  --renew-days DAYS     WARNING so long before one ends; default {days:g}
  -V, --version         show the version
  -h, --help            show this help

Exit codes: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.  It reads these files, the note of
a run that could not be recorded, and of a run that has not ended whether its process
is there (/proc)."""

CERTIFICATES = "/etc/plumbline-tls"
"""Folder in which the role nrpe puts key and certificate."""

_RENEW_DAYS = 60.0
"""As ``nrpe_renew_days``: a deployment renews a certificate from then on."""

_LAST_DAYS = 7.0
_MOST_DAYS = 36500.0
_MOST_BYTES = 1 << 20
_REMEDIES = {
    "cert.pem": "deploy this node with site.yml to renew it",
    "ca.pem": "move ca.key and ca.pem of the authority aside, and deploy all hosts with site.yml",
}


def run(argv: Sequence[str]) -> NoReturn:
    """Print the verdict for ``argv``, which begins with the program's name; end the process."""
    run_check(
        argv,
        _HELP,
        _judged,
        expectations=EXPECTATIONS,
        snapshot=SNAPSHOT,
        certificates=CERTIFICATES,
        days=_RENEW_DAYS,
    )


def _judged(call: Call, now: float) -> Verdict:
    folder = call.options.get("--certificates", CERTIFICATES)
    days = call.number("--renew-days", "days", _RENEW_DAYS, _MOST_DAYS)
    verdict = _probes(call, now)
    for name in _REMEDIES:
        verdict = _with_certificate(verdict, f"{folder}/{name}", days, now)
    return verdict


def _with_certificate(verdict: Verdict, path: str, days: float, now: float) -> Verdict:
    """Return the verdict with the end of a certificate if it comes soon."""
    remedy = _REMEDIES[os.path.basename(path)]
    try:
        data = read_bytes(path, "certificate", remedy, _MOST_BYTES)
        left = (ends_at(data.decode("ascii", "replace")) - now) / DAY_S
    except DocumentError as error:
        # a node without NRPE has none, and a user who may not read it is not asked over NRPE
        if isinstance(error.__cause__, (FileNotFoundError, PermissionError)):
            return verdict
        return _worse(verdict, State.WARNING, str(error))
    except ValueError as error:
        return _worse(verdict, State.WARNING, f"certificate {path}: {error}; {remedy}")
    if left > days:
        return verdict
    state = State.WARNING if left > _LAST_DAYS else State.CRITICAL
    text = f"ends in {left:.0f} d" if left >= 0 else "has ended"
    lost = "all checks over NRPE fail then"
    return _worse(verdict, state, f"certificate {path} {text}, {lost}; {remedy}")


def _worse(verdict: Verdict, state: State, text: str) -> Verdict:
    if worst((verdict.state, state)) is verdict.state:
        return verdict._replace(sentence=f"{verdict.sentence}; {text}")
    sentence = f"{text}; {verdict.sentence}"
    return verdict._replace(state=state, reason=Reason.SYMPTOM, sentence=sentence)


def _probes(call: Call, now: float) -> Verdict:
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
