"""Layer ``net``: both directions between this host and its partner in the time slot."""

from __future__ import annotations

import socket
from typing import Generator

from plumbline.measure.probes.interface import Job
from plumbline.measure.slots import pair
from plumbline.measure.trial import Failure, Task, Trial, command_of, tasks_of
from plumbline.measure.unit_context import UnitContext
from plumbline.model.errors import DocumentError, reason_in
from plumbline.model.expectation import Expectation, Partner
from plumbline.model.record import Outcome, Record
from plumbline.model.units import format_duration
from plumbline.observe.command import Clock

ANSWER_LIMIT_S = 20.0
"""Wait for the partner's receiver to start: both timers follow the same slot."""

RETRY_S = 1.0


class PairUnit:
    """Pair of this host and one partner."""

    def __init__(self, entry: Expectation, partner: str) -> None:
        """Raise DocumentError if the partner is not among the expected partners."""
        self._partner = _partner(entry, partner)
        self._pair = pair(entry)
        self._adapter = str(entry.target.get("adapter", ""))
        self.tasks = tasks_of(entry, self._partner)

    def measure(self, context: UnitContext) -> Generator[Record, None, None]:
        """Wait for the partner, then yield one record for each direction."""
        trouble = self._wait(context.clock)
        for task in self.tasks:
            if trouble:
                yield context.recorder.without(task, Failure(Outcome.FAILED, trouble))
                continue
            trial = self._trial(task, context)
            trial.carry_out(context.step)
            if trial.failure and trial.failure.outcome is Outcome.FAILED:
                trial = self._second_trial(task, context)
            yield trial.record(context.recorder)

    def commands(self) -> tuple[tuple[str, ...], ...]:
        """Return the calls of the tools."""
        return tuple(command_of(self._job(task)) for task in self.tasks)

    def _trial(self, task: Task, context: UnitContext) -> Trial:
        return Trial(task, self._job(task), context.runners[task.entry.component], context.clock)

    def _second_trial(self, task: Task, context: UnitContext) -> Trial:
        """Measure again: a receiver may reset a connection while it closes the last one."""
        context.clock.sleep(RETRY_S)
        trial = self._trial(task, context)
        for _ in range(task.entry.spec.repeats):
            trial.repeat()
        return trial

    def _job(self, task: Task) -> Job:
        return Job(
            task.operation,
            task.spec,
            self._partner.address,
            own_address=self._pair["address"],
            port=self._pair["port"],
            adapter=self._adapter,
        )

    def _wait(self, clock: Clock) -> str:
        """Wait for the partner's receiver; return the fault, empty if it answers."""
        deadline = clock.monotonic() + ANSWER_LIMIT_S
        while True:
            trouble = _connect(self._partner.address, self._pair["port"])
            if not trouble or clock.monotonic() >= deadline:
                break
            clock.sleep(RETRY_S)
        return trouble and (
            f"{self._partner.name} ({self._partner.address} port {self._pair['port']}) did not "
            f"answer within {format_duration(ANSWER_LIMIT_S)}: {trouble}; see that its "
            "plumbline-netserver.timer runs and that both clocks are right"
        )


def pair_unit(entry: Expectation, partner: str) -> PairUnit:
    """Return the unit of a host and its partner; raise DocumentError as ``PairUnit`` does."""
    return PairUnit(entry, partner)


def _connect(address: str, port: int) -> str:
    """Try to connect; return the fault, empty on success."""
    try:
        socket.create_connection((address, port), timeout=2.0).close()
    except OSError as error:
        return reason_in(error)
    return ""


def _partner(entry: Expectation, name: str) -> Partner:
    for partner in entry.partners:
        if partner.name == name:
            return partner
    raise DocumentError(
        f"expectations: {entry.layer} {entry.component} does not know its partner {name}; "
        "deploy the role agent again on all hosts"
    )
