"""The demonstration: a storage cluster that works, breaks, is found out, and is healed.

Leaves the lab up, so that whoever watched can look around; ``make demo-down`` removes it.
"""

from __future__ import annotations

import sys
import time
from typing import Mapping

from tests.lab.lab import Console, Lab, LabError, Service, not_ok

BREAKAGES = (
    ("one disk slows down to 40 MB/s", {"disk": "oss2-disk1", "rate": "40MB/s"}, "oss2-disk1"),
    ("one link slows down to 100 Mbit/s", {"link": "oss3", "rate": "100Mbit"}, "oss3"),
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
    say("A baseline is captured from repeated runs")
    lab.playbook("baseline", {"runs": "3", "reason": "demonstration"})
    say("Every probe runs as its schedule runs it")
    console = Console(lab)
    show(lab.measure(console))
    for story, breakage, part in BREAKAGES:
        say(f"Now {story}")
        lab.playbook("lab_break", breakage)
        show(lab.measure(console))
        say("One slow run is watched; after the next one it is an alarm")
        show(lab.measure_until(console, "all", lambda services: bool(not_ok(services))))
        say(f"{part} is healed")
        lab.playbook("lab_break", {"heal": part})
        show(lab.measure_until(console, "all", lambda services: not not_ok(services)))
    lab.on_host("mon1", "systemctl start plumbline-report")
    say("Done; the lab stays up, make demo-down removes it")
    print(f"  Nagios: {lab.page}   user {console.user}   password {console.password}")


START = time.monotonic()
if __name__ == "__main__":
    try:
        main()
    except LabError as error:
        sys.exit(f"plumbline: {error}")
    except KeyboardInterrupt:
        sys.exit("plumbline: interrupted; the lab stays as it is, make demo-down removes it")
