"""Kill runs of a layer at random moments, on the node that this file is copied to; see kills.py.

Needs only Python and root.  Prints the counts after all kills as a JSON object.
"""

from __future__ import annotations

import json
import os
import pwd
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

STATE = Path("/var/lib/plumbline-kills")
LOCKS = Path("/run/plumbline")
TOOLS = ("fio", "sgp_dd", "netperf", "mpirun", "prterun", "orterun", "prted")


def main() -> None:
    """Kill runs of a layer."""
    layer, kills = sys.argv[1], int(sys.argv[2])
    prepare()
    counts = dict.fromkeys(("caught", "lost", "changed", "orphans", "locks", "hangs", "damaged"), 0)
    random.seed(os.urandom(8))
    began = time.monotonic()
    run(layer).wait()
    longest = time.monotonic() - began
    if not records():
        sys.exit(f"the first run of {layer} left no record; run it by hand and see what it says")
    for number in range(kills):
        before = records()
        process = run(layer)
        time.sleep(random.uniform(0.05, longest))
        counts["caught"] += process.poll() is None
        whole = number % 2 == 0
        kill(process.pid, whole)
        process.wait()
        if whole:
            counts["hangs"] += hanging(layer)
        compare(before, records(), counts)
        if number % 5 == 4 or number == kills - 1:
            before = records()
            run(layer).wait()
            compare(before, records(), counts)
            counts["orphans"] += len(tools())
            counts["locks"] += len(list(LOCKS.glob("*.lock")))
            counts["hangs"] += hanging(layer)
    with closing(sqlite3.connect(STATE / "history.sqlite")) as database:
        counts["damaged"] += database.execute("PRAGMA integrity_check").fetchone() != ("ok",)
    print(json.dumps({**counts, "kills": kills, "records": len(records())}))


def prepare() -> None:
    """Prepare a separate state with small measurements, and expectations that detect hangs."""
    subprocess.run(["install", "-d", "-o", "plumbline", "-g", "plumbline", STATE], check=True)
    document = json.loads(Path("/etc/plumbline/expectations.json").read_text(encoding="utf-8"))
    for entry in document["entries"]:
        entry["spec"].update(bytes=64 << 20, repeats=1)
    write("expectations.json", document)
    for entry in document["entries"]:
        entry["limits"]["hung_after_s"] = 0.0
    write("impatient.json", document)


def write(name: str, document: object) -> None:
    """Write a document that the user of the probes can read."""
    (STATE / name).write_text(json.dumps(document), encoding="utf-8")
    (STATE / name).chmod(0o644)


def run(layer: str) -> subprocess.Popen[bytes]:
    """Start a run like the unit; the first of all hosts initiates in each even slot."""
    return subprocess.Popen(
        ["plumbline", "probe", layer, "--quiet"]
        + ["--expectations", str(STATE / "expectations.json")]
        + ["--state", str(STATE), *(["--slot", "0"] if layer == "net" else [])],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        user="plumbline",
        group="plumbline",
        extra_groups=[*own_groups(), *(["disk"] if layer == "raw" else [])],
        start_new_session=True,
    )


def own_groups() -> list[int]:
    """Return the groups of the probes' user, as in its units."""
    return os.getgrouplist("plumbline", pwd.getpwnam("plumbline").pw_gid)


def kill(pid: int, whole: bool) -> None:
    """Kill a run, with ``whole`` also its children, like systemd."""
    below = descendants(pid) if whole else []
    for process in (pid, *below):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def descendants(pid: int) -> list[int]:
    """Return the descendants of a process."""
    pids = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError):
            fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
            if int(fields[1]) == pid:
                pids += [int(folder.name), *descendants(int(folder.name))]
    return pids


def tools() -> list[int]:
    """Return the running tools."""
    pids = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (folder / "comm").read_text().strip() in TOOLS:
                pids.append(int(folder.name))
    return pids


def records() -> dict[str, str]:
    """Return all records by their ids."""
    path = STATE / "history.sqlite"
    if not path.exists():
        return {}
    with closing(sqlite3.connect(path)) as database:
        return dict(database.execute("SELECT id, body FROM records"))


def compare(before: dict[str, str], after: dict[str, str], counts: dict[str, int]) -> None:
    """Count lost and changed records."""
    counts["lost"] += len(before.keys() - after.keys())
    counts["changed"] += sum(after.get(name, body) != body for name, body in before.items())


def hanging(layer: str) -> int:
    """Return the number of components judged as hanging, with a limit of zero."""
    done = subprocess.run(
        ["plumbline", "judge", "--json", "--layer", layer, "--expectations"]
        + [STATE / "impatient.json", "--snapshot", STATE / "snapshot.json"],
        stdout=subprocess.PIPE,
        check=False,
        cwd="/",
        user="plumbline",
        group="plumbline",
        extra_groups=own_groups(),
    )
    verdicts = json.loads(done.stdout)["verdicts"] if done.stdout else []
    return sum(" hangs: " in verdict["sentence"] for verdict in verdicts)


if __name__ == "__main__":
    main()
