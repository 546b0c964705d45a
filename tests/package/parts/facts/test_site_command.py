"""A site's own command prints symptoms as JSON; invalid output makes it unavailable."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Callable

import pytest

from plumbline.model.codec import read_document, write
from plumbline.model.errors import DocumentError, ToolError
from plumbline.model.symptom import Direction, Look, Report, Symptom
from plumbline.model.verdict import State
from plumbline.observe.command import LocalSystem, SystemRunner
from plumbline.parts.facts.gather import SiteCollector, gather
from plumbline.parts.facts.node import Node
from plumbline.parts.facts.saved import load_site_commands
from plumbline.parts.facts.site_command import SiteCommand, look
from tests.package.parts.facts.symptoms_nodes import NOW, make_node
from tests.project.repository import ROOT

SYMPTOM = {
    "component": "oss1-disk1",
    "kind": "degraded",
    "severity": "WARNING",
    "direction": "raises",
    "sentence": "virtual drive 0/1 is degraded",
    "since": NOW - 3600,
}
OUTPUT = {"schema": 1, "examined": 2, "symptoms": [SYMPTOM]}
Run = Callable[..., Look]


@pytest.fixture
def node(tmp_path: Path) -> Node:
    bare = make_node(tmp_path / "root")
    return bare._replace(system=LocalSystem(SystemRunner(most_bytes=1 << 20, grace_s=0.5)))


@pytest.fixture
def run(tmp_path: Path, node: Node) -> Run:
    """Return a function that looks with a shell script as the site's command."""

    def run_script(script: str, timeout_s: float = 20.0) -> Look:
        program = tmp_path / "vendor"
        program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        program.chmod(0o755)
        return look(node, SiteCommand("megaraid", "arrays", (str(program),), timeout_s))

    return run_script


def printing(raw: Any) -> str:
    return f"cat <<'END'\n{json.dumps(raw)}\nEND"


def test_the_output_of_a_site_command_gives_symptoms(run: Run) -> None:
    assert run(printing({**OUTPUT, "notes": ["no battery"], "looked_at": NOW - 3600})) == Look(
        "megaraid",
        2,
        (
            Symptom(
                "megaraid",
                "oss1-disk1",
                "degraded",
                State.WARNING,
                Direction.RAISES,
                "virtual drive 0/1 is degraded",
                NOW - 3600,
            ),
        ),
        ("no battery",),
    )


