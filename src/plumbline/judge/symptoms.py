"""Verdicts on the symptoms of a node, by kind of part, and on the age of its report."""

from __future__ import annotations

from typing import Iterable, NamedTuple, Optional, Sequence

from plumbline.judge.phrases import moment
from plumbline.model.ages import CLOCK_STEP_S, age, seconds_since
from plumbline.model.service import SYMPTOMS
from plumbline.model.symptom import (
    KIND_OF,
    Direction,
    Look,
    Report,
    Symptom,
    by_severity,
    quote,
    title,
)
from plumbline.model.units import format_duration
from plumbline.model.verdict import Figure, Reason, State, Verdict, worst

_WITHOUT_REDUNDANCY = ("degraded", "pool")
"""Kinds of symptoms of an array that the next failure may destroy, rebuilding or not."""

_UNIT = "systemctl status plumbline-symptoms.timer"

_COUNTED = (State.CRITICAL, State.WARNING, State.OK)


class JudgedLook(NamedTuple):
    """The report of a node at ``now``, seconds since the epoch.

    It is stale if it is older than ``limit_s`` seconds.
    """

    report: Report
    now: float
    limit_s: float


def judge_kind(judged: JudgedLook, kind: str) -> Verdict:
    """Return the verdict on one of KINDS: the worst severity that raises a suspicion."""
    looks = [look for look in judged.report.looks if look.kind == kind]
    able = [look for look in looks if not look.unavailable]
    absent = _absent(judged, kind)
    if absent:
        return absent
    if not able:
        return _unavailable(judged.report.node, kind, looks)
    return _of_kind(judged, kind, looks)


def judge_looks(judged: JudgedLook) -> Verdict:
    """Return the verdict on whether a node is observed, and by all commands of the site."""
    absent = _absent(judged, "")
    if absent:
        return absent
    node, looks = judged.report.node, judged.report.looks
    able = [look for look in looks if not look.unavailable]
    failed = [look for look in looks if _failed_command(look)]
    looked_at = judged.report.looked_at
    text = f"looked at {age(looked_at, judged.now)}"
    state, reason = State.OK, Reason.FINE
    if not able or failed:
        state, reason = State.UNKNOWN, Reason.NOT_JUDGED
        text = "; ".join(map(_reason_of, failed)) or f"no collector could look; see {_UNIT}"
    names = ", ".join(look.collector for look in able) or "none"
    return Verdict(
        SYMPTOMS,
        title(node),
        state,
        reason,
        f"{node}: {text}",
        evidence=(f"available: {names}", *(_look_line(look) for look in looks if look.unavailable)),
        figures=(
            Figure("collectors", len(able), maximum=len(looks)),
            Figure("age", *seconds_since(looked_at, judged.now)),
        ),
    )


def judge_unread(node: str, kind: str, trouble: str) -> Verdict:
    """Return the verdict without a readable report, with the reason."""
    return _unknown(node, kind, Reason.DAMAGED, trouble)


def state_of(symptom: Symptom) -> State:
    """Return the state of a service with a symptom; a passing symptom is no alarm."""
    if symptom.direction is Direction.RAISES or symptom.kind in _WITHOUT_REDUNDANCY:
        return symptom.severity
    return State.OK


def _absent(judged: JudgedLook, kind: str) -> Optional[Verdict]:
    """Return the verdict on a report that is too old or from the future, else None."""
    report = judged.report
    age_s = judged.now - report.looked_at
    if age_s > judged.limit_s:
        text = stale(report, judged.now, format_duration(judged.limit_s))
        return _unknown(report.node, kind, Reason.STALE, text)
    if age_s < -CLOCK_STEP_S:
        return _unknown(report.node, kind, Reason.AHEAD, ahead(report, judged.now))
    return None


def stale(report: Report, now: float, limit: str) -> str:
    """Return the text on a report that is older than the limit."""
    looked_at, past = moment(report.looked_at), age(report.looked_at, now)
    return f"the last look is stale: {looked_at}, {past} (limit {limit}); see {_UNIT}"


