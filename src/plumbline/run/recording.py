"""Turn what came of a trial into the record that is kept."""

from __future__ import annotations

from statistics import median, median_low
from typing import Any, Mapping, NamedTuple, Optional, Sequence, Union
from uuid import uuid4

from plumbline.model.measurement import Measurement
from plumbline.model.record import Outcome, Record, Tool
from plumbline.run.clock import Clock
from plumbline.run.trial import Failure, Task, Trial
from plumbline.targets.interface import TargetState
from plumbline.targets.unnamed import unnamed

NO_STATE = TargetState(fill=None, flags=(), versions={})
"""Of what has no file system above it, or could not be asked."""


class Conditions(NamedTuple):
    """Under what a trial was made; ``coverage`` is a fraction, None where it is not known."""

    state: TargetState = NO_STATE
    coverage: Optional[float] = None


UNCONDITIONED = Conditions()


class TaskResult(NamedTuple):
    """What came of one task of a run that carries out several at once, and when that was.

    Times are seconds since the epoch; ``details`` is kept in the record as it is.
    """

    came: Union[Measurement, Failure]
    tool: Optional[Tool]
    started_at: float
    finished_at: float
    details: Optional[Mapping[str, Any]] = None


class Recorder:
    """Writes the records of one run of one host."""

    def __init__(
        self, run_id: str, host: str, clock: Clock, known: Optional[frozenset[str]] = None
    ) -> None:
        """Take the names that the topology has for targets, None where they are not known."""
        self._known = known
        self.run_id = run_id
        self.host = host
        self._clock = clock

    def of_trial(self, trial: Trial, conditions: Conditions = UNCONDITIONED) -> Record:
        """Return the record of a trial: the median of its repeats, or why there is none."""
        values = self._values(trial.task, conditions)
        values.update(started_at=trial.started_at, finished_at=trial.finished_at, tool=trial.tool)
        if trial.failure is not None:
            values.update(trial.failure._asdict())
        else:
            values.update(_result(trial.measurements, conditions))
        return Record(**values)

    def of_run(
        self, task: Task, taken: TaskResult, conditions: Conditions = UNCONDITIONED
    ) -> Record:
        """Return the record of a task that one tool carried out together with others."""
        values = self._values(task, conditions)
        values.update(started_at=taken.started_at, finished_at=taken.finished_at, tool=taken.tool)
        values.update(details=taken.details)
        if isinstance(taken.came, Failure):
            values.update(taken.came._asdict())
        else:
            values.update(_result([taken.came], conditions))
        return Record(**values)

    def without(
        self, task: Task, failure: Failure, conditions: Conditions = UNCONDITIONED
    ) -> Record:
        """Return the record of a task that was not even begun."""
        now = self._clock.wall()
        values = self._values(task, conditions)
        return Record(**values, **failure._asdict(), started_at=now, finished_at=now)

    def _values(self, task: Task, conditions: Conditions) -> dict[str, Any]:
        entry, partner = task.entry, task.partner
        return {
            "id": uuid4().hex,
            "run_id": self.run_id,
            "layer": entry.layer,
            "component": entry.component,
            "operation": task.operation,
            "scenario": task.scenario,
            "host": self.host,
            "path": partner.path if partner else entry.path,
            "partner": partner.name if partner else None,
            "spec": entry.spec.to_json(),
            "spec_hash": entry.spec.hash(),
            "fill": conditions.state.fill,
            "versions": dict(conditions.state.versions),
            "flags": tuple(conditions.state.flags),
            "details": self._details(conditions.state),
        }

    def _details(self, state: TargetState) -> Optional[dict[str, Any]]:
        """Return the targets in use that the topology does not name, None where there are none."""
        found = [] if self._known is None else unnamed(state.active, self._known)
        return {"unnamed": list(found)} if found else None


def _result(measurements: Sequence[Measurement], conditions: Conditions) -> dict[str, Any]:
    """Return sums of what moved, the median rate, and the detail of the repeat that shows it."""
    rates = tuple(measurement.rate_Bps for measurement in measurements)
    shown = measurements[rates.index(median_low(rates))]
    flags = [flag for measurement in measurements for flag in measurement.flags]
    retransmitted = [m.retransmits for m in measurements if m.retransmits is not None]
    return {
        "outcome": Outcome.OK,
        "bytes": sum(measurement.bytes for measurement in measurements),
        "seconds": sum(measurement.seconds for measurement in measurements),
        "rate_Bps": median(rates),
        "repeats_Bps": rates,
        "profile_Bps": tuple(shown.profile_Bps),
        "latency": shown.latency,
        "retransmits": sum(retransmitted) if retransmitted else None,
        "coverage": conditions.coverage,
        "flags": tuple(dict.fromkeys([*conditions.state.flags, *flags])),
    }