def test_the_documented_example_is_valid(run: Run) -> None:
    text = (ROOT / "docs" / "symptoms.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    raw = json.loads(example.replace("oss2-disk1", "oss1-disk1"))
    (symptom,) = run(printing(raw)).symptoms
    assert (symptom.kind, symptom.severity) == ("degraded", State.WARNING)


def test_texts_of_a_site_command_are_one_line_and_bounded(run: Run) -> None:
    sentence = "a|b\n\x1b[31mc\ud800 " + "x" * 1000
    (symptom,) = run(printing({**OUTPUT, "symptoms": [{**SYMPTOM, "sentence": sentence}]})).symptoms
    assert symptom.sentence.startswith("a|b \N{REPLACEMENT CHARACTER}[31mc? xxx")
    assert len(symptom.sentence) == 300


def without(raw: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in raw.items() if name != key}


@pytest.mark.parametrize(
    ("script", "part"),
    [
        ("echo no controller >&2; exit 3", "failed with exit code 3: no controller"),
        ("exit 0", "printed no symptoms (Expecting value"),
        ("echo '{'", "printed no symptoms ("),
        ("echo '[]'", "the report is damaged"),
        ("head -c 2000000 /dev/zero", "printed more than 1 MiB and was ended"),
        (printing({**OUTPUT, "schema": 2}), "schema 2, this version reads 1"),
        (printing({**OUTPUT, "colour": 1}), "'colour' is no key of"),
        (printing(without(OUTPUT, "examined")), "KeyError('examined')"),
        (printing({**OUTPUT, "examined": -1}), "examined is -1"),
        (printing({**OUTPUT, "symptoms": {}}), "symptoms is {}, which is no list"),
        (printing({**OUTPUT, "symptoms": [7]}), "is 7, which is no mapping"),
        (
            printing({**OUTPUT, "symptoms": [SYMPTOM] * 1001}),
            "symptoms has 1001 entries, 1000 at most",
        ),
        (printing({**OUTPUT, "notes": [7]}), "notes has 7"),
        (printing({**OUTPUT, "looked_at": NOW - 3601}), "its look is"),
        *(
            (printing({**OUTPUT, "symptoms": [{**SYMPTOM, key: value}]}), part)
            for key, value, part in (
                ("component", "moon", "the component 'moon' is none that this node knows"),
                ("component", 7, "component has 7, which is no text"),
                ("severity", "UNKNOWN", "the severity UNKNOWN is none of OK"),
                ("severity", "bad", "severity is 'bad'"),
                ("direction", "sideways", "direction is 'sideways', which is no Direction"),
                ("kind", "Two Words", "the kind 'Two Words'"),
                ("sentence", " \n", "a sentence is empty"),
                ("since", "now", "since is 'now'"),
                ("colour", "red", "'colour' is no key of"),
            )
        ),
    ],
    # pytest puts the test id into the environment of child processes, which is small
    ids=lambda value: value[:30],
)
def test_invalid_output_is_one_sentence_that_names_the_command(
    run: Run, script: str, part: str
) -> None:
    with pytest.raises(ToolError) as caught:
        run(script)
    sentence = str(caught.value)
    assert part in sentence
    assert "/vendor" in sentence
    assert len(sentence) <= 300
    assert sentence.isprintable()


@pytest.mark.slow
def test_a_hung_site_command_is_ended(run: Run) -> None:
    with pytest.raises(ToolError, match=r"vendor gave no answer in \d+ s"):
        run("sleep 600", timeout_s=1.0)


def test_a_missing_site_command_is_named(node: Node) -> None:
    with pytest.raises(ToolError, match="/no/vendor is not installed on this host"):
        look(node, SiteCommand("megaraid", "arrays", ("/no/vendor",)))


def test_arguments_of_a_site_command_pass_no_shell(node: Node, tmp_path: Path) -> None:
    words = ("/bin/echo", f"$(touch {tmp_path}/harm)", ";", "touch", f"{tmp_path}/harm")
    with pytest.raises(ToolError, match="printed no symptoms"):
        look(node, SiteCommand("megaraid", "arrays", words))
    assert not (tmp_path / "harm").exists()


def test_a_site_command_is_a_collector_like_the_others(tmp_path: Path) -> None:
    def fails(_: Node) -> Look:
        raise ToolError("/usr/bin/storcli failed")

    node = make_node(tmp_path)
    report = gather(node, {"megaraid": SiteCollector("arrays", fails)})
    last = report.looks[-1]
    assert (last.collector, last.kind) == ("megaraid", "arrays")
    assert last.unavailable == "/usr/bin/storcli failed"
    assert read_document(Report, json.loads(json.dumps(write(report)))) == report


COMMAND = {"name": "megaraid", "kind": "arrays", "argv": ["/usr/bin/storcli", "0"]}


def load(folder: Path, *commands: Any, schema: int = 1) -> tuple[SiteCommand, ...]:
    path = folder / "commands.json"
    path.write_text(json.dumps({"schema": schema, "commands": commands}), encoding="utf-8")
    return load_site_commands(str(path))


def test_site_commands_are_read_from_the_file(tmp_path: Path) -> None:
    assert load_site_commands(str(tmp_path / "none.json")) == ()
    assert load(tmp_path) == ()
    (command,) = load(tmp_path, COMMAND)
    assert command == SiteCommand("megaraid", "arrays", ("/usr/bin/storcli", "0"), 60.0)


@pytest.mark.parametrize(
    ("commands", "part"),
    [
        ([{**COMMAND, "kind": "moons"}], "the kind of megaraid is 'moons'"),
        ([{**COMMAND, "name": "md"}], "md is a collector of plumbline"),
        ([{**COMMAND, "name": "a b"}], "the command's name 'a b'"),
        ([{**COMMAND, "argv": []}], "the program of megaraid"),
        ([{**COMMAND, "argv": ["storcli"]}], "the program of megaraid"),
        ([{**COMMAND, "timeout_s": 0}], "timeout_s is 0"),
        ([{**COMMAND, "colour": "red"}], "is damaged"),
        ([COMMAND, COMMAND], "name megaraid twice"),
        ([7], "is damaged"),
    ],
)
def test_a_file_of_unknown_form_is_refused(tmp_path: Path, commands: list[Any], part: str) -> None:
    with pytest.raises(DocumentError, match=re.escape(part)) as caught:
        load(tmp_path, *commands)
    assert "correct symptoms_commands and deploy the role symptoms again" in str(caught.value)
