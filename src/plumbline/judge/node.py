"""Judge whether the probes of a node run: silent probes are one alarm for the node.

The service of a component is UNKNOWN without a measurement and notifies nobody; this one does.
Faults with an alarm of another service are left to it: broken targets, hanging runs, and servers
and mounts that the group names.
"""

from __future__ import annotations

from math import isnan
from typing import Iterator, NamedTuple, Optional, Sequence

from plumbline.judge.absence import absence, never, unfinished
from plumbline.judge.memory import Memory
from plumbline.judge.operations import label, operations
from plumbline.judge.phrases import Finding
from plumbline.model.ages import CLOCK_STEP_S, age, seconds_since
from plumbline.model.errors import DocumentError
from plumbline.model.expectation import Expectation
from plumbline.model.layers import LAYERS
from plumbline.model.names import several
from plumbline.model.series import Series, column
from plumbline.model.service import NODE
from plumbline.model.verdict import Figure, Reason, State, Verdict, worst

_ALARM_OF_ITS_OWN = frozenset({Reason.HUNG, Reason.BROKEN})
_ALARM_OF_THE_GROUP = frozenset({Reason.UNREACHABLE, Reason.NO_MOUNT})


class JudgedNode(NamedTuple):
    """Node with the components that it measures, since when, and the time of judging.

    Times are in epoch seconds.
    """

    name: str
    expected: Sequence[Expectation]
    since: float
    now: float

    def layers(self) -> dict[str, list[Expectation]]:
        """Return the components by layer."""
        layers: dict[str, list[Expectation]] = {}
        for expectation in self.expected:
            layers.setdefault(expectation.layer, []).append(expectation)
        return layers


class _Operation(NamedTuple):
    """One operation of a component; ``finding`` is why it has no rate, None if it has one.

    ``ended_at`` is the end of its latest run, 0 without any; of a host, ``series`` has one for each
    of its partners.
    """

    component: str
    what: str
    finding: Optional[Finding]
    ended_at: float
    series: Sequence[Series] = ()

    @property
    def rated_at(self) -> float:
        """Return the start of the last run with a rate, 0 without any."""
        return max(map(_rated_at, self.series), default=0.0)

    @property
    def text(self) -> str:
        """Return why it has no rate, empty if it has one."""
        return f"{self.component} {self.finding.text}" if self.finding else ""


def judge_node(node: JudgedNode, memory: Memory) -> Verdict:
    """Return the verdict on the probes of a node; a damaged document gives UNKNOWN."""
    try:
        layers = [judge_layer(name, node, memory) for name in node.layers()]
    except DocumentError as error:
        text = f"{node.name}: {damage(error)}"
        return Verdict(NODE, node.name, State.UNKNOWN, Reason.DAMAGED, text)
    state = worst(layer.state for layer in layers)
    deciding = [layer for layer in layers if layer.state is state]
    text = "; ".join(layer.sentence for layer in deciding)
    return Verdict(
        NODE,
        node.name,
        state,
        _reason(deciding),
        f"{node.name}: {text or 'nothing is expected to be measured here'}",
        evidence=tuple(line for layer in layers for line in (layer.sentence, *layer.evidence)),
        figures=tuple(figure for layer in layers for figure in layer.figures),
    )


def damage(error: DocumentError) -> str:
    """Return the words on the probes of a node whose records are damaged."""
    return f"probes cannot be judged: {error}"


def judge_layer(name: str, node: JudgedNode, memory: Memory) -> Verdict:
    """Return the verdict on the probes of a layer; its evidence are the operations without a rate.

    Raises:
        DocumentError: a record is damaged.
    """
    members = node.layers()[name]
    measured_members = [(member, _operations(member, memory, node.now)) for member in members]
    checked = [operation for _, operations in measured_members for operation in operations]
    measured = len({operation.component for operation in checked if operation.finding is None})
    ended_at = max(operation.ended_at for operation in checked)
    hang, _ = unfinished(members, memory.running, node.now)
    unalarmed = list(_without_alarm(measured_members))
    silent = [operation for operation in unalarmed if operation.finding]
    if hang:
        finding = Finding(State.OK, Reason.HANGS, f"{name} {hang.text}")
    elif silent and len(silent) == len(checked):
        finding = _all_silent(name, silent, node, members)
    else:
        alarmed = len(
            {operation.component for operation in checked}
            - {operation.component for operation in unalarmed}
        )
        text = f"{name} {measured} of {len(members)} measured"
        text += f", last {age(ended_at, node.now)}" if ended_at else ""
        text += f", {alarmed} with an alarm elsewhere" if alarmed else ""
        finding = _some_silent(
            text, [operation for operation in silent if _lasts(operation, node, members)]
        )
    last = seconds_since(ended_at, node.now) if ended_at else (None, "s")
    return Verdict(
        NODE,
        name,
        finding.state,
        finding.reason,
        finding.text,
        evidence=tuple(f"  {operation.text}" for operation in silent),
        figures=(
            Figure(f"{name}_measured", measured, maximum=len(members)),
            Figure(f"{name}_age", *last),
        ),
    )


