"""Confirmation: which components are measured again, with which peers, and which can wait.

What passive latency suspects is measured once a day at most.  That it was chosen so does not bias
the odds: the suspicion is no evidence, it weighs nothing in them.  The runs that follow are
measurements of another kind and time, judged as all are, and their fluctuation is independent of
that of the counters.  A healthy component that is suspected for months is measured more often than
others; the Bayes factors of its runs are as those of planned ones, and each that is fine speaks
for it.  Only the number of questions grows, by one run a day of a component that is suspected.

Nothing is decided ahead: each moment asks the evidence of that moment.  Once nothing is worth a
word, a component is no longer wanted.  An alarm is confirmed once a day, until it ends.
"""

from __future__ import annotations

from collections import Counter
from enum import Enum, auto
from itertools import chain, islice
from math import inf
from typing import Callable, Iterable, Mapping, NamedTuple, Optional, Sequence

from plumbline.judge.memory import EvidenceSource
from plumbline.judge.phrases import date_of
from plumbline.judge.references import LEAST as PEERED
from plumbline.model.evidence import Evidence
from plumbline.model.expectation import Expectation, Measured
from plumbline.model.record import Scenario
from plumbline.model.units import DAY_S
from plumbline.model.verdict import Reason, Verdict


class Speaks(Enum):
    """Cause for measuring a component again."""

    ODDS = auto()
    ONE_RUN = auto()
    LATENCY = auto()
    ALARM = auto()


class Candidate(NamedTuple):
    """A component that may be slow, what its last runs say together, and how low the last is.

    One with an alarm is measured again as well, for an alarm ends by runs alone.

    ``low`` says whether it is beyond any level of the policy, ``gross`` whether beyond the critical
    one.  ``sentence`` is that of the last verdict; ``suspected`` says that only its latency under
    load speaks against it.  ``obstacle`` says what of its group keeps it from being measured, if
    anything does.
    """

    entry: Expectation
    evidence: Evidence
    gross: bool
    sentence: str
    suspected: bool = False
    obstacle: str = ""
    low: bool = False

    @property
    def speaks(self) -> Speaks:
        """Return the cause for measuring it again."""
        if self.evidence.alarm:
            return Speaks.ALARM
        if self.evidence.in_question and self.low:
            return Speaks.ODDS
        return Speaks.LATENCY if self.suspected else Speaks.ONE_RUN


class Layer(NamedTuple):
    """Components of one layer of a node, their verdicts and their evidence.

    ``suspected`` are components that a console suspects, each since when, in epoch seconds; names
    that are none of a component mean nothing.
    """

    entries: Sequence[Expectation]
    verdict: Callable[[Expectation], Verdict]
    weighing: EvidenceSource
    suspected: Mapping[str, float] = {}


def wanted(layer: Layer) -> list[Candidate]:
    """Return the components that are in question, the likeliest first, those with an alarm last.

    Of a group of which more than half is in question nobody is measured: what all share is no
    single one's matter.  Nor is anybody of one with too few peers: there a busy hour of the host
    looks like a slow device for as long as it lasts, and only other days tell.
    """
    every = [
        candidate for entry in layer.entries if (candidate := _candidate(entry, layer)) is not None
    ]
    candidates = [candidate for candidate in every if not candidate.evidence.alarm]
    alarms = [candidate for candidate in every if candidate.evidence.alarm]
    low = {candidate.entry.component for candidate in every}
    named = [entry for entry in layer.entries if entry.component in layer.suspected.keys() - low]
    suspected = [
        candidate for entry in named if (candidate := _suspected(entry, layer)) is not None
    ]
    # in turn, so that neither a console's suspicions nor alarms take anybody's place
    turns = (_with_obstacles(each, layer) for each in (candidates, suspected, alarms))
    return sorted(
        chain.from_iterable(turns),
        key=lambda candidate: (
            candidate.evidence.alarm,
            candidate.suspected,
            not candidate.low,
            -candidate.evidence.odds,
            candidate.entry.component,
        ),
    )


def _candidate(entry: Expectation, layer: Layer) -> Optional[Candidate]:
    """Return a component that is watched with good reason or has an alarm, None for all others."""
    evidence = layer.weighing.evidence(entry.subject)
    if evidence is None or evidence.shared or not entry.confirm.runs:
        return None
    if evidence.low == 0 and not (evidence.alarm or evidence.in_question):
        # nearly all components
        return None
    verdict = layer.verdict(entry)
    if evidence.alarm:
        alarm = verdict.reason in (Reason.SLOW, Reason.CONTENDED)
        return Candidate(entry, evidence, gross=False, sentence=verdict.sentence) if alarm else None
    percent = _percent(verdict)
    gross = percent is not None and entry.limits.critical.alerts(percent)
    # a good run decides anew, whatever was before it
    good = percent is not None and percent >= 100 * (1 - entry.limits.peer_loss)
    watched = verdict.reason is Reason.WATCHED and (gross or (evidence.in_question and not good))
    # a contended run is no evidence, and does not end the question either
    contended = verdict.reason is Reason.CONTENDED and evidence.in_question
    if not (watched or contended):
        return None
    low = percent is not None and entry.limits.alerts(percent)
    return Candidate(entry, evidence, gross, verdict.sentence, low=low)


