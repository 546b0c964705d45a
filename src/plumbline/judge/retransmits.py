"""Segments that a host retransmits with most of its partners: a bad cable, or a full buffer."""

from __future__ import annotations

from typing import NamedTuple, Optional, Sequence

from plumbline.judge.finding import Finding, Ruling
from plumbline.judge.recurring import Recurrence, in_moments, lower_median, recurrence
from plumbline.model.limits import Limits
from plumbline.model.reason import Reason
from plumbline.model.record import segments_retransmitted
from plumbline.model.state import State


class Tests(NamedTuple):
    """One operation of a host, in words, with all partners with which it gave a rate."""

    what: str
    rulings: Sequence[Ruling]

    @property
    def share(self) -> Optional[float]:
        """Return the lower median over the partners of retransmitted segments / segments."""
        shares = [
            segments_retransmitted(one.record.retransmits, one.record.bytes)
            for one in self.rulings
            if one.record
        ]
        known = [share for share in shares if share is not None]
        return lower_median(known) if known else None


def in_last_run(tests: Sequence[Tests], limits: Limits) -> Optional[Finding]:
    """Return the finding on the first operation with too many in its last run."""
    for of in tests:
        share = of.share
        if share is not None and share > limits.retransmit_share:
            text = f"{_words(of.what, share, limits)}, bad cable?"
            return Finding(State.WARNING, Reason.RETRANSMITS, text)
    return None


def over_runs(tests: Sequence[Tests], limits: Limits) -> Optional[Finding]:
    """Return the same by what the last runs say together: one run with too many is watched."""
    watched = None
    for of in tests:
        share, found = of.share, _recurrence(of, limits)
        if share is None or (share <= limits.retransmit_share and not found.alarm):
            continue
        text = f"{_words(of.what, share, limits)}, {found.words}; bad cable?"
        if found.alarm:
            return Finding(State.WARNING, Reason.RETRANSMITS, text)
        watched = watched or Finding(State.OK, Reason.WATCHED, f"watching: {text}")
    return watched


def _recurrence(tests: Tests, limits: Limits) -> Recurrence:
    shares = [
        [
            (sample.started_at, sample.retransmitted)
            for sample in one.measured.samples
            if sample.retransmitted is not None
        ]
        for one in tests.rulings
        if one.measured
    ]
    return recurrence(tuple(in_moments(shares, limits.retransmit_share)), limits.alarm_odds)


def _words(what: str, share: float, limits: Limits) -> str:
    return (
        f"{100 * share:.2f} % of the segments of {what} retransmitted (limit "
        f"{100 * limits.retransmit_share:g} %)"
    )
