"""What a service says: one slow run is watched, and the evidence of several raises the alarm."""

from __future__ import annotations

from typing import Optional, Sequence

from plumbline.judge.contention import job_words
from plumbline.judge.finding import Finding, Ruling
from plumbline.judge.floor import below_floor, below_goal
from plumbline.judge.measured import Measured
from plumbline.judge.phrases import (
    figures,
    figures_and_ceiling,
    more,
    over_runs,
    so_far,
    weighed,
)
from plumbline.judge.profile import course_over_runs
from plumbline.model.evidence import Evidence
from plumbline.model.limits import Limits
from plumbline.model.reason import Reason
from plumbline.model.state import State
from plumbline.model.verdict import Verdict


def by_evidence(rulings: Sequence[Ruling], known: Optional[Evidence]) -> tuple[Ruling, ...]:
    """Return the rulings on the last run as a service takes them.

    ``known`` is what the last runs say together, None where they cannot be compared.
    """
    alarming = _alarming(rulings, known) if known and known.alarm else None
    return tuple(
        ruling._replace(finding=_finding(ruling, known, alarm=ruling is alarming))
        for ruling in rulings
    )


def with_runs(found: Verdict, known: Optional[Evidence]) -> Verdict:
    """Return the verdict of a service with what its last runs say together."""
    ratio = known.ratio if known else None
    return found._replace(evidence=(*weighed(known), *found.evidence), ratio_runs=ratio)


def severity(ratio: Optional[float], limits: Limits) -> State:
    """Return the state of an alarm by what is left of the reference, a fraction."""
    gross = ratio is not None and limits.critical.alerts(100 * ratio)
    return State.CRITICAL if gross else State.WARNING


def _alarming(rulings: Sequence[Ruling], known: Evidence) -> Optional[Ruling]:
    """Return the ruling on what has lost most, or on another where that has no figure today."""
    rated = [one for one in rulings if one.measured and one.finding.reason.measured]
    named = [one for one in rated if one.measured and one.measured.what == known.what]
    return next(iter([*named, *rated]), None)


def _finding(ruling: Ruling, known: Optional[Evidence], *, alarm: bool) -> Finding:
    of, finding = ruling.measured, ruling.finding
    if of is None or finding.reason is Reason.KNOWN_STATE:
        return finding
    if alarm and known:
        # another operation stands for the one that has lost most where that has no figure today
        lost = "" if of.what == known.what else f"{known.what} "
        text = f"{figures_and_ceiling(of)}: {lost}{over_runs(known)}{more(known)}"
        return Finding(severity(known.ratio, of.limits), Reason.SLOW, text)
    if known and known.alarm and known.what != of.what and finding.reason.of_one_run:
        # the operation that has lost most has the alarm
        return _watched(of, finding, known)
    if finding.reason.of_one_run and _is_low(of):
        other = below_goal(of) or below_floor(of) or course_over_runs(of)
        return other or _watched(of, finding, known)
    if finding.reason is Reason.PROFILE or finding.reason.fine:
        course = course_over_runs(of)
        if course:
            return course
    if known and finding.reason is Reason.NO_REFERENCE:
        return Finding(State.OK, Reason.FINE, figures(of))
    if known and finding.reason.fine and known.worth_a_word and known.what == of.what:
        return _watched(of, finding, known)
    return finding


def _is_low(measured: Measured) -> bool:
    """Return whether a rate is below a level: too fast, as some levels have it, is no loss."""
    return measured.low(measured.percent) or measured.low(measured.provisional_percent)


def _watched(measured: Measured, finding: Finding, known: Optional[Evidence]) -> Finding:
    """Return that a slow run is no alarm yet; it is none either where its group is as slow.

    Where others may have used the component, and nobody can tell how much, their job is named.
    """
    text = f"watching: {finding.text}{job_words(measured.record)}; {so_far(known)}"
    return Finding(State.OK, Reason.WATCHED, text)
