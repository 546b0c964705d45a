"""Nothing recorded, too old, hung, failed, skipped: no rate, no judgement of speed."""

from __future__ import annotations

from plumbline.judge.finding import Finding
from plumbline.judge.phrases import moment
from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple
from plumbline.model.reason import Reason
from plumbline.model.record import Outcome
from plumbline.model.state import State
from plumbline.units import format_duration

if TYPE_CHECKING:
    from typing import Iterable, Optional

    from plumbline.model.expectation import Expectation
    from plumbline.model.limits import Limits
    from plumbline.model.record import Record
    from plumbline.model.series import Running

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
        Reason.NEVER_MEASURED,
        f"{what} was never recorded on this node; run systemctl start plumbline-{layer}.service",
    )


def absence(last: Last) -> Optional[Finding]:
    """Return why the latest record gives no rate to judge, None when it does."""
    for rule in RULES.values():
        found = rule(last)
        if found:
            return found
    return None


def hung_run(expectation: Expectation, running: Iterable[Running], now: float) -> Optional[Finding]:
    """Return the finding when a run of this component has begun and does not end."""
    limit = expectation.limits.hung_after_s
    for run in running:
        here = (run.layer, run.component) == (expectation.layer, expectation.component)
        if here and now - run.since > limit:
            return Finding(
                State.CRITICAL,
                Reason.HANGS,
                f"hangs: a run has not ended since {moment(run.since)}, "
                f"{format_duration(now - run.since)} ago (limit {format_duration(limit)}); "
                f"see systemctl status plumbline-{run.layer}.service and the kernel log",
            )
    return None


def ahead(last: Last) -> Optional[Finding]:
    """Refuse what is dated in the future: its age cannot be told."""
    lead = last.record.finished_at - last.now
    if lead <= CLOCK_STEP_S:
        return None
    return Finding(
        State.UNKNOWN,
        Reason.AHEAD,
        f"{last.what} is dated {moment(last.record.finished_at)}, {format_duration(lead)} ahead "
        f"of the clock; set the clock of {last.record.host} (chronyc tracking) and probe again",
    )


def stale(last: Last) -> Optional[Finding]:
    """Refuse what is too old to say anything about today."""
    record, limit = last.record, last.limits.stale_after_s
    age = last.now - record.finished_at
    if age <= limit:
        return None
    return Finding(
        State.UNKNOWN,
        Reason.STALE,
        f"{last.what} is stale: last run {moment(record.finished_at)}, {format_duration(age)} ago "
        f"(limit {format_duration(limit)}); see systemctl status plumbline-{record.layer}.timer "
        f"on {record.host}",
    )


def hung(last: Last) -> Optional[Finding]:
    """Say that the tool was stuck in the kernel."""
    if last.record.outcome is not Outcome.HUNG:
        return None
    text = f"{last.what} hung on {moment(last.record.started_at)}: {last.record.reason}"
    return Finding(State.CRITICAL, Reason.HUNG, text)


def failed(last: Last) -> Optional[Finding]:
    """Say that the tool failed, which says nothing about speed."""
    if last.record.outcome is not Outcome.FAILED:
        return None
    return Finding(State.UNKNOWN, Reason.FAILED, f"{last.what} failed: {last.record.reason}")


def skipped(last: Last) -> Optional[Finding]:
    """Say why the component must not or could not be measured."""
    if last.record.outcome is not Outcome.SKIPPED:
        return None
    text = f"{last.what} was skipped: {last.record.reason}"
    return Finding(State.UNKNOWN, Reason.SKIPPED, text)


RULES = {
    Reason.AHEAD: ahead,
    Reason.STALE: stale,
    Reason.HUNG: hung,
    Reason.FAILED: failed,
    Reason.SKIPPED: skipped,
}
"""In the order in which they are asked, before any rule on the rate."""
