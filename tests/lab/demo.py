"""The demonstration: a storage cluster breaks, and Nagios names the faults.

The lab stays up and broken for a look around; ``make demo-down`` removes it.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Mapping, NamedTuple
from urllib.parse import urljoin

from tests.lab.lab import Console, Lab, LabError, Service

# Layers that show the faults, and what raises an alarm.
LAYERS = {
    "ost": "one slow run is watched, several are an alarm",
    "net": "a test with each partner is a run, so one measurement may be an alarm",
}
BASELINE_RUNS = "2"
MOST_RUNS = 4
# nagios_notification_delay_min of the lab, and some seconds
NOTIFIED_S = 65.0

PROBLEMS = "cgi-bin/status.cgi?host=all&servicestatustypes=28"
"""Page of Nagios with the services in WARNING, UNKNOWN or CRITICAL."""

NEXT = """\
  Next, with .cache/venv/bin in front of PATH, to ask what is slow, to mend it, and to remove all:
    ansible-playbook -i inventories/lab playbooks/debug_slow_storage.yml -e budget=10min
    ansible-playbook -i inventories/lab playbooks/lab_break.yml -e heal=all
    make demo-down"""


class Fault(NamedTuple):
    """A fault and the service that must show it."""

    story: str
    breakage: Mapping[str, str]
    service: str


class Detection(NamedTuple):
    """A service that showed a fault, some seconds after its beginning."""

    service: Service
    seconds: float


FAULTS = (
    Fault(
        "one disk slows down to 20 MB/s",
        {"disk": "oss2-disk1", "rate": "20MB/s"},
        "OST scratch-OST0002 write read",
    ),
    Fault(
        "one link slows down to 200 Mbit/s",
        {"link": "oss3", "rate": "200Mbit"},
        "NET oss3 send receive",
    ),
)


def say(text: str) -> None:
    """Print a heading with the elapsed time."""
    minutes, seconds = divmod(int(time.monotonic() - START), 60)
    print(f"\n\033[1m[{minutes:2d}:{seconds:02d}] {text}\033[0m", flush=True)


def show(services: Mapping[tuple[str, str], Service]) -> None:
    """Print the bad and the watched services of Nagios, and the number of good ones."""
    for (host, name), service in sorted(services.items()):
        if service.state != "OK" or "watching" in service.output:
            print(f"  {service.state:<9}{host}: {name}\n           {service.output}")
    fine = sum(service.state == "OK" for service in services.values())
    print(f"  Nagios: {fine} of {len(services)} services OK", flush=True)


def main() -> None:
    """Run the whole demonstration on the real Nagios."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    lab = Lab("inventories/lab", 8477)
    say("The lab comes up: one monitoring host, three storage servers, one client")
    lab.playbook("lab_up")
    lab.playbook("lab_break", {"heal": "all"})
    say("plumbline is deployed by its own roles")
    lab.playbook("site")
    say("Baselines are captured from repeated runs")
    lab.playbook("baseline", {"runs": BASELINE_RUNS, "reason": "demonstration"})
    console = Console(lab)
    show(console.page_services())
    say(f"Now {' and '.join(fault.story for fault in FAULTS)}")
    began = time.time()
    detections = broken(lab, console)
    say("Nagios notifies of a problem that has lasted a minute")
    lab.on_host("mon1", "systemctl start plumbline-report")
    time.sleep(NOTIFIED_S)
    console.check_now()
    show(console.page_services())
    say("Done: the lab stays up, and broken")
    table(detections)
    notified = dict(console.notifications(began))
    print(f"\n  Nagios has notified of {', '.join(sorted(notified)) or 'nothing yet'}.")
    print("  Alarms caused by another fault are shown but page nobody.")
    problems = urljoin(lab.page, PROBLEMS)
    print(f"\n  Nagios: {problems}   user {console.user}   password {console.password}")
    print(f"  Report: {urljoin(lab.page, '/plumbline/index.html')}\n\n{NEXT}")


def broken(lab: Lab, console: Console) -> dict[str, Detection]:
    """Apply all faults at once; measure until Nagios shows them, in a few runs at most."""
    for fault in FAULTS:
        lab.break_now(**fault.breakage)
    began = time.monotonic()
    detections: dict[str, Detection] = {}
    for layer, alarm in tuple(LAYERS.items()) * MOST_RUNS:
        say(f"The layer {layer} is measured, in about a minute: {alarm}")
        services = lab.measure_again(console, layer)
        seconds = time.monotonic() - began
        for fault in FAULTS:
            service = services[fault.service]
            if service.state in ("WARNING", "CRITICAL"):
                detections.setdefault(fault.service, Detection(service, seconds))
        show(console.page_services())
        if len(detections) == len(FAULTS):
            break
    return detections


def table(detections: Mapping[str, Detection]) -> None:
    """Print each fault, the service that showed it, and the time to detection."""
    for fault in FAULTS:
        print(f"  {fault.story}")
        if fault.service in detections:
            service, seconds = detections[fault.service]
            print(
                f"    {fault.service}: {service.state} after {seconds:.0f} s\n    {service.output}"
            )
        else:
            print(f"    not named in {MOST_RUNS} runs; a busy machine hides it: measure again")


START = time.monotonic()
if __name__ == "__main__":
    try:
        main()
    except LabError as error:
        sys.exit(f"plumbline: {error}")
    except KeyboardInterrupt:
        sys.exit("plumbline: interrupted; the lab stays as it is, make demo-down removes it")
