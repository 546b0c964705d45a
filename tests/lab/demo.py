"""The demonstration: a storage cluster that works, breaks, and is found out.

Leaves the lab up with what is broken, so that whoever watched can look around; ``make demo-down``
removes it.
"""

from __future__ import annotations

import sys
import time
from typing import Mapping, NamedTuple
from urllib.parse import urljoin

from tests.lab.lab import Console, Lab, LabError, Service

# The layers that see what is broken.
LAYERS = ("ost", "net")
BASELINE_RUNS = "2"
MOST_RUNS = 4

PROBLEMS = "cgi-bin/status.cgi?host=all&servicestatustypes=28"
"""The page of Nagios with what is WARNING, UNKNOWN or CRITICAL."""

NEXT = """\
  Next, with .cache/venv/bin in front of PATH, to ask what is slow, to mend it, and to remove all:
    ansible-playbook -i inventories/lab playbooks/debug_slow_storage.yml -e budget=10min
    ansible-playbook -i inventories/lab playbooks/lab_break.yml -e heal=all
    make demo-down"""


class Fault(NamedTuple):
    """What is broken, and the service that has to say so."""

    story: str
    breakage: Mapping[str, str]
    service: str


class Found(NamedTuple):
    """A service that named a fault, so many seconds after it began."""

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
    """Print a heading with the minutes that have gone by."""
    minutes, seconds = divmod(int(time.monotonic() - START), 60)
    print(f"\n\033[1m[{minutes:2d}:{seconds:02d}] {text}\033[0m", flush=True)


def show(services: Mapping[str, Service]) -> None:
    """Print what Nagios shows: first what is not OK, then how many are."""
    for name, service in sorted(services.items()):
        if service.state != "OK":
            print(f"  {service.state:<9}{name}\n           {service.output}")
    fine = sum(service.state == "OK" for service in services.values())
    print(f"  Nagios: {fine} of {len(services)} services OK", flush=True)


def main() -> None:
    """Tell the whole story on the real Nagios."""
    lab = Lab("inventories/lab", 8477)
    say("The lab comes up: one monitoring host, three storage servers, one client")
    lab.playbook("lab_up")
    lab.playbook("lab_break", {"heal": "all"})
    say("plumbline is deployed by its own roles")
    lab.playbook("site")
    say("Baselines are captured from repeated runs")
    lab.playbook("baseline", {"runs": BASELINE_RUNS, "reason": "demonstration"})
    console = Console(lab)
    show(console.services())
    say(f"Now {' and '.join(fault.story for fault in FAULTS)}")
    began = time.time()
    found = broken(lab, console)
    lab.on_host("mon1", "systemctl start plumbline-report")
    say("Done: the lab stays up, and broken")
    table(found)
    notified = dict(console.told(began))
    print(f"\n  Nagios has notified of {', '.join(sorted(notified)) or 'nothing yet'}.")
    print("  An alarm that follows from another one is shown, and notifies nobody.")
    problems = urljoin(lab.page, PROBLEMS)
    print(f"\n  Nagios: {problems}   user {console.user}   password {console.password}")
    print(f"  Report: {urljoin(lab.page, '/plumbline/index.html')}\n\n{NEXT}")


def broken(lab: Lab, console: Console) -> dict[str, Found]:
    """Break everything at once; measure until Nagios has named all of it, or not in some runs."""
    for fault in FAULTS:
        lab.break_now(**fault.breakage)
    began = time.monotonic()
    found: dict[str, Found] = {}
    for layer in LAYERS * MOST_RUNS:
        say(
            f"The layer {layer} is measured, in about a minute: one slow run is watched, several "
            "are an alarm"
        )
        services = lab.measure_again(console, layer)
        seconds = time.monotonic() - began
        for fault in FAULTS:
            service = services[fault.service]
            if service.state in ("WARNING", "CRITICAL"):
                found.setdefault(fault.service, Found(service, seconds))
        show(services)
        if len(found) == len(FAULTS):
            break
    return found


def table(found: Mapping[str, Found]) -> None:
    """Print what was broken, and how soon which service said it."""
    for fault in FAULTS:
        print(f"  {fault.story}")
        if fault.service in found:
            service, seconds = found[fault.service]
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
