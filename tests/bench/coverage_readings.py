"""Contention by readings each 15 s, as in Prometheus, compared with readings each second.

``python -m tests.bench.coverage_readings --runs 300``.  A probe writes a target, then reads it, for
some seconds each at 200 MB/s.  Others have a share of the target's traffic, steady or in bursts of
20 s.  Printed for the write: how often its coverage is decided, the mean width of the bounds, and
how often the decision is wrong.  The times of readings are known, clocks are right to 50 ms.
"""

from __future__ import annotations

import argparse
from itertools import product
from random import Random
from typing import NamedTuple, Sequence

from plumbline.doors.table import render
from plumbline.model.record import Operation
from tests.package.observe.servers import counted
from tests.package.observe.test_coverage import MB, must_exist, probe, share

LEAST = 0.9
PROBE_BPS = 200 * MB
SECONDS = (5, 10, 30, 60, 120)
SHARES = (0.0, 0.05, 0.1, 0.3, 0.6)
BURST_S = 20
READING_S = 15
BESIDE_S = 90
NEAR = 0.002
"""A true coverage this near to LEAST is on neither side."""


class Decision(NamedTuple):
    """Result of the bounds of a run."""

    decided: bool
    wrong: bool
    width: float


def others(part: float, length_s: int, bursts: bool, chance: Random) -> list[float]:
    """Return the traffic of others in each second; ``part`` of all traffic during the probe."""
    mean = PROBE_BPS * part / (1 - part)
    phase = chance.randrange(2 * BURST_S)
    return [
        mean * chance.uniform(0.8, 1.2) * (2 * ((at + phase) // BURST_S % 2) if bursts else 1)
        for at in range(length_s)
    ]


def overlap(at: int, begin: float, end: float) -> float:
    """Return the part of a second between two moments."""
    return max(0.0, min(end, at + 1) - max(begin, at))


def one_run(length_s: int, every_s: int, foreign: Sequence[float], begin: float) -> Decision:
    """Compare the bounds of a write with the real traffic of others."""
    middle, end = begin + length_s, begin + 2 * length_s
    rates = [rate + PROBE_BPS * overlap(at, begin, end) for at, rate in enumerate(foreign)]
    merged = [[at, every_s] for at in range(0, len(rates), every_s)] if every_s > 1 else []
    run = [
        probe(begin, middle, PROBE_BPS, operation=Operation.WRITE),
        probe(middle, end, PROBE_BPS),
    ]
    bounds = must_exist(share(run, counted(rates, merged=merged), least=LEAST)).others
    least, most = bounds.least or 0.0, bounds.most or 0.0
    meanwhile = sum(rate * overlap(at, begin, middle) for at, rate in enumerate(foreign))
    truth = 1 / (1 + meanwhile / (PROBE_BPS * length_s))
    decided = least >= LEAST or most < LEAST
    wrong = decided and (least >= LEAST) != (truth >= LEAST) and abs(truth - LEAST) > NEAR
    return Decision(decided, wrong, most - least)


def cell(runs: Sequence[Decision]) -> str:
    decided, wrong, width = (sum(column) / len(runs) for column in zip(*runs))
    return f"{decided:.0%} ({width:.2f})" + (f", {wrong:.1%} wrong" if wrong else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=300)
    count = parser.parse_args().runs
    rows = []
    for bursts, part, every_s in product((False, True), SHARES, (1, READING_S)):
        row = [f"{part:.0%}{' in bursts' if bursts else ''}", f"{every_s} s"]
        for length_s in SECONDS:
            chance = Random(f"{bursts} {part} {length_s}")
            readings = 2 * (BESIDE_S + length_s) // READING_S + 1
            runs = []
            for _ in range(count):
                foreign = others(part, readings * READING_S, bursts, chance)
                begin = BESIDE_S - READING_S * chance.random()
                runs.append(one_run(length_s, every_s, foreign, begin))
            row.append(cell(runs))
        rows.append(row)
    print(render(("others", "readings", *(f"{length_s} s" for length_s in SECONDS)), rows))


if __name__ == "__main__":
    main()
