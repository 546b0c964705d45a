"""How ceilings grow with a site: 10,000 targets on four levels in 2 s and 300 MB is the aim.

Each size runs in a process of its own, from the topology document to every line that ``plumbline
ceiling`` knows (each target alone, peers behind every shared part, all at once, each with its
next limit) and the share and next limit of every target when all run.  Seconds are those of a cold
start after the imports; the last column is time / (n log n), 1.00 for the first size.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from math import log
from pathlib import Path
from typing import Any

from plumbline.plan.assignments import assignments
from plumbline.plan.policy import load
from plumbline.plan.references import at_once, measurements, speeds
from plumbline.topology.ceiling import together
from plumbline.topology.graph import build
from plumbline.topology.paths import storage_side

ROOT = Path(__file__).parents[2]
SIZES = (1000, 2000, 5000, 10000)
AIM_S = 2.0
AIM_MB = 300.0


def site(targets: int) -> dict[str, Any]:
    """Return a document: leaf switches of 20 servers, two controllers and ten targets a server."""
    servers, leaves = targets // 10, targets // 200
    leaf, server = f"leaf[001-{leaves:03d}]", f"oss[0001-{servers:04d}]"
    arrays = {"read": "800 MB/s", "write": "700 MB/s"}
    disks = {"rate": "200 MB/s", "feeds": f"{server}-controller[1-2]"}
    parts = [
        {"name": "spine", "kind": "switch", "rate": f"{targets * 90} MB/s"},
        {"name": leaf, "kind": "switch", "rate": "22 GB/s", "feeds": "spine"},
        {"name": server, "kind": "server", "rate": "1.5 GB/s", "feeds": leaf},
        {"name": f"{server}-controller[1-2]", "kind": "controller", **arrays, "feeds": server},
        {"name": f"{server}-disk[0-9]", "kind": "disk", **disks},
        {"name": "client1", "kind": "client", "rate": "12.5 GB/s", "feeds": "spine"},
    ]
    names = {"name": f"work-OST[0000-{targets - 1:04x}]", "part": f"{server}-disk[0-9]"}
    work = {"name": "work", "kind": "lustre", "mount": "/work", "client": "client1"}
    return {
        "schema": 1,
        "site": "bench",
        "parts": parts,
        "file_systems": [{**work, "targets": [names]}],
    }


def measure(targets: int) -> dict[str, float]:
    """Return what one site takes: seconds, peak MB, lines."""
    document = site(targets)
    start = time.perf_counter()
    topology = build(document)
    measured = assignments(topology, load({}))
    lines = [*measurements(topology, measured), *at_once(topology)]
    paths = {one.name: storage_side(topology, one) for one in topology.targets.values()}
    shares = together(speeds(topology).writes, paths)
    seconds = time.perf_counter() - start
    assert len(shares) == targets
    assert all(limit and limit.next for limit in shares.values())
    peak_MB = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    return {"seconds": seconds, "peak_MB": peak_MB, "lines": len(lines)}


def in_own_process(targets: int) -> dict[str, float]:
    """Measure a size where nothing is warm and no memory is left over."""
    done = subprocess.run(
        [sys.executable, __file__, str(targets)],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> int:
    """Print the curve; 1 when the largest size misses an aim."""
    print("targets   lines  seconds  peak MB  time / (n log n)")
    first = 0.0
    for targets in SIZES:
        found = in_own_process(targets)
        growth = found["seconds"] / (targets * log(targets))
        first = first or growth
        print(
            f"{targets:7d} {found['lines']:7.0f}  {found['seconds']:7.2f}  {found['peak_MB']:7.0f}"
            f"  {growth / first:16.2f}"
        )
    print(f"aim for {SIZES[-1]} targets: at most {AIM_S} s and {AIM_MB:.0f} MB")
    return 1 if found["seconds"] > AIM_S or found["peak_MB"] > AIM_MB else 0


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measure(int(sys.argv[1]))))
    else:
        sys.exit(main())
