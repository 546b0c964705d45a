"""Confirmation: which components are measured again, with which peers, and which can wait.

A component suspected for its passive latency is measured once a day at most.  This selection does
not bias the odds: the suspicion has no weight in them.  The further runs are measurements of
another kind and time, judged like all others, and their fluctuation is independent of that of the
counters.  A healthy component that is suspected for months is measured more often than others; its
runs have the same Bayes factors as planned ones, and each good run clears it.  The cost is one run
a day of a suspected component.

Nothing is decided ahead: each moment uses the evidence of that moment.  A component whose evidence
is not worth a word any more is not measured again.  An alarm is confirmed once a day, until it
ends.
"""

from __future__ import annotations

from collections import Counter
from enum import Enum, auto
from itertools import chain, islice
from math import inf
from typing import Callable, Iterable, Mapping, NamedTuple, Optional, Sequence

from plumbline.judge.kinds import MIN_SIZE
from plumbline.judge.memory import EvidenceSource
from plumbline.judge.phrases import date_of
from plumbline.model.evidence import Evidence
from plumbline.model.expectation import Expectation, Measured
from plumbline.model.record import Scenario
from plumbline.model.units import DAY_S
from plumbline.model.verdict import Reason, Verdict


class Cause(Enum):
    """Cause for measuring a component again."""

    ODDS = auto()
    ONE_RUN = auto()
    LATENCY = auto()
    ALARM = auto()


class Candidate(NamedTuple):
    """A component that may be slow, the evidence of its last runs, and how low the last is.

    A component with an alarm is measured again as well, for only runs end an alarm.

    ``low`` is whether the last run is beyond any level of the policy, ``gross`` whether beyond the
    critical one.  ``sentence`` is that of the last verdict; ``suspected`` is whether only its
    latency under load incriminates it.  ``obstacle`` is what keeps its group from being measured,
    empty if nothing does.  ``few`` is whether its group has too few members to show a busy hour.
    """

    entry: Expectation
    evidence: Evidence
    gross: bool
    sentence: str
    suspected: bool = False
    obstacle: str = ""
    low: bool = False
    few: bool = False

    @property
    def cause(self) -> Cause:
        """Return the cause for measuring it again."""
        if self.evidence.alarm:
            return Cause.ALARM
        if self.evidence.in_question and self.low:
            return Cause.ODDS
        return Cause.LATENCY if self.suspected else Cause.ONE_RUN


class Layer(NamedTuple):
    """Components of one layer of a node, their verdicts and their evidence.

    ``suspected`` are components that a console suspects, each with the start in epoch seconds;
    unknown names have no effect.
    """

    entries: Sequence[Expectation]
    verdict: Callable[[Expectation], Verdict]
    weighing: EvidenceSource
    suspected: Mapping[str, float] = {}


def find_candidates(layer: Layer) -> list[Candidate]:
    """Return the components in question, the likeliest first, those with an alarm last.

    If more than half of a group is in question, nobody is measured: a shared loss is no single
    component's fault.  With too few peers a busy hour of the host looks like a slow device as long
    as it lasts: the runs are spread over hours.
    """
    all_candidates = [
        candidate for entry in layer.entries if (candidate := _candidate(entry, layer)) is not None
    ]
    candidates = [candidate for candidate in all_candidates if not candidate.evidence.alarm]
    alarms = [candidate for candidate in all_candidates if candidate.evidence.alarm]
    seen = {candidate.entry.component for candidate in all_candidates}
    rest = [entry for entry in layer.entries if entry.component in layer.suspected.keys() - seen]
    suspected = [candidate for entry in rest if (candidate := _suspected(entry, layer)) is not None]
    # in turn, so that neither a console's suspicions nor alarms displace a candidate
    queues = (_with_obstacles(queue, layer) for queue in (candidates, suspected, alarms))
    return sorted(
        chain.from_iterable(queues),
        key=lambda candidate: (
            candidate.evidence.alarm,
            candidate.suspected,
            not candidate.low,
            -candidate.evidence.odds,
            candidate.entry.component,
        ),
    )


def _candidate(entry: Expectation, layer: Layer) -> Optional[Candidate]:
    """Return a component that is watched with good reason or has an alarm, else None."""
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
    # a good run decides anew, regardless of earlier ones
    good = percent is not None and percent >= 100 * (1 - entry.limits.peer_loss)
    watched = verdict.reason in (Reason.WATCHED, Reason.SLOW) and (
        gross or (evidence.in_question and not good)
    )
    # a contended run is no evidence, and does not end the question either
    contended = verdict.reason is Reason.CONTENDED and evidence.in_question
    if not (watched or contended):
        return None
    low = percent is not None and entry.limits.alerts(percent)
    return Candidate(entry, evidence, gross, verdict.sentence, low=low)


