"""How often contention is known: ``python -m tests.bench.coverage --runs 3000 --seed 1000``.

Runs of known truth beside other traffic, see tests.package.observe.test_coverage: bounds that miss
the truth, runs put on the wrong side of ``min_coverage``, and of how many the coverage is known.
"""

from __future__ import annotations

import argparse
from collections import Counter
from random import Random

from plumbline.doors.table import render
from tests.package.observe.test_coverage import Truth, known, share

LEAST = 0.9
ROUNDED = 1e-4
"""Bounds are kept with four digits."""

CLASSES = ((0.97, "quiet, 0.97 and more"), (LEAST, "0.9 to 0.97"), (0.0, "contended"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1000)
    arguments = parser.parse_args()
    every: Counter[tuple[str, int]] = Counter()
    sure: Counter[tuple[str, int]] = Counter()
    missed = wrong = 0
    for seed in range(arguments.seed, arguments.seed + arguments.runs):
        chance = Random(seed)
        truth = Truth(chance)
        found = known(share(truth.probes, truth.counted(chance), truth.ahead))
        kind = next(name for least, name in CLASSES if truth.coverage >= least)
        key = kind, round(truth.end_s - truth.begin_s)
        every[key] += 1
        sure[key] += found.coverage is not None
        least, most = found.others.least, found.others.most
        missed += (
            least is None or most is None or not least - ROUNDED <= truth.coverage <= most + ROUNDED
        )
        wrong += found.coverage is not None and (found.coverage < LEAST) != (truth.coverage < LEAST)
    seconds = sorted({length for _, length in every})
    rows = [
        (kind, *(f"{sure[kind, one]} of {every[kind, one]}" for one in seconds))
        for _, kind in CLASSES
    ]
    print(render(("coverage known of", *(f"{one} s" for one in seconds)), rows))
    print(f"{missed} bounds miss the truth by more than rounding, {wrong} on the wrong side")


if __name__ == "__main__":
    main()