def ahead(report: Report, now: float) -> str:
    """Return the text on a report from the future."""
    looked_at, lead = moment(report.looked_at), age(report.looked_at, now)
    text = f"the last look is dated {looked_at}, {lead} of the clock"
    return f"{text}; set the clock of {report.node} (chronyc tracking)"


def _unavailable(node: str, kind: str, looks: Sequence[Look]) -> Verdict:
    reasons = "; ".join(map(_reason_of, looks)) or "no collector looks at it"
    return _unknown(node, kind, Reason.NOT_JUDGED, f"not available: {reasons}")


def _unknown(node: str, kind: str, reason: Reason, text: str) -> Verdict:
    name = title(node, kind)
    return Verdict(SYMPTOMS, name, State.UNKNOWN, reason, f"{name}: {text}")


def _of_kind(judged: JudgedLook, kind: str, looks: Sequence[Look]) -> Verdict:
    node, name = judged.report.node, title(judged.report.node, kind)
    symptoms = by_state(symptom for look in looks for symptom in look.symptoms)
    state = worst((State.OK, *map(state_of, symptoms)))
    reason = Reason.SYMPTOM if state.alarm else Reason.FINE
    failed = [look for look in looks if _failed_command(look)]
    text = _summary(node, symptoms) if symptoms else f"no symptoms; {_tally(looks)}"
    if failed and not state.alarm:
        state, reason = State.UNKNOWN, Reason.NOT_JUDGED
        text = f"{'; '.join(map(_reason_of, failed))}; {text}"
    return Verdict(
        SYMPTOMS,
        name,
        state,
        reason,
        f"{name}: {text}",
        evidence=(*(_line(node, symptom) for symptom in symptoms), *map(_look_line, looks)),
        figures=tuple(
            Figure(level.name.lower(), sum(symptom.severity is level for symptom in symptoms))
            for level in _COUNTED
        ),
    )


def by_state(symptoms: Iterable[Symptom]) -> tuple[Symptom, ...]:
    """Return symptoms, most severe state first."""
    return tuple(sorted(by_severity(symptoms), key=lambda symptom: -_rank(state_of(symptom))))


def _rank(state: State) -> int:
    return state if state.alarm else 0


def _summary(node: str, symptoms: Sequence[Symptom]) -> str:
    """Return the gravest symptom, and how many more there are."""
    first, more = symptoms[0], len(symptoms) - 1
    alarm = state_of(first).alarm
    text = _placed(node, first) + ("" if alarm else "; no suspicion is raised")
    bad = sum(state_of(symptom).alarm for symptom in symptoms[1:])
    counted = f"{bad} of them a problem" if bad else "none of them a problem"
    return f"{text}; {more} more symptom{'s' if more > 1 else ''}, {counted}" if more else text


def _placed(node: str, symptom: Symptom) -> str:
    quoted = quote(symptom)
    return quoted if symptom.component == node else f"{symptom.component}: {quoted}"


def _line(node: str, symptom: Symptom) -> str:
    lowers = symptom.direction is Direction.LOWERS
    expected = " (lowers the suspicion)" if lowers else ""
    return f"{symptom.severity.name} {_placed(node, symptom)}{expected}"


def _tally(looks: Sequence[Look]) -> str:
    able = [_counted(look) for look in looks if not look.unavailable]
    not_able = [look.collector for look in looks if look.unavailable]
    missing = f"; not available: {', '.join(not_able)}" if not_able else ""
    return f"looked at: {', '.join(able)}{missing}"


def _counted(look: Look) -> str:
    """Return the number of parts that a look has examined; if there are none, why."""
    why = f" ({'; '.join(look.notes)})" if look.notes and not look.examined else ""
    return f"{look.collector} {look.examined}{why}"


def _look_line(look: Look) -> str:
    if look.unavailable:
        return f"{look.collector} not available: {look.unavailable}"
    notes = f"; {'; '.join(look.notes)}" if look.notes else ""
    return f"{look.collector} looked at {look.examined}{notes}"


def _reason_of(look: Look) -> str:
    return f"{look.collector}: {look.unavailable}"


def _failed_command(look: Look) -> bool:
    """Return whether a command of the site gave nothing: somebody has configured it by name."""
    return bool(look.unavailable) and look.collector not in KIND_OF
