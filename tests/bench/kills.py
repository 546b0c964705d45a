"""Kill runs of all layers at random moments in a running lab; count losses and leftovers.

``python -m tests.bench.kills --kills 100``.  Every other kill includes the children of the run,
like systemd; after these nothing may count as hung.  After every fifth kill another run follows,
which must find all records, end orphans and leave no lock.  Ends with 1 if a record is lost or
changed, a tool or lock is left, or anything counts as hung.
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
    """Kill runs of a layer on the host that measures it; return the counts."""
    script = base64.b64encode(SCRIPT.read_bytes()).decode()
    command = f"echo {script} | base64 -d | python3 - {layer} {kills}"
    with windows(lab) if layer == "net" else nullcontext():
        counts: dict[str, int] = json.loads(lab.on_host(HOSTS[layer], command))
    return counts


@contextmanager
def windows(lab: Lab) -> Iterator[None]:
    """Keep the receivers of all servers open, for the unit's limit of 300 s."""
    try:
        lab.on_host("storage_servers", "systemctl restart plumbline-netserver")
        yield
    finally:
        lab.on_host("storage_servers", "systemctl stop plumbline-netserver")


def main() -> int:
    """Run the campaign."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100, help="in all (default: 100)")
    parser.add_argument("--layer", action="append", choices=sorted(HOSTS))
    arguments = parser.parse_args()
    lab = Lab("inventories/lab", 8477)
    layers = arguments.layer or list(HOSTS)
    good = True
    for layer in layers:
        counts = killed(lab, layer, arguments.kills // len(layers))
        good = good and not any(counts[name] for name in BAD)
        print(f"{layer}: {', '.join(f'{name} {count}' for name, count in counts.items())}")
    return 0 if good else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except LabError as error:
        sys.exit(f"plumbline: {error}")
