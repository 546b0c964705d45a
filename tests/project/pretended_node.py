"""The real plumbline on a fake node for playbooks, whose other commands are pretended_node.sh.

Each call is a fork of a process that has imported plumbline, and what modules of Ansible import; it
sees the files of the node.

A started unit "measures" the prepared records of the node's folder into its real history, for the
seconds in ``UNIT.lasts``.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any, Sequence

from plumbline import cli
from plumbline.model.record import Record
from plumbline.store.history import History
from plumbline.store.publish import Publisher
from plumbline.store.recent import Member

IMPORTED = (
    "ansible.module_utils.basic",
    "plumbline.cli.records",
    "plumbline.cli.verdicts",
    "plumbline.parts.locate.site",
    "plumbline.site.inventory",
    "yaml",
)
"""Modules that most calls need."""


def main(words: Sequence[str]) -> int:
    """Run a program of ``COMMANDS``, or Python: a module of Ansible comes on standard input."""
    _enter(int(os.environ["CALLER"]))
    if not words:
        program = sys.modules["__main__"] = ModuleType("__main__")
        exec(compile(sys.stdin.read(), "<stdin>", "exec"), program.__dict__)
        return 0
    if words[0] not in COMMANDS:
        os.execv(sys.executable, [sys.executable, *words])
    code: int = COMMANDS[words[0]](*words[1:])
    return code


def _enter(caller: int) -> None:
    """See the files that a process sees, whose user namespace may be its own."""
    cwd = Path.cwd()
    for kind in ("user", "mnt"):
        theirs, ours = (f"/proc/{process}/ns/{kind}" for process in (caller, "self"))
        if os.readlink(theirs) != os.readlink(ours):
            namespace = os.open(theirs, os.O_RDONLY)
            if ctypes.CDLL(None, use_errno=True).setns(namespace, 0):
                error = ctypes.get_errno()
                raise OSError(error, os.strerror(error), theirs)
            os.close(namespace)
    os.chdir(cwd)


def folder() -> Path:
    """Return the folder of the site."""
    return Path(os.environ["PRETENDED"])


def unit(name: str) -> int:
    """Save the records that a unit would measure, if it does not fail."""
    if (here() / f"{name}.fails").exists():
        return 1
    lasts = here() / f"{name}.lasts"
    if lasts.exists():
        time.sleep(float(lasts.read_text()))
        with (folder() / "units").open("a", encoding="utf-8") as file:
            file.write(f"{os.environ['NODE']} end {name}\n")
    measure(name)
    return 0


def measure(name: str) -> None:
    """Save the prepared records of a unit and publish them."""
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


def plumbline(verb: str, *words: str) -> int:
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
    return cli.main([verb, *options[verb], *words])


def console(verb: str, *words: str) -> int:
    """Answer like the control host: a compiled plan, and the real command."""
    if verb == "plan":
        print((folder() / "plan.json").read_text())
        return 0
    return cli.main([verb, *words])


def here() -> Path:
    return folder() / os.environ["NODE"]


COMMANDS: dict[str, Any] = {"console": console, "start": unit, "plumbline": plumbline}