def _suspected(entry: Expectation, layer: Layer) -> Optional[Candidate]:
    """Return a component suspected for its latency; None if a run would show nothing."""
    evidence = layer.weighing.evidence(entry.subject)
    if not entry.confirm.runs or (evidence and (evidence.alarm or evidence.shared)):
        return None
    verdict = layer.verdict(entry)
    if not (verdict.reason.fine or verdict.reason in (Reason.WATCHED, Reason.CONTENDED)):
        return None
    since = layer.suspected[entry.component]
    no_evidence = Evidence(0.0, 0.0, False, since, 0, "", None, "")
    sentence = f"suspected since {date_of(since)} by its latency under load"
    return Candidate(entry, evidence or no_evidence, gross=False, sentence=sentence, suspected=True)


def _with_obstacles(candidates: Sequence[Candidate], layer: Layer) -> list[Candidate]:
    """Return the same, with the obstacle in the group that prevents a comparison."""
    members = Counter(entry.group for entry in layer.entries)
    groups = Counter(candidate.entry.group for candidate in candidates)
    return [
        candidate._replace(
            obstacle=_obstacle(members[candidate.entry.group], groups[candidate.entry.group]),
            few=members[candidate.entry.group] < MIN_SIZE,
        )
        for candidate in candidates
    ]


def _obstacle(size: int, in_question: int) -> str:
    if in_question > 1 and size < 2 * in_question:
        return f"{in_question} of {size} of its group are in question: a loss that all share"
    return ""


def _percent(verdict: Verdict) -> Optional[float]:
    ratio = verdict.ratio_peers if verdict.ratio_baseline is None else verdict.ratio_baseline
    return None if ratio is None else 100 * ratio


CONTROLS = 2
"""Healthy peers in each run: a single one may have a low moment itself."""
TARGETS = 2
"""Suspects in each run: more than the controls would be their own reference."""

_HOURS_OF_FEW = 3
"""Intervals between the runs of a component with too few peers, so that a busy hour passes."""
_EARLY = 0.9
"""Share of the interval: a timer that was late once must not be too early the next time."""


class QueuePlace(NamedTuple):
    """The place of a component in the queue: the number of its confirmations, and why it waits.

    ``runs`` are those after the last planned run, and within a day.

    ``obstacle`` is empty if only the bytes are in the way.
    """

    candidate: Candidate
    runs: int
    obstacle: str


class Turn(NamedTuple):
    """One run: the components in question, and healthy peers.

    ``together`` is whether all members of a planned joint run are chosen.
    """

    targets: tuple[Expectation, ...]
    controls: tuple[Expectation, ...]
    together: bool = False

    @property
    def chosen(self) -> tuple[Expectation, ...]:
        """Return all components of the run: controls before, between and after their target."""
        return (*self.controls[:1], *self.targets, *self.controls[1:])

    @property
    def steps(self) -> tuple[Expectation, ...]:
        """Return the same with their joint steps only if the run is a joint one."""
        if self.together:
            return self.chosen
        return tuple(map(_alone, self.chosen))

    def entries(self, run_id: str, now: float) -> list[Measured]:
        """Return the entries that record this run if it begins now."""
        controls = {entry.component for entry in self.controls}
        return [
            Measured(
                run_id,
                now,
                entry.layer,
                entry.component,
                _bytes_of(entry),
                entry.component in controls,
            )
            for entry in self.steps
        ]

    @property
    def most_bytes(self) -> int:
        """Return the most bytes that the run moves."""
        return sum(map(_bytes_of, self.steps))


class PastRuns(NamedTuple):
    """Confirmations in this layer, the oldest first, and the planned run of each component.

    ``planned_at`` is the start of each component's last run that was no confirmation.
    """

    measured: Sequence[Measured]
    planned_at: Mapping[str, float]


def places(candidates: Iterable[Candidate], past: PastRuns, now: float) -> list[QueuePlace]:
    """Return the queue place of each candidate by its own runs, at ``now`` (epoch seconds)."""
    return [_queue_place(candidate, past, now) for candidate in candidates]