def _suspected(entry: Expectation, layer: Layer) -> Optional[Candidate]:
    """Return a component that is suspected for its latency; None where a run would say nothing."""
    evidence = layer.weighing.evidence(entry.subject)
    if not entry.confirm.runs or (evidence and (evidence.alarm or evidence.shared)):
        return None
    verdict = layer.verdict(entry)
    if not (verdict.reason.fine or verdict.reason in (Reason.WATCHED, Reason.CONTENDED)):
        return None
    since = layer.suspected[entry.component]
    nothing = Evidence(0.0, 0.0, False, since, 0, "", None, "")
    sentence = f"suspected since {date_of(since)} by its latency under load"
    return Candidate(entry, evidence or nothing, gross=False, sentence=sentence, suspected=True)


def _with_obstacles(candidates: Sequence[Candidate], layer: Layer) -> list[Candidate]:
    """Return the same, with what of their group keeps them from being compared."""
    members = Counter(entry.group for entry in layer.entries)
    groups = Counter(candidate.entry.group for candidate in candidates)
    return [
        candidate._replace(
            obstacle=_obstacle(members[candidate.entry.group], groups[candidate.entry.group])
        )
        for candidate in candidates
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


CONTROLS = 2
"""Healthy peers in each run: one alone may have a low moment itself."""
TARGETS = 2
"""Suspects in each run: more than the controls would be their own reference."""

_EARLY = 0.9
"""A timer that is late once must not be too early the next time."""


class Place(NamedTuple):
    """The place of a component in the queue: how often it was confirmed, and why it waits.

    ``runs`` are those after the last planned run, and within a day.

    ``obstacle`` is empty where nothing but the bytes is in the way.
    """

    candidate: Candidate
    runs: int
    obstacle: str


class Turn(NamedTuple):
    """One run: the components in question, healthy peers, and how much each may move."""

    targets: tuple[Expectation, ...]
    controls: tuple[Expectation, ...]

    @property
    def chosen(self) -> tuple[Expectation, ...]:
        """Return all that is measured: controls before, between and after their target."""
        return (*self.controls[:1], *self.targets, *self.controls[1:])


class Past(NamedTuple):
    """Confirmations in this layer, the oldest first, and the planned run of each component.

    ``planned_at`` is when the last run began of each component that was no confirmation.
    """

    measured: Sequence[Measured]
    planned_at: Mapping[str, float]


def places(candidates: Iterable[Candidate], past: Past, now: float) -> list[Place]:
    """Return the queue place of each candidate by its own runs, at ``now`` (epoch seconds)."""
    return [_place(candidate, past, now) for candidate in candidates]


def turns(layer: Layer, queue: Sequence[Place], past: Past, now: float) -> list[Turn]:
    """Return the runs of this moment, as many as the bytes last.

    What was saved up is for what the odds speak for: a low run for which they do not has the share
    of one day, or a busy night would leave nothing for the next slow component.  What is suspected
    for its latency alone has half of it, or one that no probe finds would leave nothing either.
    So has an alarm, which may stand for weeks.
    """
    free = [place.candidate for place in queue if not place.obstacle]
    if not free:
        return []
    # what all of a group share makes none of them a bad peer
    in_question = {
        place.candidate.entry.component for place in queue if not place.candidate.obstacle
    }
    terms = free[0].entry.confirm
    budget_bytes = bytes_left(free[0].entry, past.measured, now)
    # half of it waits for those that are low again: one run of many ends no question
    later_bytes = budget_bytes / 2
    chosen_turns: list[Turn] = []
    for speaks, kept in (
        (Speaks.ODDS, 0.0),
        (Speaks.ONE_RUN, terms.most_bytes - terms.daily_bytes),
        (Speaks.LATENCY, terms.most_bytes / 2),
        (Speaks.ALARM, terms.most_bytes / 2),
    ):
        chosen = [candidate.entry for candidate in free if candidate.speaks is speaks]
        for members in _of_one_group(chosen):
            turn = _turn(layer, members, in_question, past)
            most_bytes = budget_bytes - max(kept, later_bytes if chosen_turns else 0.0)
            while turn and _cost(turn, layer) > most_bytes:
                turn = _turn(layer, turn.targets[:-1], in_question, past)
            if turn is None:
                break
            budget_bytes -= _cost(turn, layer)
            chosen_turns.append(turn)
    return chosen_turns


def moved(turn: Turn, run_id: str, now: float, layer: Layer) -> list[Measured]:
    """Return the entries by which a run that begins now is remembered."""
    return [
        Measured(
            run_id,
            now,
            expectation.layer,
            expectation.component,
            bytes_of(expectation, together=_all_together(turn, layer)),
            expectation in turn.controls,
        )
        for expectation in turn.chosen
    ]


def bytes_left(entry: Expectation, measured: Sequence[Measured], now: float) -> float:
    """Return the bytes that confirmation may move now: those saved up, less those moved."""
    terms = entry.confirm
    budget_bytes, before = terms.most_bytes, now
    for run in measured:
        passed_s = max(0.0, run.at - before)
        budget_bytes = (
            min(terms.most_bytes, budget_bytes + terms.daily_bytes * passed_s / DAY_S) - run.bytes
        )
        before = run.at
    passed_s = max(0.0, now - before)
    return min(terms.most_bytes, budget_bytes + terms.daily_bytes * passed_s / DAY_S)


def bytes_of(entry: Expectation, *, together: bool) -> int:
    """Return the bytes that one run of a component moves at most, joint runs included."""
    steps = [key for key in entry.references if together or not _is_together(key)]
    return entry.spec.bytes * entry.spec.repeats * len(steps)


def steps_of(turn: Turn, layer: Layer) -> tuple[Expectation, ...]:
    """Return the steps of a run; joint steps only if all their members are chosen."""
    if _all_together(turn, layer):
        return turn.chosen
    return tuple(
        expectation._replace(
            references={
                key: value for key, value in expectation.references.items() if not _is_together(key)
            }
        )
        for expectation in turn.chosen
    )


def _place(request: Candidate, past: Past, now: float) -> Place:
    entry = request.entry
    since = past.planned_at.get(entry.component, -inf)
    every = [
        run.at for run in past.measured if run.component == entry.component and not run.control
    ]
    # where planned runs are rare, each day has runs of its own
    before = [at for at in every if at > max(since, now - DAY_S)]
    obstacle = request.obstacle or _waits(request, (since, before, every), now)
    return Place(request, len(before), obstacle)


def _waits(
    request: Candidate, measured_at: tuple[float, Sequence[float], Sequence[float]], now: float
) -> str:
    """Return why it waits for its own runs: the planned one, those of a day, or all."""
    since, before, every = measured_at
    terms, last = request.entry.confirm, max([since, *before])
    if now - since > request.entry.limits.stale_after_s:
        return "its last planned run is too old"
    if len(before) >= terms.runs:
        return "all its runs of a day are used"
    if now - last < _EARLY * terms.every_s:
        return f"measured {(now - last) / 60:.0f} min ago"
    if request.suspected and any(now - at < _EARLY * DAY_S for at in every):
        return "confirmed within a day"
    if request.evidence.alarm and any(now - at < _EARLY * DAY_S for at in (since, *every)):
        return "it has the alarm, and was measured within a day"
    return ""


def _of_one_group(free: Sequence[Expectation]) -> list[tuple[Expectation, ...]]:
    """Return the components of each run, the likeliest first."""
    groups: list[tuple[Expectation, ...]] = []
    for entry in free:
        for number, members in enumerate(groups):
            if members[0].group == entry.group and len(members) < TARGETS:
                groups[number] = (*members, entry)
                break
        else:
            groups.append((entry,))
    return groups


def _turn(
    layer: Layer, targets: tuple[Expectation, ...], in_question: Iterable[str], past: Past
) -> Optional[Turn]:
    """Return the run of some components beside healthy peers, None of no component."""
    if not targets:
        return None
    doubtful, group = frozenset(in_question), targets[0].group
    served = {run.component: run.at for run in past.measured if run.control}
    hosts = {expectation.host for expectation in targets}
    peers = [
        expectation
        for expectation in layer.entries
        if expectation.group == group and expectation.component not in doubtful
    ]
    # another server first, for a fault of the targets' own would hide; then whose turn it is
    peers.sort(key=lambda peer: (peer.host in hosts, served.get(peer.component, -inf)))
    healthy = (expectation for expectation in peers if _is_healthy(expectation, layer))
    return Turn(targets, tuple(islice(healthy, CONTROLS)))


def _is_healthy(entry: Expectation, layer: Layer) -> bool:
    evidence = layer.weighing.evidence(entry.subject)
    return not (evidence and evidence.worth_a_word) and layer.verdict(entry).reason.fine


def _cost(turn: Turn, layer: Layer) -> int:
    together = _all_together(turn, layer)
    return sum(bytes_of(expectation, together=together) for expectation in turn.chosen)


def _all_together(turn: Turn, layer: Layer) -> bool:
    """Return whether all that run together in a planned run are chosen."""
    layers = {
        expectation.component
        for expectation in layer.entries
        if any(map(_is_together, expectation.references))
    }
    return bool(layers) and layers <= {expectation.component for expectation in turn.chosen}


def _is_together(key: str) -> bool:
    return key.partition("/")[2] == Scenario.TOGETHER.value
