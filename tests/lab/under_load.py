"""Time to detection of a slow disk by latency under load, without probes.

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
"""Less than the load: a disk that keeps up has no queue."""

HEALTHY_S, PATIENCE_S = 600.0, 1800.0
STANDING = {"counters_enabled": "true", "metrics_enabled": "true", "prometheus_enabled": "true"}
"""Optional roles: counters on all hosts, and a Prometheus that stores them."""

# Enough files for all disks; each write reaches the disk before the next one of its file.
LOAD = (
    "systemd-run --unit=lab-load --collect fio --name=load --directory=/mnt/scratch --numjobs=36"
    " --rw=randwrite --bs=256k --size=8m --fdatasync=1 --ioengine=psync --time_based"
    " --thinktime=100ms --runtime=1h"
)
# The lab's disks are loop devices, which node exporter excludes by default.
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
    """The suspects with their latency ratios, and the number of compared components."""

    suspects: dict[str, float]
    compared: int


def latency(lab: Lab) -> Answer:
    """Return the present suspects by latency under load."""
    output = lab.on_host("mon1", ASK)
    if not output.startswith("{"):
        print(f"  {output}")
        return Answer({}, 0)
    components: list[dict[str, Any]] = json.loads(output)["components"]
    slow = {row["component"]: row["latency_ratio"] for row in components if row["slow"]}
    return Answer(slow, len({row["component"] for row in components}))


def watch(lab: Lab, seconds: float) -> tuple[float, Answer]:
    """Query once a minute until there is a suspect or time is up; return time and answer."""
    began = time.monotonic()
    while True:
        answer, elapsed = latency(lab), time.monotonic() - began
        print(f"  {elapsed / 60:4.1f} min: {answer.compared} compared, suspected {answer.suspects}")
        sys.stdout.flush()
        if answer.suspects or elapsed >= seconds:
            return elapsed, answer
        time.sleep(60)


def confirmed(lab: Lab) -> str:
    """Measure the suspect until Nagios shows an alarm; return the last state and output."""
    console, service = Console(lab), f"RAW {SLOW} read"
    services = lab.measure_until(
        console, raw=lambda shown: shown[service].state in ("WARNING", "CRITICAL")
    )
    return f"{services[service].state} {services[service].output}"


def run(lab: Lab) -> None:
    """Run the experiment in a lab that is up."""
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
    """Bring up the lab, run the experiment, and remove the lab."""
    lab = Lab("inventories/lab", 8477)
    for up in brought_up(lab):
        run(up)


if __name__ == "__main__":
    try:
        main()
    except LabError as error:
        sys.exit(f"plumbline: {error}")
