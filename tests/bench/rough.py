"""``plumbline simulate`` at a site whose single runs differ by more than those of the year.

    python -m tests.bench.rough 0.28 -i inventories/edison --days 31 --fleets 8 --seed 30101

The first word is the standard deviation of a run; all other noise is that of the year.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import contextmanager
from typing import Iterator

from plumbline.cli import main as plumbline
from plumbline.parts.simulate import fleet


@contextmanager
def runs_differ(run: float) -> Iterator[None]:
    """Let simulated runs differ by ``run``, a fraction of their rate."""
    year = fleet.NOISES["year"]
    fleet.NOISES["year"] = year._replace(run=run, spell_run=max(run, year.spell_run))
    try:
        yield
    finally:
        fleet.NOISES["year"] = year


def main() -> int:
    """Simulate; return the exit code of the command."""
    parser = argparse.ArgumentParser(prog="tests.bench.rough", description=__doc__)
    parser.add_argument("run", type=float)
    arguments, words = parser.parse_known_args()
    with runs_differ(arguments.run):
        return plumbline(["simulate", *words])


if __name__ == "__main__":
    sys.exit(main())
