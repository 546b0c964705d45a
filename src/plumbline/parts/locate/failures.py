"""Failures, and the servers, mounts or parts that explain them.

A node reports of a target that its server does not answer, or that its own mount is dead.  One
alarm on the faulty host replaces those of all targets behind it.

A failed measurement is never a slow one.  It votes in lanes of its own: a faulty part makes all
measurements that cross it fail, and any with a rate, even a slow one, clears the parts it crosses.
"""

from __future__ import annotations

from typing import Iterable, Iterator, Mapping, NamedTuple

from plumbline.judge.memory import Memory
from plumbline.judge.phrases import moment
from plumbline.model.expectation import Expectation
from plumbline.model.layers import LAYERS
from plumbline.model.names import several
from plumbline.model.record import Outcome, Record
from plumbline.model.verdict import Reason
from plumbline.parts.locate.observation import Measurable, Observation, PlannedMeasurement, Vote
from plumbline.parts.locate.sentences import Parts, joined, listed, rows, titled
from plumbline.parts.locate.suspects import AmbiguitySet, Located, locate

Measured = tuple[str, Expectation, Record]


class FailedHost(NamedTuple):
    """A host at fault, the reason, and the sentence on it."""

    host: str
    reason: Reason
    text: str


def failed_hosts(
    nodes: Iterable[tuple[str, Iterable[Expectation], Memory]], now: float
) -> Iterator[FailedHost]:
    """Yield each host that keeps targets from being measured, by the latest records of the nodes.

    A server that another node has reached since is not at fault.

    Raises:
        DocumentError: a latest record is damaged.
        StoreError: the history cannot be read.
    """
    latest = tuple(_latest(nodes, now))
    by_server: dict[str, list[Measured]] = {}
    by_node: dict[str, list[Measured]] = {}
    for failure in latest:
        node, entry, record = failure
        if record.outcome is Outcome.UNREACHABLE and not _answered(latest, failure):
            by_server.setdefault(entry.host, []).append(failure)
        elif record.outcome is Outcome.NO_MOUNT:
            by_node.setdefault(node, []).append(failure)
    for host, failures in by_server.items():
        observers = several(tuple(dict.fromkeys(node for node, _, _ in failures)))
        text = f"server {host} does not answer {observers}: {_names(failures)}"
        yield FailedHost(host, Reason.UNREACHABLE, text)
    for node, failures in by_node.items():
        yield FailedHost(node, Reason.NO_MOUNT, f"{failures[0][2].reason}: {_names(failures)}")


def _latest(
    nodes: Iterable[tuple[str, Iterable[Expectation], Memory]], now: float
) -> Iterator[Measured]:
    """Yield the latest record of each operation on a target that is not stale."""
    for node, entries, memory in nodes:
        for entry in entries:
            if LAYERS[entry.layer].per_target:
                for series in memory.of(entry.layer, entry.component):
                    if now - series.latest.finished_at <= entry.limits.stale_after_s:
                        yield node, entry, series.latest


def _answered(latest: Iterable[Measured], failure: Measured) -> bool:
    """Return whether a server has given a rate after it was missed."""
    return any(
        entry.host == failure[1].host
        and record.rate is not None
        and record.started_at > failure[2].started_at
        for _, entry, record in latest
    )


def _names(failures: Iterable[Measured]) -> str:
    measured = tuple(failures)
    names = tuple(dict.fromkeys(entry.component for _, entry, _ in measured))
    since = min(record.started_at for _, _, record in measured)
    return f"{several(names)} not measured since {moment(since)}"


FAILURES = "failures "
"""Prefix of a lane for failures: whether the measurements that cross it fail."""

_FAILED = (Outcome.FAILED, Outcome.BROKEN, Outcome.UNREACHABLE)

_ALL = 100.0
_ERROR = 0.01


def failing(measurable: Measurable) -> Measurable:
    """Return a measurement as one that works or fails, whatever its rate."""
    lanes = tuple(
        tuple(FAILURES + lane for lane in crossed) for _, crossed, _ in measurable.crossings()
    )
    return measurable._replace(expected=_ALL, lanes=lanes, flows=())


def fails(measurable: Measurable) -> bool:
    """Return whether a measurement is one that works or fails."""
    return bool(measurable.lanes) and measurable.lanes[0][0].startswith(FAILURES)


def locate_failures(measured: Iterable[PlannedMeasurement], records: Iterable[Record]) -> Located:
    """Return the explanations of failures among the latest records of each measurement."""
    latest: dict[tuple[object, ...], Record] = {
        (record.layer, record.component, record.operation, record.scenario, record.partner): record
        for record in sorted(records, key=lambda record: record.started_at)
    }
    return locate(list(_observations(measured, latest)))


def failure_sentence(located: Located, ambiguity: AmbiguitySet, parts: Parts) -> str:
    """Return e.g. ``Failing: disk oss2-disk1 (2 of 2 failed measurements cross it): ...``."""
    names = [joined(alternative, parts) for alternative in ambiguity.alternatives]
    failed = [observation for observation in located.observations if observation.vote is Vote.BAD]
    them = "it" if len(ambiguity.suspects) == 1 else "them"
    reasons = dict.fromkeys(located.observations[index].reason for index in ambiguity.explains)
    which = names[0] if len(names) == 1 else f"one of {listed(names, ' or ')}"
    cross = "crosses" if len(failed) == 1 else "cross"
    noun = f"failed measurement{'s' * (len(failed) != 1)}"
    return (
        f"Failing: {which} ({len(ambiguity.explains)} of {len(failed)} {noun} {cross} {them}): "
        f"{listed(list(reasons), '; ')}"
    )


def failure_rows(located: Located, ambiguity: AmbiguitySet) -> Iterator[tuple[str, ...]]:
    """Yield failed measurements, and those that cross a suspect and worked, as ``rows`` does."""
    for vote, name, _, _, _, crossed, reason in rows(located, ambiguity):
        yield "failed" if vote == Vote.BAD.value else "worked", name, "", "", "", crossed, reason


def partial_sentences(located: Located, parts: Parts) -> Iterator[str]:
    """Yield a sentence on each failure across parts that other measurements cross without trouble.

    A disk with a few bad places reads one file well and fails when all of it is read.
    """
    for index in located.unexplained:
        observation = located.observations[index]
        yield (
            f"Failing in part: {titled(observation.of.component, parts)} "
            f"({observation.of.name} failed, other "
            f"measurements that cross it did not): {observation.reason}"
        )


def _observations(
    measured: Iterable[PlannedMeasurement], latest: Mapping[tuple[object, ...], Record]
) -> Iterator[Observation]:
    for placed in measured:
        record = latest.get(_key(placed))
        if record is None or record.outcome not in (Outcome.OK, *_FAILED):
            continue
        failed = record.outcome in _FAILED
        yield Observation(
            failing(placed.of),
            Vote.BAD if failed else Vote.GOOD,
            _ALL / 2 if failed else _ALL,
            _ERROR,
            record.started_at,
            0.0,
            record.reason,
        )


def _key(placed: PlannedMeasurement) -> tuple[object, ...]:
    partner = placed.partner.name if placed.partner else None
    expectation = placed.expectation
    return expectation.layer, expectation.component, placed.operation, placed.scenario, partner
