"""Combine the results of ranks into the measurements of each target and of all targets.

The rate of a target is its bytes over the time from the common start until all of them are safe, so
its last rank decides.  If a rank has no result, its target has no measurement; the failure says so,
and the figures of the other ranks are kept.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Iterator, NamedTuple, Optional, Sequence, Union

from plumbline.measure.trial import Failure
from plumbline.model.codec import read, write
from plumbline.model.command import Completed, lines
from plumbline.model.errors import DocumentError, reason_in
from plumbline.model.profile import (
    added,
    by_tenths,
    form,
    latencies,
    shape,
    together,
    whole_seconds,
)
from plumbline.model.record import Flag, Measurement, Operation, Outcome
from plumbline.model.units import format_duration
from plumbline.model.validation import read_json
from plumbline.parts.parallel.job import Job, Result, State
from plumbline.parts.parallel.stragglers import Track, stragglers

_PERCENT = 100
_ON_LOGIN = ("ssh: ", "Host key verification failed", "Permission denied (")
"""Lines of ssh, which Open MPI follows with a page of guesses."""
_ON_EXIT = ("exited on signal", "KILLED", "APPLICATION TERMINATED")
"""Messages of Open MPI and MPICH about the death of a rank."""

_COMMON_FIELDS = ("operation", "began_at", "durations")
"""Fields of a result that a record has only once for all ranks."""

_ENDED = (State.DONE, State.SHORT)


class Tally(NamedTuple):
    """All results of one operation of a ``job``, and the result of the launcher."""

    job: Job
    operation: Operation
    results: tuple[Result, ...]
    completed: Completed

    @property
    def over(self) -> bool:
        """True if every rank has ended without interruption."""
        ended = any(result.state is State.ENDED or _cut(result) for result in self.results)
        return len(self.results) == len(self.job.places) and not ended

    def of_target(self, target: str, ranks: int) -> Union[Measurement, Failure]:
        """Return the measurement of a target with ``ranks`` ranks, or its failure."""
        return self._of(self.on(target), ranks)

    def on(self, target: str) -> tuple[Result, ...]:
        """Return the results of the ranks that worked on a target."""
        return tuple(result for result in self.results if result.target == target)

    def of_all(self) -> Union[Measurement, Failure]:
        """Return the measurement of all targets together."""
        return self._of(self.results, len(self.job.places))

    def times(self, results: Sequence[Result], host: str) -> Optional[tuple[float, float]]:
        """Return start and end of the operation for ``results``, None if unknown.

        Times are seconds since the epoch, by the clock of ``host`` if it has ranks.
        """
        begun = [result for result in self.results if result.began_at]
        began = [result.began_at for result in begun if result.client == host]
        if not begun:
            return None
        start = min(began or [result.began_at for result in begun])
        return start, start + max((result.end_s for result in results), default=0.0)

    def _of(self, results: Sequence[Result], ranks: int) -> Union[Measurement, Failure]:
        bad = [result for result in results if result.state in (State.FAILED, State.ENDED)]
        if bad:
            reasons = dict.fromkeys(
                f"rank {result.rank} on {result.client}: {result.reason}" for result in bad
            )
            return Failure(Outcome.FAILED, "; ".join(list(reasons)[:3]))
        if len(results) < ranks:
            return self._missing(ranks - len(results), ranks)
        if not any(result.bytes for result in results):
            return Failure(Outcome.FAILED, f"{results[0].reason or 'it'}: nothing was moved")
        return _measured(results)

    def _missing(self, missing: int, ranks: int) -> Failure:
        """Return the failure for missing results: HUNG if ranks hang, FAILED if they died."""
        number = f"{missing} of {ranks} ranks" if ranks > 1 else "the rank"
        end = self.completed
        if end.timed_out or end.hung:
            return Failure(
                Outcome.HUNG,
                f"{number} did not end this {self.operation.value} in the "
                f"{format_duration(end.seconds)} of the run; look at the target's server, and at "
                "the kernel log of the client",
            )
        return Failure(Outcome.FAILED, f"{number} left no result: {_launcher_line(end)}")


def _cut(result: Result) -> bool:
    """Return True if a rank was interrupted, but its bytes are safe."""
    return result.state is State.SHORT and bool(result.reason)


def _launcher_line(completed: Completed) -> str:
    """Return the most useful line of a launcher: plumbline's own, else on a login or an exit."""
    output = [line.strip(" -") for line in lines(f"{completed.stderr}\n{completed.stdout}")]
    texts = [line for line in output if line]
    from_plumbline = [line for line in texts if line.startswith("plumbline: ")]
    on_exit = [line for line in texts if any(mark in line for mark in _ON_EXIT)]
    on_login = [line for line in texts if any(mark in line for mark in _ON_LOGIN)]
    chosen = from_plumbline or on_login or on_exit or texts[-1:] or ["no message"]
    return f"{completed.argv[0]} ended with {completed.exit_code}: {chosen[0]}"


