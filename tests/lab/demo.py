"""The demonstration: a storage cluster breaks, and Nagios names the faults.

The lab stays up and broken for a look around; ``make demo-down`` removes it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from itertools import cycle, islice
from typing import Any, Iterable, Iterator, Mapping, NamedTuple, Sequence
from urllib.parse import urljoin

from tests.lab.lab import ROOT, Console, Lab, LabError, Service
from tests.lab.screen import Screen, say

LOG = ROOT / ".cache" / "demo.log"
STEPS = {
    "raw": "the servers read their disks",
    "net": "the hosts test the network in pairs",
    "ost": "client1 writes and reads each target",
    "fs": "client1 and oss1 drive all targets at once",
    "mdt": "client1 creates and removes files",
}
ROUNDS = (("ost", "net", "raw"), ("ost", "raw", "raw", "raw"))
"""Layers in the order of their runs: what users feel first, then what tells the causes apart.

Raw reads after a loss tell a disk from the target on it, and a server from its link.  Reads alone
are weaker evidence than writes and reads of a target: an alarm of the disk itself takes more runs.
"""

MAX_ROUNDS = 4
# several times nagios_notification_delay_min of the lab, in minutes of 5 s
NOTIFIED_S = 60.0
SUSPECTS = (
    "cd / && runuser -u plumbline-console --"
    " plumbline locate --plan /etc/plumbline-console/plan.json"
    " --history /var/lib/plumbline-console/history.sqlite --json; test $? -le 3"
)

PROBLEMS = "cgi-bin/status.cgi?host=all&servicestatustypes=28"
"""Page of Nagios with the services in WARNING, UNKNOWN or CRITICAL."""

NEXT = """\
  Next, with .cache/venv/bin in front of PATH, to ask what is slow, to mend it, and to remove all:
    ansible-playbook -i inventories/lab playbooks/debug_slow_storage.yml -e budget=10min
    ansible-playbook -i inventories/lab playbooks/lab_break.yml -e heal=all
    make demo-down"""


class Fault(NamedTuple):
    """A fault, the component that it breaks, and the service that must show it."""

    story: str
    breakage: Mapping[str, str]
    component: str
    service: str


FAULTS = (
    Fault(
        "one disk slows down to 20 MB/s",
        {"disk": "oss2-disk1", "rate": "20MB/s"},
        "oss2-disk1",
        "OST scratch-OST0002 write read",
    ),
    Fault(
        "one link slows down to 200 Mbit/s",
        {"link": "oss3", "rate": "200Mbit"},
        "oss3-nic",
        "NET oss3 send receive",
    ),
)


class Suspect(NamedTuple):
    """Components that explain slow measurements equally well, and what follows from them."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    follows: tuple[str, ...]

    @property
    def words(self) -> str:
        """The suspect by kind and name, such as ``disk oss2-disk1``."""
        return " or ".join(map(" ".join, zip(self.kinds, self.names)))


def suspects(found: Mapping[str, Any]) -> list[Suspect]:
    """Return the sets of suspects in the answer of ``plumbline locate --json``."""
    return [
        Suspect(
            tuple(part["component"] for part in group["suspects"]),
            tuple(part["kind"] for part in group["suspects"]),
            tuple(dict.fromkeys(name(slow) for slow in group["slow"])),
        )
        for group in found["sets"]
    ]


def name(slow: Mapping[str, str]) -> str:
    """Return how the service of a slow measurement begins, such as ``OST scratch-OST0002``."""
    return f"{slow['layer'].upper()} {slow['component']}"