def turns(layer: Layer, queue: Sequence[QueuePlace], past: PastRuns, now: float) -> list[Turn]:
    """Return the confirmation runs that are due and fit the saved bytes.

    The saved bytes are for components with odds against them.  A low run without such odds has the
    share of one day, or a busy night would leave nothing for the next slow component.  A suspicion
    from latency alone has half of the saved bytes, or one that no probe confirms would use them up.
    An alarm, which may stand for weeks, has half as well.
    """
    free = [place.candidate for place in queue if not place.obstacle]
    if not free:
        return []
    # a loss that a whole group shares makes none of them a bad peer
    in_question = {
        place.candidate.entry.component for place in queue if not place.candidate.obstacle
    }
    terms = free[0].entry.confirm
    budget_bytes = remaining_bytes(free[0].entry, past.measured, now)
    # half of it is kept for components that are low again: one run among many settles nothing
    later_bytes = budget_bytes / 2
    chosen_turns: list[Turn] = []
    for cause, reserve in (
        (Cause.ODDS, 0.0),
        (Cause.ONE_RUN, terms.most_bytes - terms.daily_bytes),
        (Cause.LATENCY, terms.most_bytes / 2),
        (Cause.ALARM, terms.most_bytes / 2),
    ):
        chosen = [candidate.entry for candidate in free if candidate.cause is cause]
        for members in _targets_by_group(chosen):
            turn = _turn(layer, members, in_question, past)
            most_bytes = budget_bytes - max(reserve, later_bytes if chosen_turns else 0.0)
            while turn and turn.most_bytes > most_bytes:
                turn = _turn(layer, turn.targets[:-1], in_question, past)
            if turn is None:
                break
            budget_bytes -= turn.most_bytes
            chosen_turns.append(turn)
    return chosen_turns


def remaining_bytes(entry: Expectation, measured: Sequence[Measured], now: float) -> float:
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


def _queue_place(candidate: Candidate, past: PastRuns, now: float) -> QueuePlace:
    entry = candidate.entry
    since = past.planned_at.get(entry.component, -inf)
    confirmed_at = [
        run.at for run in past.measured if run.component == entry.component and not run.control
    ]
    # if planned runs are rare, each day has runs of its own
    recent = [at for at in confirmed_at if at > max(since, now - DAY_S)]
    obstacle = candidate.obstacle or _reason_to_wait(candidate, since, recent, confirmed_at, now)
    return QueuePlace(candidate, len(recent), obstacle)


def _reason_to_wait(
    candidate: Candidate,
    since: float,
    recent: Sequence[float],
    confirmed_at: Sequence[float],
    now: float,
) -> str:
    """Return the reason to wait: the planned run, the limit of a day, or the last run."""
    terms, last = candidate.entry.confirm, max([since, *recent])
    if now - since > candidate.entry.limits.stale_after_s:
        return "its last planned run is too old"
    if len(recent) >= terms.runs:
        return "all its runs of a day are used"
    if now - last < _EARLY * terms.every_s * (_HOURS_OF_FEW if candidate.few else 1):
        return f"measured {(now - last) / 60:.0f} min ago"
    if candidate.suspected and any(now - at < _EARLY * DAY_S for at in confirmed_at):
        return "confirmed within a day"
    if candidate.evidence.alarm and any(now - at < _EARLY * DAY_S for at in (since, *confirmed_at)):
        return "it has the alarm, and was measured within a day"
    return ""


def _targets_by_group(free: Sequence[Expectation]) -> list[tuple[Expectation, ...]]:
    """Return the targets of each run, the likeliest first."""
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
    layer: Layer, targets: tuple[Expectation, ...], in_question: Iterable[str], past: PastRuns
) -> Optional[Turn]:
    """Return the run of some components with healthy peers, None without a component."""
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
    # another server first, as the targets' own server may be at fault; then the longest unused
    peers.sort(key=lambda peer: (peer.host in hosts, served.get(peer.component, -inf)))
    healthy = (expectation for expectation in peers if _is_healthy(expectation, layer))
    turn = Turn(targets, tuple(islice(healthy, CONTROLS)))
    return turn._replace(together=_all_together(turn.chosen, layer))


def _is_healthy(entry: Expectation, layer: Layer) -> bool:
    evidence = layer.weighing.evidence(entry.subject)
    return not (evidence and evidence.reportable) and layer.verdict(entry).reason.fine


def _all_together(chosen: Sequence[Expectation], layer: Layer) -> bool:
    """Return whether all members of a planned joint run are chosen."""
    names = {entry.component for entry in chosen}
    return any(map(_runs_jointly, chosen)) and all(
        entry.component in names for entry in layer.entries if _runs_jointly(entry)
    )


def _alone(entry: Expectation) -> Expectation:
    single = {key: value for key, value in entry.references.items() if not _is_joint(key)}
    return entry._replace(references=single)


def _bytes_of(step: Expectation) -> int:
    return step.spec.bytes * step.spec.repeats * len([*step.runs()])


def _runs_jointly(entry: Expectation) -> bool:
    return any(map(_is_joint, entry.references))


def _is_joint(key: str) -> bool:
    return key.endswith(f"/{Scenario.TOGETHER.value}")
