"""Files of Lustre's counters of clients and servers, captured or made by hand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from plumbline.observe.command import SystemClock
from plumbline.observe.lustre_output import parameters
from plumbline.parts.facts.counters import CountersLook
from plumbline.parts.facts.counting import BoundedReads, Counters
from tests.package.observe.lustre_server import put
from tests.package.recorded import data

HEAD = "snapshot_time                       1795342735.166265547 secs.nsecs\n"
OST = "lustre-OST0000"
CAPTURED = "lustre/lctl_stages.txt"


def look(root: Path) -> CountersLook:
    """Return the counters of a host from copies of its files."""
    return Counters(BoundedReads(), SystemClock(), str(root)).look()


def put_captured(root: Path, name: str = CAPTURED, *, empty: bool = False) -> None:
    """Write the files of ``lctl get_param``; ``empty``: as after clearing the counters."""
    for parameter, value in parameters(data(name), ["*stats"]):
        text = value.lstrip("\n")
        if empty:
            text = _emptied(text)
        put(root / "sys/kernel/debug/lustre" / parameter.replace(".", "/"), text)


def _emptied(text: str) -> str:
    """Return a file without counts: its head and, of histograms, the names of the tables."""
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if not re.match(r"\d+[KM]?:|\w+ +\d+ samples", line))


class Load(NamedTuple):
    """Requests to one OST of a server: mean milliseconds of each stage."""

    client: float = 4.0
    queue: float = 1.0
    handled: float = 2.0
    disk: float = 1.5
    requests: int = 100
    waiting: int = 0


def put_client(root: Path, loads: dict[str, Load], operation: str = "read") -> None:
    """Write the counters of a client, all since its mount."""
    for target, load in loads.items():
        put(
            root / f"sys/kernel/debug/lustre/osc/{target}-osc-ffff888126c79000/stats",
            HEAD + _line(f"ost_{operation}", load.requests, load.client),
        )


def put_server(root: Path, loads: dict[str, Load], operation: str = "read") -> None:
    """Write the counters of a server of some OSTs; its queue is that of all of them."""
    debug = root / "sys/kernel/debug/lustre"
    for target, load in loads.items():
        own = min(load.disk + 0.1, load.handled) if operation == "read" else 0.1
        put(debug / f"obdfilter/{target}/stats", HEAD + _line(operation, load.requests, own))
        put(debug / f"osd-ldiskfs/{target}/brw_stats", brw_stats(load, operation))
    requests = sum(load.requests for load in loads.values())
    queue, handled, waiting = (
        sum(load.requests * part for load, part in zip(loads.values(), parts)) / requests
        for parts in zip(*((load.queue, load.handled, load.waiting) for load in loads.values()))
    )
    lines = [
        _line("req_waittime", requests, queue),
        f"req_qdepth {requests} samples [reqs] 0 9 {waiting * requests:.0f} 9\n",
        f"req_active {requests} samples [reqs] 1 9 {2 * requests} 9\n",
        f"req_timeout {requests} samples [secs] 5 5 {5 * requests} 9\n",
        _line(f"ost_{operation}", requests, handled),
    ]
    put(debug / "ost/OSS/ost_io/stats", HEAD + "".join(lines))


def brw_stats(load: Load, operation: str) -> str:
    """Return a histogram with all I/O in the bucket of the disk's time."""
    bucket = 1
    while bucket < int(load.disk):
        bucket *= 2
    counts = (load.requests, 0) if operation == "read" else (0, load.requests)
    row = f"{bucket}:\t {counts[0]}  100 100   |  {counts[1]}  100 100\n"
    columns = "\n                           read      |     write\n"
    tables = ("I/O time (1/1000s)     ios   % cum % |  ios", "disk I/O size          ios   %")
    return "snapshot_time: 1.2 (secs.nsecs)\n" + "".join(
        f"{columns}{table}\n{row}" for table in tables
    )


def _line(name: str, requests: int, mean_ms: float) -> str:
    return f"{name} {requests} samples [usecs] 1 9 {requests * mean_ms * 1000:.0f} 9\n"
