"""Storage that dies in the midst of a run: who is accused, and who is to be.

Runs against a lab that is up and has plumbline: ``python -m tests.bench.dead_storage --runs 5``.
Five faults, each in its own way: the link of a server, a brick's process, a disk that gives I/O
errors, a client's daemon that does not answer, and one that is gone.  Measured are small files, in
a state of their own.  Ends with 1 where anything healthy is accused, or the fault is not named.
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
"""Reasons for which a component is at fault itself."""
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
    """What a run said: the state of each component, the sentence of each, and the group's."""

    verdicts: dict[str, dict[str, Any]]
    group: dict[str, Any]
    outcomes: dict[str, set[str]]
    seconds: float

    def accused(self, guilty: Sequence[str]) -> list[str]:
        """Return the healthy components that are said to be broken or to hang."""
        return [
            name
            for name, verdict in self.verdicts.items()
            if verdict["reason"] in ACCUSED and name not in guilty
        ]


class Fault(NamedTuple):
    """One way to die: how it is brought about and healed, who is guilty, what must be said.

    ``during`` says that it comes in the midst of a run and not before it.
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
    """Measure as a timer would, and return what is said then."""
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
    groups = [one for one in judged["verdicts"] if one["group"]]
    verdicts = {one["component"]: one for one in run["verdicts"]}
    return Round(verdicts, groups[0] if groups else {}, outcomes, seconds)


def cut(_lab: Lab) -> None:
    """Take the link of a server down."""
    control("ip", "link", "set", "to-oss2", "down")


def join(_lab: Lab) -> None:
    """Take it up again."""
    control("ip", "link", "set", "to-oss2", "up")


def start_bricks(lab: Lab) -> None:
    """Start the bricks that are not running."""
    lab.on_host("oss1", "gluster --mode=script volume start scratch force")


def mount_again(lab: Lab) -> None:
    """Unmount what is dead and mount the file system."""
    lab.on_host("client1", "umount -l /mnt/scratch; systemctl restart mnt-scratch.mount")


def says_server(said: Round) -> bool:
    """Return whether the server is named where a target of it was missed."""
    missed = any("unreachable" in said.outcomes.get(name, ()) for name in BEHIND)
    if not missed:
        return all("ok" in said.outcomes[name] for name in BEHIND)
    named: bool = said.group["state"] == "CRITICAL" and "server oss2" in said.group["sentence"]
    return named


def says_broken(said: Round) -> bool:
    """Return whether the target is CRITICAL and the group not OK."""
    shown: bool = said.group["state"] != "OK"
    return shown and says_critical(said, BROKEN)


def says_critical(said: Round, name: str) -> bool:
    """Return whether a component is CRITICAL."""
    critical: bool = said.verdicts[name]["state"] == "CRITICAL"
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
        lambda said: says_critical(said, "oss2-disk1"),
        layer="raw",
        host="oss2",
    ),
    Fault(
        "stopped",
        lambda lab: _on(lab, "client1", CLIENT % "STOP"),
        lambda lab: _on(lab, "client1", CLIENT % "CONT"),
        (),
        lambda said: {one["state"] for one in said.verdicts.values()} == {"UNKNOWN"},
        options="--component scratch-OST0000 --component scratch-OST0001",
    ),
    Fault(
        "mount",
        lambda lab: _on(lab, "client1", CLIENT % "KILL"),
        mount_again,
        (),
        lambda said: said.group["state"] == "CRITICAL" and "has died" in said.group["sentence"],
    ),
)


def _on(lab: Lab, host: str, command: str) -> None:
    lab.on_host(host, command)


@contextmanager
def struck(lab: Lab, fault: Fault) -> Iterator[None]:
    """Bring a fault about, and heal it whatever happens."""
    try:
        fault.strike(lab)
        yield
    finally:
        fault.heal(lab)


def once(lab: Lab, fault: Fault) -> Round:
    """Let storage die once and return what was said."""
    if not fault.during:
        with struck(lab, fault):
            return probe(lab, fault)
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(probe, lab, fault)
        time.sleep(random.uniform(3.0, 6.0))
        with struck(lab, fault):
            return running.result()


def healed(lab: Lab, fault: Fault, patience_s: float = 120.0) -> bool:
    """Return whether a run is fine again: nothing is left of the fault."""
    limit = time.monotonic() + patience_s
    while time.monotonic() < limit:
        said = probe(lab, fault)
        if all(found == {"ok"} for found in said.outcomes.values()) and said.outcomes:
            return True
        time.sleep(2.0)
    return False


def campaign(lab: Lab, faults: Sequence[Fault], runs: int) -> bool:
    """Carry out all rounds, print each, and return whether all was as it should be."""
    good = True
    for fault in faults:
        for number in range(1, runs + 1):
            said = once(lab, fault)
            accused, named = said.accused(fault.guilty), fault.named(said)
            well = healed(lab, fault)
            good = good and not accused and named and well
            bad = {name: sorted(found) for name, found in said.outcomes.items() if found != {"ok"}}
            print(
                f"{fault.name:10s} {number}: healthy accused {len(accused)} {accused or ''}, "
                f"named {named}, healed {well}, {said.seconds:.0f} s; {bad}; "
                f"group {said.group.get('state')}: {said.group.get('sentence', '')[:160]}",
                flush=True,
            )
            for name in (*accused, *fault.guilty):
                print(f"    {name}: {said.verdicts.get(name, {}).get('sentence')}", flush=True)
    return good


def main() -> int:
    """Carry out the campaign that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="of each fault (default: 5)")
    parser.add_argument("--fault", action="append", choices=[one.name for one in FAULTS])
    arguments = parser.parse_args()
    lab = Lab("inventories/lab", 8477)
    for host in ("client1", "oss2"):
        lab.on_host(host, PREPARE)
    chosen = [one for one in FAULTS if arguments.fault is None or one.name in arguments.fault]
    return 0 if campaign(lab, chosen, arguments.runs) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except LabError as error:
        sys.exit(f"plumbline: {error}")
