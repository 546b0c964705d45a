"""Nothing recorded, too old, hung, broken, failed, skipped: no rate, no judgement of speed."""

from __future__ import annotations

from plumbline.judge.finding import Finding
from plumbline.judge.phrases import moment
from plumbline.layers import layer_of
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

_WORDS = {
    Reason.HUNG: "hung on {when}",
    Reason.BROKEN: "failed on {when}, it is broken",
    Reason.UNREACHABLE: "was not measured",
    Reason.NO_MOUNT: "was not measured",
    Reason.UNANSWERED: "was not measured",
    Reason.FAILED: "failed",
    Reason.SKIPPED: "was skipped",
}
_ALARMS = (Reason.HUNG, Reason.BROKEN)

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
        f"{what} was never recorded on this node; run systemctl start {layer_of(layer).service}",
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
        if here and not run.interrupted and now - run.since > limit:
            return Finding(
                State.CRITICAL,
                Reason.HANGS,
                f"hangs: a run has not ended since {moment(run.since)}, "
                f"{format_duration(now - run.since)} ago (limit {format_duration(limit)}); "
                f"see systemctl status {layer_of(run.layer).service} and the kernel log",
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
                f"journalctl -u {layer_of(run.layer).service}"
            )
    return ""


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
        f"(limit {format_duration(limit)}); see systemctl status {layer_of(record.layer).timer} "
        f"on {record.host}",
    )


def ended(last: Last) -> Optional[Finding]:
    """Say how it ended without a rate.

    Hung is a tool that did not come back from the component's own file or device; broken a
    component that gives I/O errors or is gone, in the words of the kernel or a tool.  Of the rest
    nobody knows, or something before the component is at fault: UNKNOWN.
    """
    if last.record.outcome is Outcome.OK:
        return None
    reason = Reason(last.record.outcome.value)
    state = State.CRITICAL if reason in _ALARMS else State.UNKNOWN
    words = _WORDS[reason].format(when=moment(last.record.started_at))
    return Finding(state, reason, f"{last.what} {words}: {last.record.reason}")


RULES = {Reason.AHEAD: ahead, Reason.STALE: stale, **dict.fromkeys(_WORDS, ended)}
"""In the order in which they are asked, before any rule on the rate."""
