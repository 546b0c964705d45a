"""Findings without a rate: never recorded, too old, hung, broken, failed or skipped."""

from __future__ import annotations

from typing import Iterable, NamedTuple, Optional, Sequence

from plumbline.judge.operations import label
from plumbline.judge.phrases import Finding, moment
from plumbline.model.ages import CLOCK_STEP_S, age
from plumbline.model.expectation import Expectation
from plumbline.model.layers import layer_of
from plumbline.model.limits import Limits
from plumbline.model.record import Outcome, Record
from plumbline.model.series import Running
from plumbline.model.units import format_duration
from plumbline.model.verdict import Reason, State

WITHOUT_RATE = {
    Reason.HUNG: "hung on {when}",
    Reason.BROKEN: "failed on {when}, it is broken",
    Reason.UNREACHABLE: "was not measured",
    Reason.NO_MOUNT: "was not measured",
    Reason.UNANSWERED: "was not measured",
    Reason.FAILED: "failed",
    Reason.SKIPPED: "was skipped",
}
"""Words for each reason of a run that ended without a rate."""
_ALARMS = (Reason.HUNG, Reason.BROKEN)


def never(what: str, expectation: Expectation) -> Finding:
    """Return the finding for an operation without any record."""
    node, service = next(iter(expectation.path), "this node"), layer_of(expectation.layer).service
    return Finding(
        State.UNKNOWN,
        Reason.NEVER_MEASURED,
        f"{what} was never recorded on {node}; run systemctl start {service} there",
    )


def absence(record: Record, limits: Limits, now: float) -> Optional[Finding]:
    """Return the finding on a latest record without a rate, None if it has one."""
    what = label(record.operation, record.scenario)
    return _ahead(what, record, now) or _stale(what, record, limits, now) or _ended(what, record)


def unfinished(
    entries: Iterable[Expectation], running: Sequence[Running], now: float
) -> tuple[Optional[Finding], str]:
    """Return the finding on a run of some components that does not end, and a remark.

    The remark is that the last run was interrupted, empty if it was not: earlier results stand
    until they are stale.
    """
    hanging = interrupted = ""
    for entry in entries:
        own = [run for run in running if (run.layer, run.component) == entry.subject[:2]]
        texts = run_texts(own, entry.limits.hung_after_s, entry.layer, now)
        hanging, interrupted = hanging or texts.hanging, interrupted or texts.interrupted
    return Finding(State.CRITICAL, Reason.HANGS, hanging) if hanging else None, interrupted


class RunTexts(NamedTuple):
    """Texts on a run that has not ended, each empty if there is nothing to report.

    ``hanging`` replaces the verdict, ``interrupted`` follows it.
    """

    hanging: str
    interrupted: str


def run_texts(running: Iterable[Running], limit_s: float, layer: str, now: float) -> RunTexts:
    """Return the texts on unfinished runs of one component at ``now``, the first of each kind."""
    hanging = interrupted = ""
    for run in running:
        if run.interrupted:
            interrupted = interrupted or interruption(run, layer)
        elif now - run.since > limit_s:
            hanging = hanging or hang(run, limit_s, layer, now)
    return RunTexts(hanging, interrupted)


def interruption(run: Running, layer: str) -> str:
    """Return the remark on a run that was interrupted."""
    return (
        f"; the run that began {moment(run.since)} was interrupted before it ended, see "
        f"journalctl -u {layer_of(layer).service}"
    )


def hang(run: Running, limit_s: float, layer: str, now: float) -> str:
    """Return the words for a run that takes longer than ``limit_s``."""
    return (
        f"hangs: a run has not ended since {moment(run.since)}, "
        f"{age(run.since, now)} (limit {format_duration(limit_s)}); "
        f"see systemctl status {layer_of(layer).service} and the kernel log"
    )


def _ahead(what: str, record: Record, now: float) -> Optional[Finding]:
    """Refuse a record that is dated in the future: its age is unknown."""
    if record.finished_at - now <= CLOCK_STEP_S:
        return None
    return Finding(
        State.UNKNOWN,
        Reason.AHEAD,
        f"{what} is dated {moment(record.finished_at)}, {age(record.finished_at, now)} of the "
        f"clock; set the clock of {record.host} (chronyc tracking) and probe again",
    )


def _stale(what: str, record: Record, limits: Limits, now: float) -> Optional[Finding]:
    """Refuse a record that is too old to show today's speed."""
    if now - record.finished_at <= limits.stale_after_s:
        return None
    return Finding(
        State.UNKNOWN,
        Reason.STALE,
        f"{what} is stale: last run {moment(record.finished_at)}, "
        f"{age(record.finished_at, now)} (limit {format_duration(limits.stale_after_s)}); see "
        f"systemctl status {layer_of(record.layer).timer} on {record.host}",
    )


def _ended(what: str, record: Record) -> Optional[Finding]:
    """Return the finding on a run that ended without a rate.

    Hung: a tool did not come back from the component's own file or device. Broken: the component
    gives I/O errors or is gone, in the words of the kernel or a tool.  All else is UNKNOWN: the
    fault may lie before the component.
    """
    if record.outcome is Outcome.OK:
        return None
    reason = Reason(record.outcome.value)
    state = State.CRITICAL if reason in _ALARMS else State.UNKNOWN
    words = WITHOUT_RATE[reason].format(when=moment(record.started_at))
    return Finding(state, reason, f"{what} {words}: {record.reason}")
