"""Questions to a node: its verdicts, replays of files, and symptoms from its tools.

A node uses the history of the console of its scene, which has the same format; its tools are
scripts that print recorded output.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any, Callable

from tests.characterization.console import Console, Consoles
from tests.characterization.formats import metrics, perfdata
from tests.characterization.histories import DAY_S, END_S, FIRST_S, nodes_of
from tests.characterization.product import CHECKS, DATA, Answer, answer_of, run
from tests.characterization.question import Question, json_answer
from tests.characterization.scene_questions import verdict, verdicts
from tests.characterization.scenes import SCENES

NODES = (("lab-faults", "client1"), ("lab-faults", "oss2"), ("lab-odd", "client1"))
CHECKED = (
    ("check_ost", "scratch-OST0000"),
    ("check_ost", "scratch-OST0002"),
    ("check_fs", "scratch-OST0004"),
    ("check_net", "client1"),
)
OUTPUTS = DATA.parent
_REPLAYED = 40


def questions_of_nodes() -> list[Question]:
    """Return all questions to nodes."""
    verbs = {"judge": _judge, "last-run": _last_run, "metrics": _metrics, "history": _history}
    questions = [
        Question(f"{scene}-{node}-{verb}", _on(scene, node, ask), slow=True)
        for scene, node in NODES
        for verb, ask in verbs.items()
    ]
    questions.append(
        Question("lab-faults-checks", _on("lab-faults", "client1", _checks), slow=True)
    )
    questions += [
        Question("replay-rates", lambda consoles: _replay(consoles, "rate"), slow=True),
        Question("replay-latencies", lambda consoles: _replay(consoles, "latency"), slow=True),
        Question("replay-together", lambda consoles: _replay(consoles, "rate", 60.0), slow=True),
        Question("symptoms", _symptoms, slow=True),
        Question("lab-baselines", _baselines, slow=True),
    ]
    return questions


class _Node:
    """A node with its expectations, its state, and the time of its commands."""

    def __init__(self, console: Console, name: str) -> None:
        self.at, self.state = console.at, console.folder / name
        self.expectations = self.state / "expectations.json"
        self.snapshot = self.state / "snapshot.json"
        if not self.state.exists():
            self.state.mkdir()
            shutil.copy(console.folder / "history.sqlite", self.state)
            options = ("-i", str(console.folder / "inventory"), "--node", name)
            planned = run("plan", *options, "--json", at=self.at)
            self.expectations.write_text(planned.out, encoding="utf-8")
            published = self.ask("judge", "--publish")
            assert published.code == 0, published.err

    def ask(self, verb: str, *options: str) -> Any:
        """Run a verb on expectations and snapshot and return its answer."""
        source = ("--expectations", str(self.expectations), "--snapshot", str(self.snapshot))
        return run(verb, *source, *options, at=self.at)


def _on(scene: str, node: str, ask: Callable[[_Node], Any]) -> Callable[[Consoles], Any]:
    return lambda consoles: ask(_Node(consoles.of(scene), node))


def _judge(node: _Node) -> Any:
    answer = node.ask("judge", "--json")
    return {"code": answer.code, "verdicts": verdicts([answer.document()])}


def _last_run(node: _Node) -> Any:
    answer = node.ask("judge", "--last-run", "--json")
    return {"code": answer.code, "verdicts": verdicts([answer.document()])}


def _metrics(node: _Node) -> Any:
    answer = node.ask("metrics")
    return {"code": answer.code, "answer": metrics(answer.out)}


def _history(node: _Node) -> Any:
    """Return records of the first components in the last three nights."""
    options = ("--state", str(node.state), "--layer", "ost", "--since", "3d", "--json")
    tree = json_answer(run("history", *options, at=node.at))
    tree["answer"] = tree["answer"][:24] if tree["answer"] else None
    return tree


def _checks(node: _Node) -> Any:
    """Return exit codes and performance data of checks of the published verdicts."""
    results = {}
    for check, component in CHECKED:
        words = ["--component", component, "--verdicts", str(node.state / "verdicts")]
        words += ["--expectations", str(node.expectations)]
        answer = answer_of([sys.executable, str(CHECKS / check), *words], node.at)
        results[f"{check} {component}"] = {"code": answer.code, "perfdata": perfdata(answer.out)}
    return results


def _replay(consoles: Consoles, figure: str, apart_s: float = 0.0) -> Any:
    """Return verdicts on samples of one file system by day and component."""
    (scene,) = (scene for scene in SCENES if scene.name == "edison-faults")
    path = consoles.folder / f"{figure}-{apart_s:g}.csv"
    components: dict[str, int] = {}
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("host", "day", "ts", "component", figure))
        for record in nodes_of(scene)["login1"].records:
            if record["operation"] != "read" or not record["component"].startswith("fs1-"):
                continue
            number = components.setdefault(record["component"], len(components))
            if number < _REPLAYED:
                rate = record["rate"]
                value = rate if figure == "rate" else 1e12 / rate
                day = f"2026-01-{1 + int((record['started_at'] - FIRST_S) // DAY_S):02}"
                at = record["started_at"] + apart_s * number / _REPLAYED
                rows.writerow(("login1", day, at, record["component"], f"{value:.6g}"))
    together = ("--together", f"{2 * apart_s:g}s") if apart_s else ()
    answer = run("judge", "--replay", str(path), *together, "--json", at=END_S)
    judged = {
        f"{raw.pop('day')} {raw.pop('host')} {raw.pop('component')}": verdict(raw)
        for raw in answer.document()
    }
    return {"code": answer.code, "judged": judged}


def _symptoms(consoles: Consoles) -> Any:
    """Return the results of two looks at recorded output, an hour apart."""
    folder = consoles.folder / "symptoms"
    (folder / "bin").mkdir(parents=True)
    planned = run(
        "plan", "-i", str(consoles.inventory("lab")), "--node", "oss1", "--json", at=END_S
    )
    (folder / "expectations.json").write_text(planned.out, encoding="utf-8")
    (folder / "journal").write_text(_journal(), encoding="utf-8")
    saved = (OUTPUTS / "lustre" / "st4_ost_down_osc_import.txt").read_text(encoding="utf-8")
    headed = saved.replace("import:", "import=\nimport:", 1)
    imports = f"osc.lustre-OST0003-osc-ffff888120238800.{headed}"
    _tool(folder, "journalctl", folder / "journal")
    _tool(folder, "zpool", OUTPUTS / "zfs" / "status-degraded.txt")
    _tool(folder, "lctl", folder / "imports")
    folders = ("--expectations", str(folder / "expectations.json"), "--state", str(folder))
    words = ("symptoms", *folders, "--commands", str(folder / "none.json"), "--json", "--save")
    path = {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
    looks = []
    for ahead_s in (0.0, 3600.0):
        (folder / "imports").write_text(imports, encoding="utf-8")
        report = run(*words, at=END_S + ahead_s, environment=path).document()
        by_collector = {look["collector"]: look for look in report["looks"]}
        for look in by_collector.values():
            look["unavailable"] = bool(look["unavailable"])
        looks.append({name: by_collector[name] for name in ("kernel", "zfs", "lustre")})
        imports = re.sub(r"timeouts: \d+", "timeouts: 70", imports)
    return {"looks": looks, "collectors": sorted(by_collector)}


def _tool(folder: Path, name: str, output: Path) -> None:
    """Write a program that prints a file."""
    path = folder / "bin" / name
    path.write_text(f"#!/bin/sh\nexec cat '{output}'\n", encoding="utf-8")
    path.chmod(0o755)


def _journal() -> str:
    """Return recorded kernel messages in the journal's format, one per minute."""
    lines = (OUTPUTS / "messages" / "kernel.tsv").read_text(encoding="utf-8").splitlines()
    entries = (
        {
            "__REALTIME_TIMESTAMP": f"{END_S - 3600 + 60 * number:.0f}000000",
            "MESSAGE": line.split("\t")[2],
        }
        for number, line in enumerate(lines)
    )
    return "".join(json.dumps(entry) + "\n" for entry in entries)