def turns(name: str, node: JudgedNode, memory: Memory) -> set[float]:
    """Return the times after which the verdict on a layer may change, unless something is measured.

    A record is no longer ahead of the clock, or becomes stale; an operation has been without a rate
    for too long.

    Raises:
        DocumentError: a record is damaged.
    """
    members = node.layers()[name]
    limit_s = _limit(members)
    times = {node.since + limit_s}
    for member in members:
        ends = [series.latest.finished_at for series in memory.of(member.layer, member.component)]
        stale = [end + member.limits.stale_after_s for end in ends]
        times |= {*stale, *(end - CLOCK_STEP_S for end in ends)}
        for operation in _operations(member, memory, node.now) if stale else ():
            rated_at = operation.rated_at
            # an operation with a rate is late as soon as it is stale
            if rated_at and (operation.finding or rated_at + limit_s > min(stale)):
                times.add(rated_at + limit_s)
    return times


def _operations(entry: Expectation, memory: Memory, now: float) -> list[_Operation]:
    """Return the operations of a component; a host has a rate if one of its pairs has."""
    all_series = memory.of(entry.layer, entry.component)
    judged = [
        _operation(
            entry,
            label(*step),
            [
                series
                for series in all_series
                if (series.latest.operation, series.latest.scenario) == step
            ],
            now,
        )
        for step in operations(entry, all_series)
    ]
    return judged or [_Operation(entry.component, "it", never("it", entry), 0.0)]


def _operation(
    entry: Expectation, what: str, candidates: Sequence[Series], now: float
) -> _Operation:
    if not candidates:
        return _Operation(entry.component, what, never(what, entry), 0.0)
    ordered = sorted(candidates, key=lambda series: -series.latest.finished_at)
    absences = [absence(series.latest, entry.limits, now) for series in ordered]
    finding = None if None in absences else absences[0]
    return _Operation(entry.component, what, finding, ordered[0].latest.finished_at, candidates)


def _rated_at(series: Series) -> float:
    runs = zip(column(series.samples, "started_at"), column(series.samples, "rate"))
    return max((at for at, rate in runs if not isnan(rate)), default=0.0)


def _without_alarm(
    measured_members: Sequence[tuple[Expectation, Sequence[_Operation]]],
) -> Iterator[_Operation]:
    """Yield the operations that no other service alarms about.

    An operation that is skipped while another gives a rate follows the policy, such as no writes to
    a full target.
    """
    sizes: dict[str, int] = {}
    for member, _ in measured_members:
        sizes[member.group] = sizes.get(member.group, 0) + 1
    for member, operations_of_member in measured_members:
        grouped = sizes[member.group] > 1 and LAYERS[member.layer].grouped
        rated = any(operation.finding is None for operation in operations_of_member)
        for operation in operations_of_member:
            reason = operation.finding and operation.finding.reason
            alarmed = reason in _ALARM_OF_ITS_OWN or (grouped and reason in _ALARM_OF_THE_GROUP)
            if not alarmed and not (rated and reason is Reason.SKIPPED):
                yield operation


def _all_silent(
    name: str, silent: Sequence[_Operation], node: JudgedNode, members: Sequence[Expectation]
) -> Finding:
    newest = max(silent, key=lambda silence: silence.ended_at)
    reason = newest.finding.reason if newest.finding else Reason.NOT_JUDGED
    if reason is Reason.NEVER_MEASURED and node.now - node.since <= _limit(members):
        deployed = age(node.since, node.now)
        text = f"{name} waits for its first run, expectations were deployed {deployed}"
        return Finding(State.OK, reason, text)
    text = f"{name} is silent, none of {len(members)} measured: {newest.text}"
    return Finding(State.UNKNOWN, reason, text)


def _some_silent(text: str, late: Sequence[_Operation]) -> Finding:
    if not late or not late[0].finding:
        return Finding(State.OK, Reason.FINE, text)
    names = several(tuple(dict.fromkeys(operation.component for operation in late)))
    text += f"; without a rate for too long: {names}, first {late[0].text}"
    return Finding(State.WARNING, late[0].finding.reason, text)


def _lasts(operation: _Operation, node: JudgedNode, members: Sequence[Expectation]) -> bool:
    """Return whether an operation has had more than its time to give a rate."""
    return node.now - (operation.rated_at or node.since) > _limit(members)


def _limit(members: Sequence[Expectation]) -> float:
    return max(member.limits.stale_after_s for member in members)


def _reason(deciding: Sequence[Verdict]) -> Reason:
    """Return the first reason that is not plainly fine."""
    reasons = [layer.reason for layer in deciding] or [Reason.NOT_JUDGED]
    return next((reason for reason in reasons if reason is not Reason.FINE), Reason.FINE)