def main() -> None:
    """Run the whole demonstration on the real Nagios."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    screen = Screen(LOG)
    print(f"What Ansible does is in {LOG.relative_to(ROOT)}.")
    lab = Lab("inventories/lab", 8477, show=screen.keep)
    with screen.stage("The lab comes up: one monitoring host, three storage servers, one client"):
        lab.playbook("lab_up")
        lab.break_now(heal="all")
    with screen.stage("plumbline is deployed by its own roles"):
        lab.playbook("site")
    with screen.stage("Everything is measured, and becomes the baseline"):
        measure(lab, screen, STEPS)
        lab.playbook("baseline", {"runs": "0", "reason": "demonstration"})
        console = Console(lab)
        report(screen, console, "all measured")
    start = time.time()
    with screen.stage(f"Now {' and '.join(fault.story for fault in FAULTS)}"):
        for fault in FAULTS:
            lab.break_now(**fault.breakage)
        seconds = detected(lab, console, screen)
    with screen.stage("The report is drawn, and Nagios notifies of what lasts 5 seconds"):
        lab.on_host("mon1", "systemctl start plumbline-report")
        names = notified(console, screen, start, len(seconds))
        found = suspects(json.loads(lab.on_host("mon1", SUSPECTS)))
    say("Done: the lab stays up, and broken")
    print("\n".join(table(found, console.page_services(), seconds)))
    print("\n".join(unknown(console.page_services())))
    print(f"\n  Nagios has notified of {', '.join(names) or 'nothing yet'}.")
    print("  Alarms caused by another fault are shown but page nobody.")
    problems = urljoin(lab.page, PROBLEMS)
    print(f"  Nagios: {problems}   user {console.user}   password {console.password}")
    print(f"  Report: {urljoin(lab.page, '/plumbline/index.html')}\n\n{NEXT}")


def report(screen: Screen, console: Console, text: str) -> None:
    """Print how many services are in which state; the log has those that are not OK."""
    services = console.page_services()
    screen.line(f"{text}: {counted(services)}")
    for line in unknown(services):
        screen.line(line)
    for (host, name), service in sorted(services.items()):
        if service.state != "OK":
            screen.keep(f"{service.state} {host}: {name}: {service.output}\n")


def unknown(services: Mapping[tuple[str, str], Service]) -> Iterator[str]:
    """Yield how many services of each kind have no verdict, and the reason of the first."""
    kinds = dict[str, list[str]]()
    for _, service in sorted(services.items()):
        if service.state == "UNKNOWN":
            kind, _, reason = service.output.partition(" UNKNOWN - ")
            kinds.setdefault(kind, []).append(reason)
    for kind, reasons in kinds.items():
        yield f"  UNKNOWN {len(reasons)} {kind}: {reasons[0]}"


def counted(services: Mapping[tuple[str, str], Service]) -> str:
    """Return how many services Nagios shows in which state."""
    states = [service.state for service in services.values()]
    watched = sum("watching" in service.output for service in services.values())
    words = [f"{states.count(state)} {state}" for state in dict.fromkeys(sorted(states))]
    return f"Nagios: {', '.join(words)}" + (f"; {watched} watched" if watched else "")


def measure(lab: Lab, screen: Screen, layers: Iterable[str]) -> None:
    """Measure layers one after another."""
    for layer in layers:
        screen.step(STEPS[layer])
        lab.measure_only(layer)


def detected(lab: Lab, console: Console, screen: Screen) -> dict[str, float]:
    """Measure in rounds until Nagios shows all faults; return the seconds to each alarm."""
    start = time.monotonic()
    seconds: dict[str, float] = {}
    for number, layers in enumerate(islice(cycle(ROUNDS), MAX_ROUNDS), 1):
        measure(lab, screen, layers)
        screen.step("Nagios checks all services")
        services = console.check_now()
        for fault in FAULTS:
            if services[fault.service].state in ("WARNING", "CRITICAL"):
                seconds.setdefault(fault.service, time.monotonic() - start)
        report(screen, console, f"{', '.join(layers)} measured")
        if len(seconds) == len(FAULTS) and number >= len(ROUNDS):
            break
    return seconds


def notified(console: Console, screen: Screen, start: float, faults: int) -> list[str]:
    """Wait until Nagios has notified of as many services as there are faults; return them."""
    screen.step("Nagios waits for 5 seconds before it notifies")
    limit = time.monotonic() + NOTIFIED_S
    while time.monotonic() < limit and len(dict(console.notifications(start))) < faults:
        time.sleep(2)
        console.check_now()
    return sorted(dict(console.notifications(start)))


def table(
    found: Sequence[Suspect],
    services: Mapping[tuple[str, str], Service],
    seconds: Mapping[str, float],
) -> Iterator[str]:
    """Yield for each fault what is named, by which services, and what follows from it.

    Several measured components behind a part give it a path service; a disk with one target has
    that of its raw reads, and until it is red that of its target bears the alarm.
    """
    bad = {name: service for (_, name), service in services.items() if service.state != "OK"}
    for fault in FAULTS:
        yield f"  {fault.story}"
        named = [suspect for suspect in found if fault.component in suspect.names]
        if fault.service not in seconds or not named:
            yield "    not found; a busy machine hides it: measure again"
            continue
        suspect = named[0]
        behind = tuple(f"{part} " for part in suspect.follows)
        slow = [name for name in bad if name.startswith(behind)]
        own = [name for name in bad if {*suspect.names} & {*name.split()}] or slow
        paths = [name for name in bad if name.startswith("PATH ") and name not in own]
        shown = own + [name for name in paths if suspect.words in bad[name].output]
        others = [f"{name} ({bad[name].state})" for name in slow if name not in own]
        yield f"    named    {suspect.words}; first alarm after {seconds[fault.service]:.0f} s"
        yield f"    by       {', '.join(f'{name} ({bad[name].state})' for name in shown)}"
        yield f"    follows  {', '.join(others) or 'nothing else'}"


if __name__ == "__main__":
    try:
        main()
    except LabError as error:
        sys.exit(f"plumbline: {error}")
    except KeyboardInterrupt:
        sys.exit("plumbline: interrupted; the lab stays as it is, make demo-down removes it")
