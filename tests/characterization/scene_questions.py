"""Questions about the history of each scene, and the trees of their answers."""

from __future__ import annotations

import json
import re
from typing import Any, Callable

from tests.characterization.console import Console, Consoles
from tests.characterization.formats import batch, local_checks, metrics, table
from tests.characterization.product import Answer
from tests.characterization.question import Question, json_answer
from tests.characterization.scenes import SCENES

_TIMES = "job,start,end,name,user\n4711,2026-01-12T00:00Z,,climate,ada\n4713,2026-01-12,,idle,bob\n"
_ODDS = re.compile(r"\bodds\b\D{0,20}([\d,]+)")


def questions_of_scenes() -> list[Question]:
    """Return all questions about recorded histories."""
    return [
        Question(f"{scene.name}-{verb}", _on(scene.name, ASK[verb]), slow=True)
        for scene in SCENES
        for verb in VERBS[scene.name]
    ]


def _on(scene: str, ask: Callable[[Console], Any]) -> Callable[[Consoles], Any]:
    return lambda consoles: ask(consoles.of(scene))


def verdict(raw: dict[str, Any]) -> dict[str, Any]:
    """Return a verdict without its layer and component, and only the odds of its evidence."""
    odds = [_ODDS.findall(line) for line in raw.get("evidence", ())]
    excluded = ("layer", "component", "evidence")
    values = {key: value for key, value in raw.items() if key not in excluded}
    return {**values, "odds": [float(text.replace(",", "")) for line in odds for text in line]}


def verdicts(documents: list[dict[str, Any]]) -> dict[str, Any]:
    """Return verdicts by node, layer and component; groups are marked."""
    return {
        document["node"]: {
            f"{raw['layer']} {raw['component']}{' (group)' * raw['group']}": verdict(raw)
            for raw in document["verdicts"]
        }
        for document in documents
    }


def _judge(console: Console) -> Any:
    answer = console.ask("judge", "--json")
    documents = answer.document()
    return {
        "code": answer.code,
        "verdicts": verdicts(documents if isinstance(documents, list) else [documents]),
    }


def _locate(console: Console) -> Any:
    tree = json_answer(console.ask("locate", "--json"))
    for suspected in tree["answer"]["sets"]:
        for slow in suspected["slow"]:
            del slow["reason"]
    return tree


def _submit(console: Console) -> Any:
    path = console.folder / "batch"
    answer = console.ask("submit", "--batch", str(path), "--json")
    counts = {key: value for key, value in answer.document().items() if key != "to"}
    results = batch(path.read_text(encoding="utf-8"))
    return {"code": answer.code, "answer": counts, "results": results}


def _again(console: Console) -> Any:
    """Return the result of a second submit without changes."""
    _submit(console)
    return _submit(console)


def _status(console: Console) -> Any:
    tree = json_answer(console.ask("status", "--json", "--all"))
    tree["answer"]["components"] = {
        f"{entry.pop('layer')} {entry.pop('component')}{' (group)' * entry.pop('group')}": {
            **entry,
            # the history contains the other rates
            "rates": {
                step: [len(rates), rates[-1] if rates else None]
                for step, rates in entry["rates"].items()
            },
        }
        for entry in tree["answer"]["components"]
    }
    return tree


def _metrics(console: Console) -> Any:
    return _text(console.ask("metrics"), metrics)


def _checkmk(console: Console) -> Any:
    return _text(console.ask("metrics", "--format", "checkmk"), local_checks)


def _text(answer: Answer, read: Callable[[str], Any]) -> Any:
    return {"code": answer.code, "answer": read(answer.out)}


def _report(console: Console) -> Any:
    folder = console.folder / "report"
    answer = console.ask("report", "-o", str(folder), "--json")
    absent = {name: bool(why) for name, why in answer.document()["absent"].items()}
    files = {path.name: table(path.read_text(encoding="utf-8")) for path in folder.rglob("*.csv")}
    return {"code": answer.code, "absent": absent, "files": files}


def _publish(console: Console) -> Any:
    path = console.folder / "paths.json"
    answer = console.ask("publish", "--to", str(path))
    tree = json.loads(path.read_text(encoding="utf-8"))
    kept = {key: tree[key] for key in ("schema", "stale_after_s", "standing")}
    del tree["parts"]["collection"]
    services = {name: _service(part) for name, part in tree["parts"].items()}
    document = {**kept, "written_at": tree["judged_at"], "services": services}
    return {"code": answer.code, "answer": document}


def _service(part: dict[str, Any]) -> dict[str, Any]:
    """Return the verdict of a published part, which has only one stage."""
    ((_, state, reason, *_, figures),) = part["stages"]
    evidence = ["".join(map(str, line)) for line in part["lines"]]
    named = [{"label": label, "value": value} for label, value in figures]
    shown = {"state": state, "reason": reason, "figures": named, "evidence": evidence}
    return verdict({**shown, "group": False, "counts": True})


def _collect(console: Console) -> Any:
    tree = json.loads((console.folder / "collected.json").read_text(encoding="utf-8"))
    del tree["history"]
    # doubts are sentences
    tree["coverage"]["doubts"] = len(tree["coverage"]["doubts"])
    return tree


def _changes(console: Console) -> Any:
    return json_answer(console.ask("changes", "--json"))


def _differences(console: Console) -> Any:
    return json_answer(console.ask("changes", "--differences", "--json"))


def _jobs(console: Console) -> Any:
    times = console.folder / "times.csv"
    times.write_text(_TIMES, encoding="utf-8")
    return json_answer(console.ask("jobs", "--times", str(times), "--json"))


ASK = {
    "judge": _judge,
    "locate": _locate,
    "submit": _submit,
    "again": _again,
    "status": _status,
    "metrics": _metrics,
    "checkmk": _checkmk,
    "report": _report,
    "publish": _publish,
    "collect": _collect,
    "changes": _changes,
    "differences": _differences,
    "jobs": _jobs,
}

LAB = ("judge", "locate", "submit", "status", "metrics", "checkmk", "report", "publish")

VERBS = {
    "edison-healthy": ("judge", "locate"),
    "edison-faults": ("judge", "locate", "submit", "status", "metrics"),
    "edison-release": ("judge", "locate", "report"),
    "edison-floor": ("judge",),
    "redstorm-faults": ("judge", "locate", "submit", "publish"),
    "bgl-faults": ("judge", "locate"),
    "example-faults": ("judge", "locate", "report"),
    "lab-faults": (*LAB, "again"),
    "lab-odd": LAB,
    "lab-signs": ("judge", "locate", "status", "report", "publish", "changes"),
    "lab-stale": LAB,
    "example-jobs": ("collect", "judge", "jobs", "changes", "differences"),
}
