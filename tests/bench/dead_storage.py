"""Storage that dies during a run: which components are blamed, and which should be.

Needs a running lab with plumbline: ``python -m tests.bench.dead_storage --runs 5``.  Five faults:
the link of a server, a brick's process, a disk with I/O errors, a client's daemon that does not
answer, and a dead one.  Measures small files in a separate state.  Ends with 1 if a healthy part is
blamed or the fault is not named.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Callable, Iterator, NamedTuple, Sequence

from tests.lab.lab import Lab, LabError, control

STATE = "/var/lib/plumbline-dead"
SHORT = f"{STATE}/expectations.json"
AS_PROBE = "runuser -u plumbline -- plumbline"
TARGETS = tuple(f"scratch-OST000{number}" for number in range(6))
BEHIND = ("scratch-OST0002", "scratch-OST0003")
BROKEN = BEHIND[0]
ACCUSED = ("hangs", "hung", "broken")
"""Reasons that blame the component itself."""
# Small files, so that a run of all targets takes some ten seconds.
PREPARE = f"""
install -d -o plumbline -g plumbline {STATE}
python3 - <<'EOF'
import json
document = json.load(open("/etc/plumbline/expectations.json"))
for entry in document["entries"]:
    entry["spec"].update(bytes=32 << 20, repeats=1)
