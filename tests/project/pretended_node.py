"""A node as playbooks see it: commands that answer from a folder, and the real plumbline.

``enter NODE COMMAND`` stands for the become plug-in: it runs a command as if on that node, with the
commands of this file before those of the machine.  A unit that is started "measures" what the
folder has prepared for it, into the real history of the node.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

from plumbline.cli import main
from plumbline.model.record import Record
from plumbline.store.history import History

FOLDER = Path(os.environ.get("PRETENDED", "."))


def enter(node: str, *words: str) -> NoReturn:
    os.environ.update(NODE=node, PATH=f"{FOLDER / 'bin'}:{os.environ['PATH']}")
    if (FOLDER / node / "down").exists():
        print("No route to host", file=sys.stderr)
        sys.exit(255)
    shell = words.index("/bin/sh")
    os.execv("/bin/sh", words[shell:])


def run_as_another(*words: str) -> NoReturn:
    behind = "--no-new-privs" if "--no-new-privs" in words else "--"
    command = words[words.index(behind) + 1 :]
    os.execvp(command[0], command)


def unit(action: str, name: str) -> int:
    """Note what was asked of systemd; carry out what a unit of a layer would measure."""
    with (FOLDER / "units").open("a", encoding="utf-8") as file:
        file.write(f"{os.environ['NODE']} {action} {name}\n")
    if action != "start":
        return 0
    if (here() / f"{name}.fails").exists():
        return 1
    layer, _, instance = name.removeprefix("plumbline-").removesuffix(".service").partition("@")
    state = here() / "state"
    state.mkdir(exist_ok=True)
    with History(state / "history.sqlite") as history:
        for number, line in enumerate((here() / "measures.jsonl").read_text().splitlines()):
            one = Record.from_json(json.loads(line))
            if one.layer == layer and (layer == "net" or instance in ("", one.component)):
                now = time.time()
                ident = f"{one.id}-{number}-{now}"
                history.save(one._replace(id=ident, started_at=now, finished_at=now))
    return 0


def journal(*_words: str) -> int:
    print("plumbline: disk oss2-disk1: cannot be opened")
    return 0


def plumbline(verb: str, *words: str) -> int:
    state = here() / "state"
    state.mkdir(exist_ok=True)
    options: dict[str, list[str]] = {
        "export": ["--state", str(state)],
        "history": ["--state", str(state)],
        "judge": [
            *("--expectations", str(here() / "expectations.json")),
            *("--snapshot", str(state / "snapshot.json")),
        ],
        "where": ["--expectations", str(here() / "expectations.json")],
        "probe": ["--expectations", str(here() / "expectations.json")],
    }
    return main([verb, *options[verb], *words])


def console(verb: str, *words: str) -> int:
    """Answer as on the control host: a plan that was compiled before, and the real command."""
    if verb == "plan":
        print((FOLDER / "plan.json").read_text())
        return 0
    return main([verb, *words])


def here() -> Path:
    return FOLDER / os.environ["NODE"]


COMMANDS: dict[str, Any] = {
    "enter": enter,
    "console": console,
    "runuser": run_as_another,
    "setpriv": run_as_another,
    "systemctl": unit,
    "journalctl": journal,
    "plumbline": plumbline,
}

if __name__ == "__main__":
    sys.exit(COMMANDS[sys.argv[1]](*sys.argv[2:]))
