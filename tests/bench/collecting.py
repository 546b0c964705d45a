"""Collection of a night of 1,000 nodes: aim 2 minutes, with bounded connections.

A fake ssh answers like ``plumbline export`` after the time of a login; ``plumbline collect`` is
real.  Measured are the console's own work and the waiting, without encryption and export.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from itertools import accumulate
from pathlib import Path

from plumbline.model.codec import write
from plumbline.model.exchange import Head
from tests.package.records import record

ROOT = Path(__file__).parents[2]
NODES, RECORDS, AT_ONCE, LOGIN_S = 1000, 44, 16, 1.0
AIM_S = 120.0

NODE = """#!/bin/sh
echo 1 >> {folder}/connections
sleep {login_s}
read request
cat {folder}/head {folder}/$1
while read request; do cat {folder}/head {folder}/nothing; done
echo -1 >> {folder}/connections
"""


def site(folder: Path, nodes: int, login_s: float) -> Path:
    """Write the answers of the nodes and the fake ssh; return the plan."""
    head = write(Head("0.1.0", time.time(), again=False))
    (folder / "head").write_text(json.dumps(head) + "\n", encoding="utf-8")
    (folder / "nothing").write_text('{"end": 0, "more": false}\n', encoding="utf-8")
    (folder / "connections").touch()
    program = folder / "ssh"
    program.write_text(NODE.format(folder=folder, login_s=login_s), encoding="utf-8")
    program.chmod(0o755)
    names = [f"oss{number:04}" for number in range(nodes)]
    for name in names:
        rows = [
            record(id=f"{name}-{count}", host=name, component=f"{name}-{count}").to_json()
            for count in range(RECORDS)
        ]
        lines = [json.dumps([place, row]) for place, row in enumerate(rows, 1)]
        lines.append(json.dumps({"end": RECORDS, "more": False}))
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    expected = {name: {"schema": 1, "node": name, "site": "bench", "entries": []} for name in names}
    plan = folder / "plan.json"
    document = {"schema": 1, "site": "bench", "nodes": expected, "services": []}
    plan.write_text(json.dumps(document), encoding="utf-8")
    return plan


def main() -> int:
    """Print seconds, memory and connections; return 1 if the aim or the bound is missed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=NODES)
    parser.add_argument("--at-once", type=int, default=AT_ONCE)
    parser.add_argument("--login", type=float, default=LOGIN_S, help="seconds")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="plumbline-bench-") as name:
        folder = Path(name)
        plan = site(folder, arguments.nodes, arguments.login)
        argv = [sys.executable, "-m", "plumbline.cli", "collect", "--quiet", "--plan", str(plan)]
        argv += ["--history", str(folder / "history.sqlite"), "--at-once", str(arguments.at_once)]
        argv += ["--remote", f"{folder}/ssh {{node}}"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        start = time.perf_counter()
        done = subprocess.run(argv, env=environment, stdout=subprocess.PIPE, text=True, check=True)
        seconds = time.perf_counter() - start
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        steps = (folder / "connections").read_text(encoding="ascii").split()
        most = max(accumulate(map(int, steps)))
    summary = next(line for line in done.stdout.splitlines() if "new records" in line)
    print(
        f"{summary}: {seconds:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of CPU with the nodes' "
        f"own, {used.ru_maxrss / 1e3:.0f} MB, at most {most} connections at once (aim: "
        f"{AIM_S:g} s, {arguments.at_once} connections)"
    )
    return 1 if seconds > AIM_S or most > arguments.at_once else 0


if __name__ == "__main__":
    sys.exit(main())
