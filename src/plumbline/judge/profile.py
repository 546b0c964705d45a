"""The course of a rate beside that of the baseline: two runs of one mean may differ in it."""

from __future__ import annotations

from typing import Optional, Sequence

from plumbline.errors import DocumentError
from plumbline.judge.finding import Finding, Rule
from plumbline.judge.measured import Measured, contended
from plumbline.judge.phrases import figures
from plumbline.judge.recurring import recurrence
from plumbline.model.reason import Reason
from plumbline.model.record import Record
from plumbline.model.state import State
from plumbline.model.validation import numbers
from plumbline.profile.distance import Distance


def course_distance(measured: Measured) -> Optional[Distance]:
    """Return how far a run's profile is from its baseline's; None where either has none.

    Raises:
        DocumentError: the record's profile is damaged.
    """
    form = (measured.record.details or {}).get("form")
    if measured.baseline is None or not measured.baseline.profile or form is None:
        return None
    from plumbline.profile.distance import distance

    return distance(_sound(form, measured.record), measured.baseline.profile)


def other_course(measured: Measured) -> Optional[Finding]:
    """See whether the rate went otherwise than in the baseline's runs, whatever its mean."""
    if measured.contended:
        return None
    found = course_distance(measured)
    if found is None or not found.beyond(measured.limits.profile_distance):
        return None
    text = (
        f"{figures(measured)}: {found.sentence}, {100 * found.share:.0f} % apart "
        f"(limit {100 * measured.limits.profile_distance:g} %)"
    )
    return Finding(State.WARNING, Reason.PROFILE, text)


def course_over_runs(measured: Measured) -> Optional[Finding]:
    """Return the same by what the last runs say together: one that went otherwise is watched."""
    last = other_course(measured)
    limit = measured.limits.profile_distance
    shown = [
        (sample.started_at, sample.apart > limit)
        for sample in reversed(measured.samples)
        if sample.apart is not None and not contended(sample.coverage, measured.limits)
    ]
    found = recurrence(shown, measured.limits.alarm_odds)
    if found.alarm:
        text = last.text if last else f"{figures(measured)}: {course_words(measured)}"
        return Finding(State.WARNING, Reason.PROFILE, f"{text}; {found.words}")
    if last is None:
        return None
    return Finding(State.OK, Reason.WATCHED, f"watching: {last.text}; {found.words}")


def course_words(measured: Measured) -> str:
    """Return how far the profile is from the baseline's, and the limit; empty without profiles."""
    found = course_distance(measured)
    if found is None:
        return ""
    return (
        f"profile {100 * found.share:.1f} % from the baseline's, limit "
        f"{100 * measured.limits.profile_distance:g} %, its scatter makes up to "
        f"{100 * found.noise:.1f} %"
    )


def _explain(measured: Measured) -> str:
    return course_words(measured) or "no profile to compare, or none of its baseline"


PROFILE = Rule(Reason.PROFILE, other_course, _explain)


def _sound(form: Sequence[float], record: Record) -> Sequence[float]:
    try:
        for point in form:
            numbers(form=point)
        if min(form) < 0 or not sum(form) > 0:
            raise TypeError("form has no rates")
    except (TypeError, ValueError) as error:
        raise DocumentError(
            f"the profile of {record.component} {record.operation.value} is damaged ({error}); "
            "run the probe again to rewrite it"
        ) from error
    return form
