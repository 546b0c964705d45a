"""What a reading each 15 s, as Prometheus has, tells of contention, beside one each second.

``python -m tests.bench.coverage_readings --runs 300``.  A probe writes a target, then reads it, so
many seconds each, at 200 MB/s.  Others have a share of the target's traffic, steadily or in bursts
of 20 s.  Of the write: how often its coverage is decided, how wide the bounds are on average, and
how often the decision is wrong.  The moment of each reading is known, clocks are right to 50 ms.
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
"""Of LEAST: a truth so near to it is on no side."""


class Found(NamedTuple):
    """What the bounds of one run say."""

    decided: bool
    wrong: bool
    width: float


def others(part: float, length_s: int, bursts: bool, chance: Random) -> list[float]:
    """Return what others move in each second; ``part`` of all while the probe runs."""
    mean = PROBE_BPS * part / (1 - part)
    phase = chance.randrange(2 * BURST_S)
    return [
        mean * chance.uniform(0.8, 1.2) * (2 * ((at + phase) // BURST_S % 2) if bursts else 1)
        for at in range(length_s)
    ]


def overlap(at: int, begin: float, end: float) -> float:
    """Return how much of a second lies between two moments."""
    return max(0.0, min(end, at + 1) - max(begin, at))


def one_run(length_s: int, every_s: int, foreign: Sequence[float], begin: float) -> Found:
    """Hold the bounds of one write against what others moved meanwhile."""
    middle, end = begin + length_s, begin + 2 * length_s
    rates = [rate + PROBE_BPS * overlap(at, begin, end) for at, rate in enumerate(foreign)]
    merged = [[at, every_s] for at in range(0, len(rates), every_s)] if every_s > 1 else []
    run = [
        probe(begin, middle, PROBE_BPS, operation=Operation.WRITE),
        probe(middle, end, PROBE_BPS),
    ]
    said = must_exist(share(run, counted(rates, merged=merged), least=LEAST)).others
    least, most = said.least or 0.0, said.most or 0.0
    meanwhile = sum(rate * overlap(at, begin, middle) for at, rate in enumerate(foreign))
    truth = 1 / (1 + meanwhile / (PROBE_BPS * length_s))
    decided = least >= LEAST or most < LEAST
    wrong = decided and (least >= LEAST) != (truth >= LEAST) and abs(truth - LEAST) > NEAR
    return Found(decided, wrong, most - least)


def cell(runs: Sequence[Found]) -> str:
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
    print(render(("others", "readings", *(f"{one} s" for one in SECONDS)), rows))


if __name__ == "__main__":
    main()
