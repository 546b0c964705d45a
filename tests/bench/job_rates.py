"""Slow targets found by job rates, and false accusations, with known faults.

``python -m tests.bench.job_rates`` prints the table of docs/jobs.md.  Jobs of all sizes and rates
write files over random OSTs of a file system.  OSTs are busy for hours with unknown load, and one
for days with a job whose log is known.
"""

from __future__ import annotations

import sys
import time
from math import exp
from random import Random
from typing import Iterator, NamedTuple, Sequence

from plumbline.model.record import Operation
from plumbline.model.units import DAY_S
from plumbline.parts.facts.darshan import FileIo, Log
from plumbline.parts.facts.job_rates import judge_jobs
from plumbline.parts.facts.jobs import DARSHAN, Job, JobIo

SEED = 91237
START = 1_790_000_000.0 // DAY_S * DAY_S


class Fleet(NamedTuple):
    """A file system, its jobs per day, and the loss of an OST from a day on."""

    osts: int = 48
    days: int = 30
    jobs: int = 20
    loss: float = 0.0
    from_day: int = 5
    busy_share: float = 0.08


SICK = 7
HOT = 11
"""An OST loaded by a known job for ten days."""


def _busy(chance: Random, fleet: Fleet) -> dict[tuple[int, int], float]:
    """Return the loss by unknown load, a logarithm, by OST and hour."""
    losses: dict[tuple[int, int], float] = {}
    for ost in range(fleet.osts):
        for hour in range(fleet.days * 24):
            if chance.random() < fleet.busy_share / 6:
                loss = 0.15 + chance.expovariate(1 / 0.36)
                for later in range(hour, hour + 1 + int(chance.expovariate(1 / 6))):
                    losses[ost, later] = loss
    return losses


def fleet_logs(chance: Random, fleet: Fleet) -> tuple[list[Log], list[JobIo]]:
    """Return the logs of a fleet and the known traffic of its OSTs."""
    busy = _busy(chance, fleet)
    usual = [chance.gauss(0, 0.02) for _ in range(fleet.osts)]
    hot = JobIo("hot", f"OST{HOT}", Operation.WRITE, 1e16, *_hot_days(fleet), DARSHAN)
    logs = []
    for number in range(fleet.jobs * fleet.days):
        begin = START + chance.random() * fleet.days * DAY_S
        logs.append(_log(chance, fleet, (number, begin), (busy, usual)))
    logs.sort(key=lambda log: log.job.begin)
    traffic = [io for log in logs for io in log.traffic(lambda _, index: f"OST{index}")]
    return logs, [*traffic, hot]


def _hot_days(fleet: Fleet) -> tuple[float, float]:
    return START + 10 * DAY_S, START + 20 * DAY_S


def _log(
    chance: Random,
    fleet: Fleet,
    job: tuple[int, float],
    losses: tuple[dict[tuple[int, int], float], Sequence[float]],
) -> Log:
    number, begin = job
    busy, usual = losses
    rate = 200e6 * exp(chance.gauss(0, 0.8))
    files = min(4 * fleet.osts, int(4 * exp(chance.expovariate(1 / 1.5))))
    size = 1 << chance.choice((24, 28, 30, 32))
    osts = [chance.randrange(fleet.osts) for _ in range(files)]
    if chance.random() < 0.5:
        first = chance.randrange(fleet.osts)
        osts = [(first + place) % fleet.osts for place in range(files)]
    day, hour = int((begin - START) // DAY_S), int((begin - START) // 3600)
    hot = fleet.days > 20 and _hot_days(fleet)[0] <= begin < _hot_days(fleet)[1]
    ios = []
    shared = {ost: chance.gauss(0, 0.05) for ost in set(osts)}
    for ost in osts:
        lost = busy.get((ost, hour), 0.0) + (0.9 if hot and ost == HOT else 0.0)
        if chance.random() < 0.05:
            lost += 0.2 + chance.expovariate(1 / 0.24)
        if ost == SICK and fleet.loss and day >= fleet.from_day:
            rate_here = rate * (1 - fleet.loss)
        else:
            rate_here = rate
        ost_rate = rate_here * exp(usual[ost] + shared[ost] - lost + chance.gauss(0, 0.15))
        ost_rate /= 1 + 0.3 * (osts.count(ost) - 1)
        seconds = size / ost_rate
        times = (seconds, begin, begin + seconds)
        ios.append(FileIo("/s", Operation.WRITE, size, *times, 8, 0.0, 0.0, ((ost, 1.0),)))
    end = max(io.end for io in ios)
    return Log(Job(str(number), begin, end), tuple(ios))


def accused(fleet: Fleet, seed: int) -> set[str]:
    """Return the OSTs that are slow by job rates at the end."""
    logs, traffic = fleet_logs(Random(seed), fleet)
    judged = judge_jobs(logs, lambda _, index: f"OST{index}", traffic)
    return set(judged.slow)


def table(fleets: int) -> Iterator[str]:
    """Yield the lines of the table."""
    yield "| loss of one OST | days slow | fleets | found | healthy OSTs accused |"
    yield "|---|---|---|---|---|"
    for loss, days in ((0.0, 0), (0.1, 25), (0.2, 25), (0.3, 25), (0.3, 5), (0.5, 25), (0.5, 5)):
        fleet = Fleet(loss=loss, from_day=30 - days)
        number = fleets if loss else 3 * fleets
        suspects = [accused(fleet, SEED + place) for place in range(number)]
        hits = sum(f"OST{SICK}" in names for names in suspects) if loss else 0
        wrong = sum(len(names - ({f"OST{SICK}"} if loss else set())) for names in suspects)
        yield f"| {loss:.0%} | {days} | {number} | {hits} | {wrong} |"


if __name__ == "__main__":
    begun = time.monotonic()
    for line in table(int(sys.argv[1]) if len(sys.argv) > 1 else 10):
        print(line, flush=True)
    print(f"{time.monotonic() - begun:.0f} s", file=sys.stderr)