def _without_path(answer: Answer) -> Any:
    """Return the tree of an answer without the temporary file name."""
    tree = json_answer(answer)
    if isinstance(tree["answer"], dict):
        tree["answer"].pop("file", None)
    return tree


def _baselines(consoles: Consoles) -> Any:
    """Return answers of capture, diff, accept and age in an inventory without baselines."""
    console = consoles.of("lab-faults")
    inventory = consoles.folder / "captured"
    shutil.copytree(consoles.inventory("lab"), inventory)
    records = run("history", "--state", str(console.folder), "--json", at=console.at)
    (consoles.folder / "records.jsonl").write_text(records.out, encoding="utf-8")
    options = ("-i", str(inventory), "--json")
    records_options = ("--records", str(consoles.folder / "records.jsonl"))
    accept = ("accept", *options, "--by", "ada", "--reason", "first")
    return {
        action: _without_path(run("baseline", *words, at=console.at))
        for action, words in (
            ("capture", ("capture", *options, *records_options)),
            ("diff", ("diff", *options)),
            ("accept", accept),
            ("accept below the floor", (*accept, "--below-floor")),
            ("accept by name", (*accept, "--component", "oss1-disk1", "scratch-OST0000")),
            ("age", ("age", *options, *records_options)),
        )
    }
