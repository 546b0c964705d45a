"""Runs of all layers killed at random moments in a lab that is up: what is lost, what is left.

``python -m tests.bench.kills --kills 100``.  Every other kill takes all that the run has started
with it, as systemd does; after these nothing may be said to hang.  After every fifth another run
follows, which must find all records, end what is left and leave no lock.  Ends with 1 where a
record is lost or changed, a tool or lock is left, or something is said to hang.
"""

from __future__ import annotations

import argparse
import base64
import json
import sys
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Iterator

from tests.lab.lab import Lab, LabError

HOSTS = {"ost": "client1", "fs": "client1", "net": "client1", "raw": "oss1"}
SCRIPT = Path(__file__).with_name("killing.py")
BAD = ("lost", "changed", "orphans", "locks", "hangs", "damaged")


def killed(lab: Lab, layer: str, kills: int) -> dict[str, int]:
    """Kill so many runs of a layer on the host that measures it, and return what was found."""
    script = base64.b64encode(SCRIPT.read_bytes()).decode()
    command = f"echo {script} | base64 -d | python3 - {layer} {kills}"
    with windows(lab) if layer == "net" else nullcontext():
        found: dict[str, int] = json.loads(lab.on_host(HOSTS[layer], command))
    return found


@contextmanager
def windows(lab: Lab) -> Iterator[None]:
    """Keep the receiving ends of all servers open, for the 300 s that the unit allows."""
    try:
        lab.on_host("storage_servers", "systemctl restart plumbline-netserver")
        yield
    finally:
        lab.on_host("storage_servers", "systemctl stop plumbline-netserver")


def main() -> int:
    """Carry out the campaign that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100, help="in all (default: 100)")
    parser.add_argument("--layer", action="append", choices=sorted(HOSTS))
    arguments = parser.parse_args()
    lab = Lab("inventories/lab", 8477)
    layers = arguments.layer or list(HOSTS)
    good = True
    for layer in layers:
        found = killed(lab, layer, arguments.kills // len(layers))
        good = good and not any(found[name] for name in BAD)
        print(f"{layer}: {', '.join(f'{name} {count}' for name, count in found.items())}")
    return 0 if good else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except LabError as error:
        sys.exit(f"plumbline: {error}")
