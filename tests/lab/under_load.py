"""A disk becomes slow under the file system's own load, and no probe runs: who says so, and when?

``python -m tests.lab.under_load`` brings up the lab, lets a client write, makes one disk slow, and
asks ``plumbline latency`` once a minute.  Then the probe that it names confirms it, and Nagios
shows the alarm.  It takes about three quarters of an hour and removes the lab at the end.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any, NamedTuple

from tests.lab.conftest import brought_up
from tests.lab.lab import Console, Lab, LabError

SLOW, RATE = "oss2-disk1", "5MB/s"
"""Less than is asked of it: where a disk gives what is asked, nobody waits for it."""

HEALTHY_S, PATIENCE_S = 600.0, 1800.0
STANDING = {"counters_enabled": "true", "metrics_enabled": "true", "prometheus_enabled": "true"}
"""Roles that a site switches on: what a host counts all day, and a Prometheus that keeps it."""

# As many files as lie on every disk; each write is on its disk before the next one of its file.
LOAD = (
    "systemd-run --unit=lab-load --collect fio --name=load --directory=/mnt/scratch --numjobs=36"
    " --rw=randwrite --bs=256k --size=8m --fdatasync=1 --ioengine=psync --time_based"
    " --thinktime=100ms --runtime=1h"
)
# The lab's disks are loop devices, which node exporter leaves out unless it is told otherwise.
LOOPS = r"""
unit=exporter-plumbline.service
mkdir -p /run/systemd/system/$unit.d
{ printf '[Service]\nExecStart=\n'
  sed -n 's/^ExecStart=.*/& --collector.diskstats.device-exclude=^$/p' /etc/systemd/system/$unit
} > /run/systemd/system/$unit.d/loops.conf
systemctl daemon-reload
systemctl restart $unit
"""
ASK = (
    "plumbline latency --plan /etc/plumbline-console/plan.json --prometheus http://127.0.0.1:9090"
    " --window 1min --since 45min --json; true"
)


class Answer(NamedTuple):
    """The suspects, each with its ratio, and how many components were compared."""

    suspects: dict[str, float]
    compared: int


def asked(lab: Lab) -> Answer:
    """Return what the latency under load says now."""
    said = lab.on_host("mon1", ASK)
    if not said.startswith("{"):
        print(f"  {said}")
        return Answer({}, 0)
    known: list[dict[str, Any]] = json.loads(said)["components"]
    slow = {one["component"]: one["latency_ratio"] for one in known if one["slow"]}
    return Answer(slow, len({one["component"] for one in known}))


def watch(lab: Lab, seconds: float) -> tuple[float, Answer]:
    """Ask once a minute until something is suspected or time is up; return when, and the answer."""
    began = time.monotonic()
    while True:
        answer, gone = asked(lab), time.monotonic() - began
        print(f"  {gone / 60:4.1f} min: {answer.compared} compared, suspected {answer.suspects}")
        sys.stdout.flush()
        if answer.suspects or gone >= seconds:
            return gone, answer
        time.sleep(60)


def confirmed(lab: Lab) -> str:
    """Measure what is suspected until Nagios shows an alarm; return what it shows at last."""
    console, service = Console(lab), f"RAW {SLOW} read"
    services = lab.measure_until(
        console, "raw", lambda found: found[service].state in ("WARNING", "CRITICAL")
    )
    return f"{services[service].state} {services[service].output}"


def tell(lab: Lab) -> None:
    """Tell the story in a lab that is up."""
    lab.playbook("site", STANDING)
    lab.on_host("storage_servers", LOOPS)
    lab.playbook("baseline", {"runs": "2", "reason": "before the load", "layer": "raw"})
    lab.on_host("client1", LOAD)
    print("\nAll disks are healthy")
    _, healthy = watch(lab, HEALTHY_S)
    lab.break_now(disk=SLOW, rate=RATE)
    print(f"\n{SLOW} slows down to {RATE}")
    seconds, slow = watch(lab, PATIENCE_S)
    lab.on_host("client1", "systemctl stop lab-load; rm -f /mnt/scratch/load.*")
    print(f"\nsuspected while healthy: {sorted(healthy.suspects) or 'nothing'}")
    print(f"suspected after {seconds / 60:.0f} minutes: {slow.suspects or 'nothing'}")
    print(f"the probe: {confirmed(lab)}")


def main() -> None:
    """Bring up the lab, tell the story, and remove the lab."""
    lab = Lab("inventories/lab", 8477)
    for up in brought_up(lab):
        tell(up)


if __name__ == "__main__":
    try:
        main()
    except LabError as error:
        sys.exit(f"plumbline: {error}")
