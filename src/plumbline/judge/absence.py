"""Findings without a rate: never recorded, too old, hung, broken, failed or skipped."""

from __future__ import annotations

from plumbline.judge.phrases import Finding, moment
from plumbline.model.ages import CLOCK_STEP_S, age
from plumbline.model.layers import layer_of
from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple
from plumbline.model.record import Outcome
from plumbline.model.units import format_duration
from plumbline.model.verdict import Reason, State

if TYPE_CHECKING:
    from typing import Iterable, Iterator, Optional

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


class Last(NamedTuple):
    """The latest record of one operation, with the limits and the time to check it."""

    record: Record
    what: str
    limits: Limits
    now: float


def never(what: str, expectation: Expectation) -> Finding:
    """Return the finding for an operation without any record."""
    node, service = next(iter(expectation.path), "this node"), layer_of(expectation.layer).service
    return Finding(
        State.UNKNOWN,
        Reason.NEVER_MEASURED,
        f"{what} was never recorded on {node}; run systemctl start {service} there",
    )


def absence(last: Last) -> Optional[Finding]:
    """Return the finding on a latest record without a rate, None if it has one."""
    for rule in _CHECKS:
        finding = rule(last)
        if finding:
            return finding
    return None


def hung_run(expectation: Expectation, running: Iterable[Running], now: float) -> Optional[Finding]:
    """Return the finding if a run of this component has begun and does not end."""
    hanging = run_texts(
        _runs(expectation, running), expectation.limits.hung_after_s, expectation.layer, now
    ).hanging
    return Finding(State.CRITICAL, Reason.HANGS, hanging) if hanging else None


def interruption(expectation: Expectation, running: Iterable[Running]) -> str:
    """Return the remark that the last run of a component was interrupted, empty if it was not.

    Earlier results stand until they are stale.
    """
    limit = expectation.limits.hung_after_s
    return run_texts(_runs(expectation, running), limit, expectation.layer, 0.0).interrupted


def _runs(expectation: Expectation, running: Iterable[Running]) -> Iterator[Running]:
    place = expectation.layer, expectation.component
    return (run for run in running if (run.layer, run.component) == place)


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
            interrupted = interrupted or (
                f"; the run that began {moment(run.since)} was interrupted before it ended, see "
                f"journalctl -u {layer_of(layer).service}"
            )
        elif now - run.since > limit_s:
            hanging = hanging or (
                f"hangs: a run has not ended since {moment(run.since)}, "
                f"{age(run.since, now)} (limit {format_duration(limit_s)}); "
                f"see systemctl status {layer_of(layer).service} and the kernel log"
            )
    return RunTexts(hanging, interrupted)


def ahead(last: Last) -> Optional[Finding]:
    """Refuse a record that is dated in the future: its age is unknown."""
    lead = last.record.finished_at - last.now
    if lead <= CLOCK_STEP_S:
        return None
    return Finding(
        State.UNKNOWN,
        Reason.AHEAD,
        f"{last.what} is dated {moment(last.record.finished_at)}, "
        f"{age(last.record.finished_at, last.now)} of the clock; set the clock of "
        f"{last.record.host} (chronyc tracking) and probe again",
    )


def stale(last: Last) -> Optional[Finding]:
    """Refuse a record that is too old to show today's speed."""
    record, limit = last.record, last.limits.stale_after_s
    if last.now - record.finished_at <= limit:
        return None
    return Finding(
        State.UNKNOWN,
        Reason.STALE,
        f"{last.what} is stale: last run {moment(record.finished_at)}, "
        f"{age(record.finished_at, last.now)} (limit {format_duration(limit)}); see systemctl "
        f"status {layer_of(record.layer).timer} on {record.host}",
    )


def ended(last: Last) -> Optional[Finding]:
    """Return the finding on a run that ended without a rate.

    Hung: a tool did not come back from the component's own file or device. Broken: the component
    gives I/O errors or is gone, in the words of the kernel or a tool.  All else is UNKNOWN: the
    fault may lie before the component.
    """
    if last.record.outcome is Outcome.OK:
        return None
    reason = Reason(last.record.outcome.value)
    state = State.CRITICAL if reason in _ALARMS else State.UNKNOWN
    words = _WORDS[reason].format(when=moment(last.record.started_at))
    return Finding(state, reason, f"{last.what} {words}: {last.record.reason}")


RULES = {Reason.AHEAD: ahead, Reason.STALE: stale, **dict.fromkeys(_WORDS, ended)}
"""In the order of evaluation, before any rule on the rate."""

_CHECKS = tuple(dict.fromkeys(RULES.values()))
"""Each check once: most records have a rate and pass all of them."""
