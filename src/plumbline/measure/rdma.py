"""Layer ``rdma``: an adapter of this host and its partner of the same rail in the time slot.

The partner's receiving ends (:mod:`plumbline.measure.receiver`) take one client each, so nothing
but perftest itself connects to them: it is started until it gets an answer.
"""

from __future__ import annotations

from typing import Any, Generator

from plumbline.measure.net import ANSWER_LIMIT_S, RETRY_S, PairUnit
from plumbline.measure.port import ERRORS, Port, increases
from plumbline.measure.probes.perftest import NO_END, NO_RECEIVER
from plumbline.measure.trial import Failure, Task, Trial
from plumbline.measure.unit_context import UnitContext
from plumbline.model.command import Files
from plumbline.model.expectation import Expectation
from plumbline.model.record import Flag, Outcome, Record
from plumbline.observe.command import LocalSystem, SystemRunner

COUNTERS = "port_counters"
"""Key of the counters that rose, in the details of a record."""


class AdapterUnit(PairUnit):
    """Pair of an adapter of this host and one partner."""

    def __init__(self, entry: Expectation, partner: str, files: Files) -> None:
        """Raise DocumentError if the partner is not among the expected partners."""
        super().__init__(entry, partner)
        self._negotiated = str(entry.target.get("negotiated", ""))
        self._port = Port(files, self._adapter)

    def measure(self, context: UnitContext) -> Generator[Record, None, None]:
        """Yield one record for each operation; none has a rate while the port is not as it should.

        The port is looked at before each operation, and its counters before and after.  A partner
        that was silent once is not asked again.
        """
        silence = ""
        for task in self.tasks:
            fault = self._port.fault(self._negotiated)
            trouble = f"{task.entry.component}: {fault}" if fault else silence
            if trouble:
                yield context.recorder.without(task, Failure(Outcome.FAILED, trouble))
                continue
            before = self._port.counters()
            trial = self._measured(task, context)
            silence = trial.failure.reason if trial.failure and _silent(trial.failure) else ""
            rose = increases(before, self._port.counters())
            yield _with_counters(trial.record(context.recorder), rose)

    def _measured(self, task: Task, context: UnitContext) -> Trial:
        """Measure; begin again while nobody answers, and once after another failure."""
        deadline, again = context.clock.monotonic() + ANSWER_LIMIT_S, True
        while True:
            trial = self._trial(task, context)
            trial.carry_out(context.step)
            failure = trial.failure
            if failure is None or failure.outcome is not Outcome.FAILED or NO_END in failure.reason:
                return trial
            waits = NO_RECEIVER in failure.reason
            over = context.clock.monotonic() >= deadline if waits else not again
            if over:
                return trial
            again = again and waits
            context.clock.sleep(RETRY_S)


def pair_unit(entry: Expectation, partner: str) -> AdapterUnit:
    """Return the unit of an adapter and its partner; raise DocumentError as ``PairUnit`` does."""
    return AdapterUnit(entry, partner, LocalSystem(SystemRunner()))


def _silent(failure: Failure) -> bool:
    return any(words in failure.reason for words in (NO_RECEIVER, NO_END))


def _with_counters(record: Record, rose: dict[str, int]) -> Record:
    """Return a record with the counters of its port that rose; those of faults are a flag."""
    if not rose:
        return record
    details: dict[str, Any] = {**(record.details or {}), COUNTERS: rose}
    flags = (Flag.LINK_ERRORS,) if any(name in ERRORS for name in rose) else ()
    return record._replace(details=details, flags=(*record.flags, *flags))
