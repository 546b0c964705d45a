"""A fake node for playbooks: commands that answer from a folder, and the real plumbline.

``enter NODE COMMAND`` replaces the become plug-in: it runs a command as if on that node, with the
commands of this file before those of the machine.  A started unit "measures" the folder's prepared
records into the real history of the node, for the seconds in ``UNIT.lasts``.  The package is
imported by what needs it: Ansible enters a node for each task.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from plumbline.model.record import Record

FOLDER = Path(os.environ.get("PRETENDED", "."))


def enter(node: str, *words: str) -> NoReturn:
    # the command of the console runs without the paths of the tests
    from tests.processes import can_mount

    os.environ.update(NODE=node, PATH=f"{FOLDER / 'bin'}:{os.environ['PATH']}")
    if (FOLDER / node / "down").exists():
        print("No route to host", file=sys.stderr)
        sys.exit(255)
    # in a mount namespace where the node's files lie over those of the machine; writes are lost
    alone = ["unshare", "--mount", *([] if can_mount() else ["--map-root-user"])]
    command = words[words.index("/bin/sh") :]
    layers = f"lowerdir={FOLDER / node / 'etc'}:/etc,upperdir=/mnt/upper,workdir=/mnt/work"
    script = (
        "mount -t tmpfs tmpfs /mnt && mkdir /mnt/upper /mnt/work && "
        f'mount -t overlay -o {layers} overlay /etc && exec "$@"'
    )
    os.execvp(alone[0], [*alone, "sh", "-c", script, "sh", *command])


def ssh(*words: str) -> NoReturn:
    """Note the arguments and run the command here."""
    with (FOLDER / "ssh").open("a", encoding="utf-8") as file:
        file.write(" ".join(" ".join(words).split()) + "\n")
    os.execv("/bin/sh", ["/bin/sh", "-c", words[-1]])


def run_as_another(*words: str) -> NoReturn:
    behind = "--no-new-privs" if "--no-new-privs" in words else "--"
    command = words[words.index(behind) + 1 :]
    os.execvp(command[0], command)


def unit(action: str, name: str) -> int:
    """Note the call of systemctl; save the records that a unit would measure."""
    if action == "show":
        print("LoadState=loaded\nActiveState=active")
        return 0
    with (FOLDER / "units").open("a", encoding="utf-8") as file:
        file.write(f"{os.environ['NODE']} {action} {name}\n")
    if action != "start":
        return 0
    if (here() / f"{name}.fails").exists():
        return 1
    lasts = here() / f"{name}.lasts"
    if lasts.exists():
        time.sleep(float(lasts.read_text()))
        with (FOLDER / "units").open("a", encoding="utf-8") as file:
            file.write(f"{os.environ['NODE']} end {name}\n")
    measure(name)
    return 0


def measure(name: str) -> None:
    """Save the prepared records of a unit and publish them."""
    from plumbline.model.record import Record
    from plumbline.store.history import History
    from plumbline.store.publish import Publisher
    from plumbline.store.recent import Member

    layer, _, instance = name.removeprefix("plumbline-").removesuffix(".service").partition("@")
    state = here() / "state"
    state.mkdir(exist_ok=True)
    with History(state / "history.sqlite") as history:
        for number, line in enumerate((here() / "measures.jsonl").read_text().splitlines()):
            record = Record.from_json(json.loads(line))
            if layer == "shared" and record.layer == "flows":
                history.save(at_moment(record, instance))
            if record.layer == layer and (layer == "net" or instance in ("", record.component)):
                now = time.time()
                ident = f"{record.id}-{number}-{now}"
                history.save(record._replace(id=ident, started_at=now, finished_at=now))
        document = json.loads((here() / "etc/plumbline/expectations.json").read_text())
        groups = {
            (entry["layer"], entry["component"]): Member(entry["group"], 0.0)
            for entry in document["entries"]
        }
        Publisher(history, state / "snapshot.json", document["node"], groups)(time.time())


def at_moment(record: Record, turn: str) -> Record:
    """Return a record of flows as of the moment of a turn, PART@SECONDS."""
    moment = float(turn.rpartition("@")[2])
    flows = [
        {**flow, "started_at": moment, "finished_at": moment + 10.0}
        for flow in (record.details or {})["flows"]
    ]
    return record._replace(
        id=f"{record.host} {turn}",
        run_id=turn,
        started_at=moment,
        finished_at=moment + 10.0,
        details={"flows": flows},
    )


def journal(*_words: str) -> int:
    print("plumbline: disk oss2-disk1: cannot be opened")
    return 0


def plumbline(verb: str, *words: str) -> int:
    from plumbline.cli import main

    state = here() / "state"
    state.mkdir(exist_ok=True)
    options: dict[str, list[str]] = {
        "export": ["--state", str(state)],
        "history": ["--state", str(state)],
        "judge": [
            *("--expectations", str(here() / "etc/plumbline/expectations.json")),
            *("--snapshot", str(state / "snapshot.json")),
        ],
        "where": ["--expectations", str(here() / "etc/plumbline/expectations.json")],
        "stages": [],
        "probe": [
            *("--expectations", str(here() / "etc/plumbline/expectations.json")),
            *("--state", str(state), "--locks", str(here() / "locks")),
        ],
    }
    return main([verb, *options[verb], *words])


def console(verb: str, *words: str) -> int:
    """Answer like the control host: a compiled plan, and the real command."""
    from plumbline.cli import main

    if verb == "plan":
        print((FOLDER / "plan.json").read_text())
        return 0
    return main([verb, *words])


def here() -> Path:
    return FOLDER / os.environ["NODE"]


COMMANDS: dict[str, Any] = {
    "enter": enter,
    "ssh": ssh,
    "console": console,
    "runuser": run_as_another,
    "setpriv": run_as_another,
    "systemctl": unit,
    "journalctl": journal,
    "plumbline": plumbline,
}

if __name__ == "__main__":
    sys.exit(COMMANDS[sys.argv[1]](*sys.argv[2:]))