def _measured(results: Sequence[Result]) -> Measurement:
    moved = sum(result.bytes for result in results)
    seconds = max(result.end_s for result in results)
    return Measurement(
        bytes=moved,
        seconds=seconds,
        rate=moved / seconds,
        profile=whole_seconds(added(result.curve for result in results), seconds),
        quantities=latencies(together(result.durations for result in results if result.durations)),
        flags=(Flag.SHORT,) if any(result.state is State.SHORT for result in results) else (),
    )


def details(results: Sequence[Result], outcome: Union[Measurement, Failure]) -> dict[str, Any]:
    """Return the details of a target's record: its ranks, durations, and shape of the curve.

    Curves are rounded to bytes per second.
    """
    ranks = [_rank(result) for result in sorted(results)]
    return {"ranks": ranks, **_durations(results), **_course(outcome)}


def _durations(results: Sequence[Result]) -> dict[str, Any]:
    """Return the histogram of call durations; empty if no rank recorded them."""
    counted = [result.durations for result in results if result.durations]
    if not counted:
        return {}
    tenths = by_tenths(together(counted))
    return {"durations": {str(tenth): number for tenth, number in tenths.items()}}


def details_of_all(tally: Tally, outcome: Union[Measurement, Failure]) -> dict[str, Any]:
    """Return the shape of the curve of all targets, and the stragglers among successful ranks."""
    servers = {place.target: place.server for place in tally.job.places}
    tracks = [
        Track(result, servers.get(result.target, result.target))
        for result in tally.results
        if result.state in _ENDED
    ]
    late = [straggler.to_json() for straggler in stragglers(tracks)]
    return {"stragglers": late, **_course(outcome)}


def _course(outcome: Union[Measurement, Failure]) -> dict[str, Any]:
    """Return shape and form of a curve; empty if the curve is too short."""
    shaped = None if isinstance(outcome, Failure) else shape(outcome.profile)
    if isinstance(outcome, Failure) or shaped is None:
        return {}
    return {
        "shape": shaped.to_json(),
        "form": [round(_PERCENT * point) for point in form(outcome.profile)],
    }


def _rank(result: Result) -> dict[str, Any]:
    raw = write(result._replace(begin_s=round(result.begin_s, 6), end_s=round(result.end_s, 6)))
    raw["curve"] = [round(value) for value in result.curve]
    return {key: value for key, value in raw.items() if key not in _COMMON_FIELDS}


def read_results(folder: Path) -> Iterator[Result]:
    """Yield the results in a run's folder; raise DocumentError for a damaged file."""
    for path in sorted(folder.glob("*-*.json")):
        yield _read(path)


def _read(path: Path) -> Result:
    try:
        return read(Result, read_json(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DocumentError(
            f"{path} is damaged ({reason_in(error)}); run the probe again"
        ) from error
