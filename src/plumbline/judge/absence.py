"""Rule 1: nothing recorded, too old, hung, broken, failed, skipped: no rate to judge."""

from __future__ import annotations

from plumbline.judge.finding import Finding
from plumbline.judge.phrases import moment
from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple
from plumbline.model.record import Outcome
from plumbline.model.state import State
from plumbline.units import format_duration

if TYPE_CHECKING:
    from typing import Iterable, Optional

    from plumbline.model.expectation import Expectation, Limits
    from plumbline.model.record import Record
    from plumbline.model.series import Running

RULE = 1

_WORDS = {
    Outcome.HUNG: "hung on {when}",
    Outcome.BROKEN: "failed on {when}, it is broken",
    Outcome.FAILED: "failed",
    Outcome.SKIPPED: "was skipped",
    Outcome.UNREACHABLE: "was not measured",
    Outcome.NO_MOUNT: "was not measured",
    Outcome.UNANSWERED: "was not measured",
}
_ALARMS = (Outcome.HUNG, Outcome.BROKEN)

CLOCK_STEP_S = 60.0
"""A record may be this far ahead of the clock: steps of a time service are smaller."""


class Last(NamedTuple):
    """The latest record of one operation, with what it takes to tell whether it is of use."""

    record: Record
    what: str
    limits: Limits
    now: float


def never(what: str, layer: str) -> Finding:
    """Return the finding for an operation without any record."""
    return Finding(
        State.UNKNOWN,
        RULE,
        f"{what} was never recorded on this node; run systemctl start plumbline-{layer}.service",
    )


def absence(last: Last) -> Optional[Finding]:
    """Return why the latest record gives no rate to judge, None when it does."""
    for rule in RULES:
        found = rule(last)
        if found:
            return found
    return None


def hung_run(expectation: Expectation, running: Iterable[Running], now: float) -> Optional[Finding]:
    """Return the finding when a run of this component has begun and does not end."""
    limit = expectation.limits.hung_after_s
    for run in running:
        here = (run.layer, run.component) == (expectation.layer, expectation.component)
        if here and not run.interrupted and now - run.since > limit:
            return Finding(
                State.CRITICAL,
                RULE,
                f"hangs: a run has not ended since {moment(run.since)}, "
                f"{format_duration(now - run.since)} ago (limit {format_duration(limit)}); "
                f"see systemctl status plumbline-{run.layer}.service and the kernel log",
            )
    return None


def interruption(expectation: Expectation, running: Iterable[Running]) -> str:
    """Return the remark that the last run of a component was interrupted, empty when it was not.

    What it should have measured was not measured: what was known before stands until it is stale.
    """
    for run in running:
        here = (run.layer, run.component) == (expectation.layer, expectation.component)
        if here and run.interrupted:
            return (
                f"; the run that began {moment(run.since)} was interrupted before it ended, see "
                f"journalctl -u plumbline-{run.layer}.service"
            )
    return ""


def ahead(last: Last) -> Optional[Finding]:
    """Rule 1: dated in the future, so that its age cannot be told."""
    lead = last.record.finished_at - last.now
    if lead <= CLOCK_STEP_S:
        return None
    return Finding(
        State.UNKNOWN,
        RULE,
        f"{last.what} is dated {moment(last.record.finished_at)}, {format_duration(lead)} ahead "
        f"of the clock; set the clock of {last.record.host} (chronyc tracking) and probe again",
    )


def stale(last: Last) -> Optional[Finding]:
    """Rule 1: too old to say anything about today."""
    record, limit = last.record, last.limits.stale_after_s
    age = last.now - record.finished_at
    if age <= limit:
        return None
    return Finding(
        State.UNKNOWN,
        RULE,
        f"{last.what} is stale: last run {moment(record.finished_at)}, {format_duration(age)} ago "
        f"(limit {format_duration(limit)}); see systemctl status plumbline-{record.layer}.timer "
        f"on {record.host}",
    )


def ended(last: Last) -> Optional[Finding]:
    """Rule 1: it ended without a rate.

    Hung is a tool that did not come back from the component's own file or device; broken a
    component that gives I/O errors or is gone, in the words of the kernel or a tool.  Of the rest
    nobody knows, or something before the component is at fault: UNKNOWN.
    """
    outcome, reason = last.record.outcome, last.record.reason
    if outcome is Outcome.OK:
        return None
    state = State.CRITICAL if outcome in _ALARMS else State.UNKNOWN
    words = _WORDS[outcome].format(when=moment(last.record.started_at))
    return Finding(state, RULE, f"{last.what} {words}: {reason}", outcome=outcome)


RULES = (ahead, stale, ended)
