"""A node cannot move the cursor, forge lines or turn the text on an administrator's terminal."""

from __future__ import annotations

import ast
import json
import shlex
import sys
import time
from pathlib import Path
from typing import Any, Callable

import pytest

from plumbline.cli import main
from plumbline.cli.output import note, remark, say
from plumbline.doors.table import render
from tests.package.cli.driver import Run, inventory
from tests.package.records import failed

CLI = Path(__file__).parents[3] / "src/plumbline/cli"
FORGED = "FORGED all is well"
EVIL = f"dead\x1b]0;title\x07\x9b2J\r\n{FORGED}\u2028\u202eLIVE"

NODE = """
import json, sys
from pathlib import Path
from typing import Any, Callable
sys.stdin.readline()
print(Path(sys.argv[1]).read_text(), flush=True)
"""


def measured(plan: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the first target that a plan measures, and its node."""
    return next(
        (name, entry)
        for name, node in plan["nodes"].items()
        for entry in node["entries"]
        if entry["layer"] == "ost"
    )


@pytest.fixture
def site(tmp_path: Path, run: Run) -> list[str]:
    """Return plan and history as options; the answer of a node has such text in all its facts."""
    plan = run("plan", "-i", inventory(tmp_path / "inventory"), "--json").document
    now, (node, entry) = time.time(), measured(plan)
    plan["nodes"] = {node: {**plan["nodes"][node], "entries": [entry]}}
    place = {"host": node, "component": entry["component"], "started_at": now}
    head = {"schema": 1, "version": "0.1.0", "now": now, "again": False, "untaken": EVIL}
    answer = [
        {**head, "symptoms": {"trouble": EVIL}, "conditions": {"trouble": EVIL}},
        [1, failed(**place)._replace(reason=EVIL).to_json()],
        [2, {"schema": 1, "id": EVIL}],
        {"end": 2, "more": False},
    ]
    (tmp_path / "answer").write_text("\n".join(map(json.dumps, answer)))
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    return ["--plan", f"{tmp_path}/plan.json", "--history", f"{tmp_path}/history.sqlite"]


def remote(site: list[str]) -> list[str]:
    answer = Path(site[1]).with_name("answer")
    return ["--remote", f"{shlex.join([sys.executable, '-c', NODE, str(answer)])} {{node}}"]


def check(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Return what a call prints; check that each character is harmless and no line is forged."""
    main(words)
    out, err = capsys.readouterr()
    text = out + err
    assert [line for line in text.split("\n") if not line.isprintable()] == []
    assert not [line for line in text.split("\n") if line.startswith(FORGED)]
    return text


@pytest.mark.slow
def test_no_answer_of_a_node_reaches_a_terminal_raw(
    site: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    text = check(capsys, "collect", *site, *remote(site))
    assert text.count(FORGED) >= 4
    assert FORGED in check(capsys, "locate", *site)
    for words in (["locate", "--verbose"], ["status"], ["judge"], ["judge", "--verbose"]):
        check(capsys, *words, *site)
    component = measured(json.loads(Path(site[1]).read_text()))[1]["component"]
    check(capsys, "judge", "--explain", component, *site)


def test_in_json_such_text_is_escaped_and_complete(
    site: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    main(["collect", *site, *remote(site), "--quiet", "--json"])
    text = capsys.readouterr().out
    assert text.isascii()
    assert EVIL in json.loads(text)["nodes"][0]["untaken"]


@pytest.mark.parametrize("output", [say, note, remark])
def test_a_line_has_no_line_break_and_a_table_keeps_its_own(
    output: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    output(EVIL)
    out, err = capsys.readouterr()
    assert (out + err).count("\n") == 1
    say(render(("name", "text"), [("a", EVIL), ("b", "fine")]))
    assert capsys.readouterr().out.count("\n") == 3


def test_the_colours_of_a_table_on_a_terminal_are_kept(capsys: pytest.CaptureFixture[str]) -> None:
    say(render(("state", "text"), [("CRITICAL", EVIL)], terminal=True))
    text = capsys.readouterr().out
    assert "\x1b[1;31mCRITICAL" in text
    assert "\x1b]0;" not in text
    assert "\u202e" not in text


def test_an_error_quotes_nothing_raw(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/")
    main(["judge", "--expectations", "/nowhere/\x1b]0;e.json"])
    assert "\x1b" not in capsys.readouterr().err


def test_no_verb_prints_text_past_these_functions() -> None:
    documents = {"inventory.py": 2}
    calls = {
        path.name: sum(
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "print"
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        )
        for path in CLI.glob("*.py")
        if path.name != "output.py"
    }
    assert {name: number for name, number in calls.items() if number} == documents
