"""How long locating takes by the size of a site, with bad targets and with a bad server or client.

Run with ``make bench``.
"""

from __future__ import annotations

import sys
import time
from random import Random

from plumbline.locate.observation import Measurable, Observation, Vote
from plumbline.locate.suspects import locate
from plumbline.site.nodes import without_collector

SIZES = (100, 1000, 10_000)
BAD = 20
PER_SERVER = 8
HEALTHY_BPS = 200e6
SLOW_BPS = 80e6
NOISE = 0.02
AIM_S = 1.0
"""For the largest site with ``BAD`` bad targets."""


def site(count: int) -> list[Measurable]:
    """Return the write, the read and the raw read of each of ``count`` targets."""
    found = []
    for number in range(count):
        server = number // PER_SERVER
        near = ("client", "client-nic", "switch", f"oss{server}-nic")
        far = (f"oss{server}", f"oss{server}-hba{number % 2}", f"disk{number}")
        for operation in ("write", "read"):
            name = f"ost OST{number} {operation}"
            path = (*near, *far, f"OST{number}")
            found.append(Measurable(name, "ost", f"OST{number}", operation, path, HEALTHY_BPS))
        name = f"raw disk{number} read"
        found.append(Measurable(name, "raw", f"disk{number}", "read", far, HEALTHY_BPS))
    return found


def measure(measurables: list[Measurable], faulty: set[str], chance: Random) -> list[Observation]:
    """Return what they show when some parts are slow."""
    found = []
    for of in measurables:
        bad = not faulty.isdisjoint(of.path)
        rate = (SLOW_BPS if bad else HEALTHY_BPS) * (1 + chance.gauss(0, NOISE))
        found.append(Observation(of, Vote.BAD if bad else Vote.GOOD, rate, NOISE))
    return found


def best_of_three(seen: list[Observation], faulty: set[str]) -> float:
    """Return the seconds of the fastest of three runs, without the collector as in the commands.

    Ends where a fault is not found.
    """
    seconds = []
    for _ in range(3):
        begun = time.perf_counter()
        with without_collector():
            located = locate(seen)
        seconds.append(time.perf_counter() - begun)
        named = {suspect.name for one in located.sets for suspect in one.suspects}
        if not faulty <= named or located.unexplained:
            raise SystemExit(f"not found: {sorted(faulty - named)}")
    return min(seconds)


def main() -> int:
    """Print seconds by size; return 1 when the aim is missed."""
    took = 0.0
    for count in SIZES:
        chance = Random(count)
        measurables = site(count)
        disks = {f"disk{number}" for number in chance.sample(range(count), BAD)}
        took = best_of_three(measure(measurables, disks, chance), disks)
        server = best_of_three(measure(measurables, {"oss3"}, chance), {"oss3"})
        client = best_of_three(measure(measurables, {"client"}, chance), {"client"})
        print(
            f"{count:6} targets, {len(measurables)} measurements: {BAD} bad disks located in "
            f"{took:.3f} s, a bad server in {server:.3f} s, a bad client, so that every target is "
            f"slow, in {client:.3f} s"
        )
    print(f"aim: {SIZES[-1]} targets with {BAD} bad ones in {AIM_S:g} s")
    return 1 if took > AIM_S else 0


if __name__ == "__main__":
    sys.exit(main())
