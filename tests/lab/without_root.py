"""The demonstration without root: real probes, a recorded site, a simulated site.

Writes into .cache/demo and into a temporary folder that it removes.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Optional

from tests.characterization.door import Node, bring
from tests.characterization.histories import END_S, baselines, nodes_of
from tests.characterization.product import COMMAND, ROOT, Answer
from tests.characterization.scenes import SCENES
from tests.lab.screen import say
from tests.project.repository import tracked

FOLDER = ROOT / ".cache" / "demo"
RECORDED = "example-faults"
"""The scene whose twelve recorded nights are moved to the last twelve."""
SIMULATED = ("--days", "21", "--fault", "oss02-lun1=60%@3", "--fault", "work-OST0007=30%@4")

WORST_STATE = 3
"""Greatest exit code that is a state of Nagios; a greater one is a failure of the command."""

NEXT = """\
  Next: docs/guide.md describes a site of your own. Root of a machine or virtual machine gets
  more of `make demo`: a storage cluster in containers, with a broken disk and link in Nagios."""


def show(*words: str, limit: int = 40) -> None:
    """Print a command as typed and the first lines of its output; exit if it fails."""
    print(f"  $ plumbline {shlex.join(words)}", flush=True)
    number = 0
    with subprocess.Popen([COMMAND, *words], stdout=subprocess.PIPE, text=True) as process:
        for number, line in enumerate(process.stdout or (), 1):
            if number <= limit:
                print(f"  {line}", end="", flush=True)
    if number > limit:
        print(f"  ... and {number - limit} lines more")
    if process.returncode > WORST_STATE:
        sys.exit(
            f"plumbline: `plumbline {words[0]}` ended with {process.returncode}; "
            "the demonstration ends here"
        )


def quietly(*words: str, at: float = 0.0) -> Answer:
    """Return the answer of a command; ``at`` exists only for the signature that ``bring`` needs."""
    done = subprocess.run(
        [COMMAND, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    return Answer(done.returncode, done.stdout, done.stderr)


def main() -> None:
    """Show each part of plumbline, on this machine and on two example sites."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    say("Four directories of this machine are compared, by the probe that nodes run each night")
    directories(shutil.which("fio"))
    say("A site with 24 servers, recorded for twelve nights: what is slow, and where is the cause?")
    source = recorded()
    show("status", *source, limit=9)
    show("locate", *source)
    say("Its report is drawn: ceilings, baselines, every target and every night")
    show("report", *source, "-o", str(FOLDER / "report"))
    say("The same site, simulated: would its policy see a slow disk, and how often is it wrong?")
    show("simulate", "-i", str(FOLDER / "inventory"), *SIMULATED)
    say("Done")
    print(f"  Report: file://{FOLDER}/report/index.html\n{NEXT}")


def directories(fio: Optional[str]) -> None:
    """Probe four new directories, and remove them; say what is missing without the program fio."""
    if fio is None:
        print("  Left out: fio is not installed; `apt-get install fio` as root adds this scene.")
        return
    with TemporaryDirectory(prefix="plumbline-demo-") as folder:
        places = [f"{name}={folder}/{name}" for name in "abcd"]
        for place in places:
            Path(place.partition("=")[2]).mkdir()
        show(
            *("probe", "ost", "--quiet", "--bytes", "64MiB"),
            *(word for place in places for word in ("--directory", place)),
        )


def recorded() -> tuple[str, ...]:
    """Create the recorded site; return the options for its plan and history."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    (scene,) = (scene for scene in SCENES if scene.name == RECORDED)
    for path in tracked(f"inventories/{scene.site}"):
        copy = FOLDER / "inventory" / path.relative_to(ROOT / "inventories" / scene.site)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    accepted = FOLDER / "inventory" / "group_vars" / "all" / "baselines.yml"
    accepted.write_text(baselines(scene.site), encoding="utf-8")
    planned = quietly("plan", "-i", str(FOLDER / "inventory"), "--json")
    if planned.code:
        sys.exit(planned.err)
    (FOLDER / "plan.json").write_text(planned.out, encoding="utf-8")
    now = time.time()
    nodes = {name: later(node, now - END_S) for name, node in nodes_of(scene).items()}
    history = bring(FOLDER, nodes, now, quietly)
    return ("--plan", str(FOLDER / "plan.json"), "--history", str(history))


def later(node: Node, seconds: float) -> Node:
    """Return a node with its records moved by some seconds."""
    times = "started_at", "finished_at"
    return node._replace(
        records=[
            {**record, **{key: record[key] + seconds for key in times}} for record in node.records
        ]
    )


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("plumbline: interrupted")