json.dump(document, open("{SHORT}", "w"))
EOF
chmod 644 {SHORT}
"""
BRICK = (
    "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline 2>/dev/null | "
    "grep -q '^/usr/sbin/glusterfsd .*/data/disk1/brick ' && kill -KILL ${p#/proc/}; done; true"
)
CLIENT = (
    "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline 2>/dev/null | "
    "grep -q '^/usr/sbin/glusterfs .*/mnt/scratch *$' && kill -%s ${p#/proc/}; done; true"
)


class Round(NamedTuple):
    """Result of a run: the verdict of each component and of the group, and the outcomes."""

    verdicts: dict[str, dict[str, Any]]
    group: dict[str, Any]
    outcomes: dict[str, set[str]]
    seconds: float

    def accused(self, guilty: Sequence[str]) -> list[str]:
        """Return the healthy components judged as broken or hung."""
        return [
            name
            for name, verdict in self.verdicts.items()
            if verdict["reason"] in ACCUSED and name not in guilty
        ]


class Fault(NamedTuple):
    """A fault: how to cause and heal it, the guilty components, and a check that it is named.

    ``during`` is whether it strikes during a run and not before it.
    """

    name: str
    strike: Callable[[Lab], None]
    heal: Callable[[Lab], None]
    guilty: tuple[str, ...]
    named: Callable[[Round], bool]
    during: bool = False
    layer: str = "ost"
    host: str = "client1"
    options: str = ""


def probe(lab: Lab, fault: Fault) -> Round:
    """Measure like a timer, and return the result."""
    words = f"--expectations {SHORT}"
    began = time.monotonic()
    run = json.loads(
        lab.on_host(
            fault.host,
            f"{AS_PROBE} probe {fault.layer} {words} --state {STATE} --json --quiet "
            f"{fault.options}; true",
        )
        if fault.layer == "ost"
        else lab.on_host(
            fault.host,
            "setpriv --reuid plumbline --regid plumbline "
            "--groups disk,$(id -G plumbline | tr ' ' ,) -- plumbline "
            f"probe {fault.layer} {words} --state {STATE} --json --quiet {fault.options}; true",
        )
    )
    seconds = time.monotonic() - began
    judged = json.loads(
        lab.on_host(
            fault.host,
            f"{AS_PROBE} judge --json --layer {fault.layer} {words} "
            f"--snapshot {STATE}/snapshot.json; true",
        )
    )
    outcomes: dict[str, set[str]] = {}
    for record in run["records"]:
        outcomes.setdefault(record["component"], set()).add(record["outcome"])
    groups = [verdict for verdict in judged["verdicts"] if verdict["group"]]
    verdicts = {verdict["component"]: verdict for verdict in run["verdicts"]}
    return Round(verdicts, groups[0] if groups else {}, outcomes, seconds)


def cut(_lab: Lab) -> None:
    """Set the link of a server down."""
    control("ip", "link", "set", "to-oss2", "down")


def join(_lab: Lab) -> None:
    """Set it up again."""
    control("ip", "link", "set", "to-oss2", "up")


def start_bricks(lab: Lab) -> None:
    """Start the bricks that are not running."""
    lab.on_host("oss1", "gluster --mode=script volume start scratch force")


def mount_again(lab: Lab) -> None:
    """Unmount the dead mount and mount the file system."""
    lab.on_host("client1", "umount -l /mnt/scratch; systemctl restart mnt-scratch.mount")


def says_server(result: Round) -> bool:
    """Return whether the server is named if one of its targets was unreachable."""
    missed = any("unreachable" in result.outcomes.get(name, ()) for name in BEHIND)
    if not missed:
        return all("ok" in result.outcomes[name] for name in BEHIND)
    named: bool = result.group["state"] == "CRITICAL" and "server oss2" in result.group["sentence"]
    return named


def says_broken(result: Round) -> bool:
    """Return whether the target is CRITICAL and the group not OK."""
    shown: bool = result.group["state"] != "OK"
    return shown and says_critical(result, BROKEN)


def says_critical(result: Round, name: str) -> bool:
    """Return whether a component is CRITICAL."""
    critical: bool = result.verdicts[name]["state"] == "CRITICAL"
    return critical


FAULTS = (
    Fault("link", cut, join, (), says_server, during=True),
    Fault("brick", lambda lab: _on(lab, "oss2", BRICK), start_bricks, (BROKEN,), says_broken),
    Fault(
        "errors",
        lambda lab: lab.break_now(errors="oss2-disk1"),
        lambda lab: lab.break_now(heal="all"),
        (BROKEN,),
        says_broken,
    ),
    Fault(
        "raw errors",
        lambda lab: lab.break_now(errors="oss2-disk1"),
        lambda lab: lab.break_now(heal="all"),
        ("oss2-disk1",),
        lambda result: says_critical(result, "oss2-disk1"),
        layer="raw",
        host="oss2",
    ),
    Fault(
        "stopped",
        lambda lab: _on(lab, "client1", CLIENT % "STOP"),
        lambda lab: _on(lab, "client1", CLIENT % "CONT"),
        (),
        lambda result: {verdict["state"] for verdict in result.verdicts.values()} == {"UNKNOWN"},
        options="--component scratch-OST0000 --component scratch-OST0001",
    ),
    Fault(
        "mount",
        lambda lab: _on(lab, "client1", CLIENT % "KILL"),
        mount_again,
        (),
        lambda result: (
            result.group["state"] == "CRITICAL" and "has died" in result.group["sentence"]
        ),
    ),
)


def _on(lab: Lab, host: str, command: str) -> None:
    lab.on_host(host, command)


@contextmanager
def struck(lab: Lab, fault: Fault) -> Iterator[None]:
    """Cause a fault, and heal it at the end."""
    try:
        fault.strike(lab)
        yield
    finally:
        fault.heal(lab)


def once(lab: Lab, fault: Fault) -> Round:
    """Cause a fault once and return the result of the run."""
    if not fault.during:
        with struck(lab, fault):
            return probe(lab, fault)
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(probe, lab, fault)
        time.sleep(random.uniform(3.0, 6.0))
        with struck(lab, fault):
            return running.result()


def healed(lab: Lab, fault: Fault, timeout_s: float = 120.0) -> bool:
    """Return whether a run is fine again, without any trace of the fault."""
    limit = time.monotonic() + timeout_s
    while time.monotonic() < limit:
        result = probe(lab, fault)
        if all(values == {"ok"} for values in result.outcomes.values()) and result.outcomes:
            return True
        time.sleep(2.0)
    return False


def campaign(lab: Lab, faults: Sequence[Fault], runs: int) -> bool:
    """Run all rounds, print each, and return whether all were as expected."""
    good = True
    for fault in faults:
        for number in range(1, runs + 1):
            result = once(lab, fault)
            accused, named = result.accused(fault.guilty), fault.named(result)
            well = healed(lab, fault)
            good = good and not accused and named and well
            bad = {
                name: sorted(values) for name, values in result.outcomes.items() if values != {"ok"}
            }
            print(
                f"{fault.name:10s} {number}: healthy accused {len(accused)} {accused or ''}, "
                f"named {named}, healed {well}, {result.seconds:.0f} s; {bad}; "
                f"group {result.group.get('state')}: {result.group.get('sentence', '')[:160]}",
                flush=True,
            )
            for name in (*accused, *fault.guilty):
                print(f"    {name}: {result.verdicts.get(name, {}).get('sentence')}", flush=True)
    return good


def main() -> int:
    """Run the campaign."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="of each fault (default: 5)")
    parser.add_argument("--fault", action="append", choices=[fault.name for fault in FAULTS])
    arguments = parser.parse_args()
    lab = Lab("inventories/lab", 8477)
    for host in ("client1", "oss2"):
        lab.on_host(host, PREPARE)
    chosen = [f for f in FAULTS if arguments.fault is None or f.name in arguments.fault]
    return 0 if campaign(lab, chosen, arguments.runs) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except LabError as error:
        sys.exit(f"plumbline: {error}")
