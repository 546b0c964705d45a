"""Counters of a server, second by second -> one record for each that moved something.

The loop ends by itself: at its limit, or as soon as it is told.  Between two readings it sleeps, so
a minute of it costs some milliseconds.
"""

from __future__ import annotations

from array import array
from types import MappingProxyType
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Optional, Sequence
from uuid import uuid4

from plumbline.errors import UsageError
from plumbline.model.course import SERVER
from plumbline.model.record import Outcome, Record, Scenario
from plumbline.run.clock import Clock
from plumbline.run.counters import Counter, Reading, Source
from plumbline.units import format_duration

LONGEST_S = 3600.0
"""An hour of 100 devices is 6 MB of memory and as much in the history."""

Wait = Callable[[float], bool]
"""Waits so many seconds at most and returns whether the sampling shall end."""


class Stretch(NamedTuple):
    """Rates in bytes per second, one a second, from ``begin_s`` seconds after the start."""

    begin_s: int
    rates_Bps: array[float]

    @property
    def end_s(self) -> int:
        """Return the second after the last one."""
        return self.begin_s + len(self.rates_Bps)


class Sampled(NamedTuple):
    """What was seen; ``began_at`` is seconds since the epoch, ``seconds`` how long it was watched.

    A counter that went back, or was not there for a while, has several stretches or none.
    """

    began_at: float
    seconds: int
    courses: dict[Counter, list[Stretch]]


def sample(sources: Sequence[Source], clock: Clock, wait: Wait, limit_s: float) -> Sampled:
    """Watch counters until the limit, or until ``wait`` says that it is enough.

    Raises:
        UsageError: the limit is no time that a sampler may take.
        ToolError: a counter is not understood.
    """
    if not 1 <= limit_s <= LONGEST_S:
        raise UsageError(
            f"a limit of {limit_s:g} s: sampling takes 1 s to {format_duration(LONGEST_S)}"
        )
    began_at, start = clock.wall(), clock.monotonic()
    before, last_s, done = _read(sources), 0.0, 0
    courses: dict[Counter, list[Stretch]] = {one: [] for one in before}
    enough = False
    while not enough and done < limit_s:
        enough = wait(max(0.0, done + 1 - (clock.monotonic() - start)))
        now, now_s = _read(sources), clock.monotonic() - start
        # a machine that was held up gets one reading for several seconds: each has the mean
        seconds = round(now_s) - done
        if seconds > 0:
            for counter, stood in now.items():
                rate_Bps = (stood - before.get(counter, stood + 1)) / (now_s - last_s)
                if rate_Bps >= 0:
                    _extend(courses.setdefault(counter, []), done, seconds, rate_Bps)
            before, last_s, done = now, now_s, done + seconds
    return Sampled(began_at, done, courses)


def _read(sources: Sequence[Source]) -> Reading:
    return {counter: stood for one in sources for counter, stood in one.read().items()}


def _extend(stretches: list[Stretch], at_s: int, seconds: int, rate_Bps: float) -> None:
    if not stretches or stretches[-1].end_s != at_s:
        stretches.append(Stretch(at_s, array("d")))
    stretches[-1].rates_Bps.extend([rate_Bps] * seconds)


def records_of(
    sampled: Sampled, host: str, closed: Mapping[Counter, str] = MappingProxyType({})
) -> Iterator[Record]:
    """Yield what is kept: each stretch from the first second in which something moved to the last.

    A counter that never moved, or could not be read, has one record that says so; ``closed`` has
    those that this user may not read, with the reason.
    """
    run_id = str(uuid4())
    courses = {**dict.fromkeys(closed, ()), **sampled.courses}
    for counter, stretches in courses.items() if sampled.seconds else ():
        about = {
            "run_id": run_id,
            "layer": SERVER,
            "component": counter.component,
            "operation": counter.operation,
            "scenario": Scenario.TOGETHER,
            "host": host,
            "details": {"source": counter.source, "watched_s": sampled.seconds},
        }
        moving = [one for one in map(_trimmed, stretches) if one]
        still = _still(sampled, counter, stretches, closed.get(counter, ""))
        for result in map(_moved, moving) if moving else [still]:
            at = sampled.began_at
            times = {"started_at": at + result.begin_s, "finished_at": at + result.end_s}
            yield Record(id=str(uuid4()), **about, **times, **result.values)


class _Result(NamedTuple):
    """What a record says of the seconds from ``begin_s`` to ``end_s`` after the start."""

    begin_s: int
    end_s: int
    values: dict[str, Any]


def _trimmed(stretch: Stretch) -> Optional[Stretch]:
    """Return a stretch without the seconds at its ends in which nothing moved."""
    moving = [place for place, rate in enumerate(stretch.rates_Bps) if rate]
    if not moving:
        return None
    first, last = moving[0], moving[-1]
    return Stretch(stretch.begin_s + first, stretch.rates_Bps[first : last + 1])


def _moved(stretch: Stretch) -> _Result:
    seconds, moved = len(stretch.rates_Bps), sum(stretch.rates_Bps)
    values = {
        "outcome": Outcome.OK,
        "bytes": round(moved),
        "seconds": float(seconds),
        "rate_Bps": moved / seconds,
        "profile_Bps": tuple(map(round, stretch.rates_Bps)),
    }
    return _Result(stretch.begin_s, stretch.end_s, values)


def _still(
    sampled: Sampled, counter: Counter, stretches: Sequence[Stretch], closed: str
) -> _Result:
    seconds = format_duration(sampled.seconds)
    outcome, reason = (
        (Outcome.SKIPPED, f"{counter.source} counted no byte in {seconds}")
        if stretches
        else (Outcome.FAILED, closed or f"{counter.source} had no counter to follow for {seconds}")
    )
    return _Result(0, sampled.seconds, {"outcome": outcome, "reason": reason})
