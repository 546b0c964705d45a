"""Which components are in question: what may be slow by its runs, or by its latency under load.

What passive latency suspects is measured once a day at most.  That it was chosen so does not bias
the odds: the suspicion is no evidence, it weighs nothing in them.  The runs that follow are
measurements of another kind and time, judged as all are, and their fluctuation is independent of
that of the counters.  A healthy component that is suspected for months is measured more often than
others; the Bayes factors of its runs are as those of planned ones, and each that is fine speaks
for it.  Only the number of questions grows, by one run a day of a component that is suspected.
"""

from __future__ import annotations

from collections import Counter
from enum import Enum
from itertools import chain
from typing import Callable, Mapping, NamedTuple, Optional, Sequence

from plumbline.judge.peers import LEAST as PEERED
from plumbline.judge.phrases import date_of
from plumbline.model.evidence import Evidence
from plumbline.model.expectation import Expectation
from plumbline.model.memory import Knowing
from plumbline.model.reason import Reason
from plumbline.model.verdict import Verdict


class Speaks(Enum):
    """What speaks for measuring a component again."""

    ODDS = 1
    ONE_RUN = 2
    LATENCY = 3
    ALARM = 4


class Wanted(NamedTuple):
    """A component that may be slow, what its last runs say together, and whether the last is gross.

    One with an alarm is measured again as well, for an alarm ends by runs alone.

    ``sentence`` is that of the last verdict; ``suspected`` says that only its latency under load
    speaks against it.  ``obstacle`` says what of its group keeps it from being measured, if
    anything does.
    """

    entry: Expectation
    known: Evidence
    gross: bool
    sentence: str
    suspected: bool = False
    obstacle: str = ""

    @property
    def speaks(self) -> Speaks:
        """Return what speaks for measuring it again."""
        if self.known.alarm:
            return Speaks.ALARM
        if self.known.worth_a_word:
            return Speaks.ODDS
        return Speaks.LATENCY if self.suspected else Speaks.ONE_RUN


class Layer(NamedTuple):
    """What a node knows of one layer: its components, their verdicts and their evidence.

    ``suspected`` are components that a console suspects, each since when, in epoch seconds; names
    that are none of a component mean nothing.
    """

    entries: Sequence[Expectation]
    verdict: Callable[[Expectation], Verdict]
    known: Knowing
    suspected: Mapping[str, float] = {}


def wanted(layer: Layer) -> list[Wanted]:
    """Return the components that are in question, the likeliest first, those with an alarm last.

    Of a group of which more than half is in question nobody is measured: what all share is no
    single one's matter.  Nor is anybody of one with too few peers: there a busy hour of the host
    looks like a slow device for as long as it lasts, and only other days tell.
    """
    every = [one for entry in layer.entries if (one := _wanted(entry, layer)) is not None]
    found = [one for one in every if not one.known.alarm]
    alarms = [one for one in every if one.known.alarm]
    low = {one.entry.component for one in every}
    named = [entry for entry in layer.entries if entry.component in layer.suspected.keys() - low]
    suspected = [one for entry in named if (one := _suspected(entry, layer)) is not None]
    # in turn, so that neither a console's suspicions nor alarms take anybody's place
    turns = (_beside_peers(each, layer) for each in (found, suspected, alarms))
    return sorted(
        chain.from_iterable(turns),
        key=lambda found: (
            found.known.alarm,
            found.suspected,
            -found.known.odds,
            found.entry.component,
        ),
    )


def _wanted(entry: Expectation, layer: Layer) -> Optional[Wanted]:
    """Return a component that is watched with good reason or has an alarm, None for all others."""
    known = layer.known.evidence(entry.subject)
    if known is None or known.shared or not entry.confirm.runs:
        return None
    verdict = layer.verdict(entry)
    if known.alarm:
        alarm = verdict.reason in (Reason.SLOW, Reason.CONTENDED)
        return Wanted(entry, known, gross=False, sentence=verdict.sentence) if alarm else None
    percent = _percent(verdict)
    gross = percent is not None and entry.limits.critical.alerts(percent)
    watched = verdict.reason is Reason.WATCHED and (known.worth_a_word or gross)
    # a contended run is no evidence, and does not end the question either
    contended = verdict.reason is Reason.CONTENDED and known.worth_a_word
    if not (watched or contended):
        return None
    return Wanted(entry, known, gross, verdict.sentence)


def _suspected(entry: Expectation, layer: Layer) -> Optional[Wanted]:
    """Return a component that is suspected for its latency; None where a run would say nothing."""
    known = layer.known.evidence(entry.subject)
    if not entry.confirm.runs or (known and (known.alarm or known.shared)):
        return None
    verdict = layer.verdict(entry)
    if not (verdict.reason.fine or verdict.reason in (Reason.WATCHED, Reason.CONTENDED)):
        return None
    since = layer.suspected[entry.component]
    nothing = Evidence(0.0, 0.0, False, since, 0, "", None, "")
    sentence = f"suspected since {date_of(since)} by its latency under load"
    return Wanted(entry, known or nothing, gross=False, sentence=sentence, suspected=True)


def _beside_peers(found: Sequence[Wanted], layer: Layer) -> list[Wanted]:
    """Return the same, with what of their group keeps them from being compared."""
    members = Counter(entry.group for entry in layer.entries)
    groups = Counter(one.entry.group for one in found)
    return [
        one._replace(obstacle=_obstacle(members[one.entry.group], groups[one.entry.group]))
        for one in found
    ]


def _obstacle(members: int, in_question: int) -> str:
    if members < PEERED:
        return f"a group of {members}, fewer than {PEERED}, cannot tell a slow one from a busy hour"
    if members < 2 * in_question:
        return f"{in_question} of {members} of its group are in question: a loss that all share"
    return ""


def _percent(verdict: Verdict) -> Optional[float]:
    ratio = verdict.ratio_peers if verdict.ratio_baseline is None else verdict.ratio_baseline
    return None if ratio is None else 100 * ratio
