"""Cost of the counters service on a server of 40 targets: share of a core, memory.

``plumbline counters --every 15s`` may take 1 % of a core, children included, and 40 MB.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from plumbline.observe.command import SystemClock
from plumbline.parts.facts.counting import BoundedReads, Counters
from plumbline.parts.facts.verbs.counters import Looks
from tests.package.observe.lustre_server import make_server

OSTS = 40
LOOKS = 40
EVERY_S = 15.0


def spent() -> float:
    """Return the CPU seconds of this process and its ended children."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        make_server(Path(folder), OSTS)
        output, clock = f"{folder}/lustre.prom", SystemClock()
        looks = Looks(Counters(BoundedReads(), clock, folder), clock)
        looks.write(output)
        began, started = spent(), time.monotonic()
        for _ in range(LOOKS):
            looks.write(output)
        cpu_s = (spent() - began) / LOOKS
        wall_s = (time.monotonic() - started) / LOOKS
        size = os.path.getsize(output)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    share = cpu_s / EVERY_S
    print(
        f"counters of {OSTS} targets: {cpu_s * 1e3:.0f} ms of processor a look, {share:.2%} of a "
        f"core; {wall_s * 1e3:.0f} ms; {size / 1000:.0f} kB written; {memory:.0f} MB"
    )
    return int(share > 0.01 or memory > 40)


if __name__ == "__main__":
    raise SystemExit(main())
