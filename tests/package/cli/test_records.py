"""Records of a node and notes of a site: ``plumbline history``, ``where``, ``note``, ``export``."""

from __future__ import annotations

import io
import json
import subprocess
import time
from pathlib import Path
from typing import Any, Callable

import pytest

from plumbline.cli import main
from plumbline.model.codec import read_document, write
from plumbline.model.exchange import Cursor, Request
from plumbline.model.expectation import Expectations
from plumbline.store.history import History
from tests.package.cli.driver import COMMAND, Run, call
from tests.package.parts.facts.symptoms_nodes import expectations
from tests.package.records import failed, record

# --- ``plumbline history`` prints a table, or complete records as JSON.


@pytest.fixture
def state(tmp_path: Path) -> str:
    with History(tmp_path / "history.sqlite") as history:
        history.save(record(id="old", component="a", started_at=1000.0))
        history.save(record(id="new", component="a", started_at=time.time()))
        history.save(failed(id="raw", component="b", layer="raw", started_at=2000.0))
    return str(tmp_path)


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        ([], ["old", "new", "raw"]),
        (["a"], ["old", "new"]),
        (["--layer", "raw"], ["raw"]),
        (["--since", "30d"], ["new"]),
    ],
)
def test_records_are_printed_in_full_one_per_line(
    state: str, words: list[str], ids: list[str], run: Run
) -> None:
    lines = run("history", "--state", state, "--json", *words).out.splitlines()
    assert [json.loads(line)["id"] for line in lines] == ids
    assert all(json.loads(line)["spec"] for line in lines)


def test_records_are_printed_as_a_table(state: str, run: Run) -> None:
    header, first, _, last = run("history", "--state", state).out.splitlines()
    assert header.split()[:2] == ["started", "layer"]
    assert "1970-01-01 00:16:40Z  ost    a          read" in first
    assert last.endswith("failed fio said no")


def test_a_long_history_is_printed_in_parts_as_a_short_one(tmp_path: Path, run: Run) -> None:
    with History(tmp_path / "history.sqlite") as history:
        for number in range(1003):
            name = "a" if number < 1002 else "a-much-longer-name"
            history.save(record(id=f"r{number}", component=name, started_at=1000.0 + number))
    header, *lines = run("history", "--state", str(tmp_path)).out.splitlines()
    assert len(lines) == 1003
    operation = header.index("operation")
    assert {line[operation - 2 :][:3] for line in lines[:-1]} == {lines[0][operation - 2 :][:3]}
    assert lines[-1].split()[3] == "a-much-longer-name"


def test_an_unknown_component_is_an_error_message(state: str, run: Run) -> None:
    output = run("history", "nosuch", "--state", state, code=65)
    assert "nothing is recorded of nosuch in this selection; correct the name" in output.err
    assert output.out == ""


def test_a_node_without_a_history_prints_no_records(tmp_path: Path, run: Run) -> None:
    output = run("history", "--json", "--state", str(tmp_path))
    assert output.out == ""
    assert "nothing was measured here yet; run plumbline probe" in output.err
    assert main(["history", "--json", "--state", str(tmp_path / "mistyped")]) == 74


# --- ``plumbline where`` on this machine: a directory target holds the files in its mount.


@pytest.fixture
def expectations_path(tmp_path: Path) -> str:
    """Write expectations of a node with a local directory as its OST; return the path."""
    raw = expectations("client1").to_json()
    entries = [entry for entry in raw["entries"] if entry["layer"] == "ost"]
    for entry in entries:
        entry["target"] = {"kind": "directory", "directory": str(tmp_path / "target")}
    path = tmp_path / "expectations.json"
    path.write_text(json.dumps(raw), encoding="utf-8")
    assert read_document(Expectations, raw).find("ost")
    return str(path)


@pytest.mark.parametrize(
    "name",
    [
        "a file; with $(words)",
        "\"quotes' and `ticks`",
        "two\nlines\n",
        " ",
        "-n",
        "*",
        "back\\slash",
        "ünï",
    ],
)
def test_targets_are_printed_as_a_table_and_as_json(
    expectations_path: str, tmp_path: Path, run: Run, name: str
) -> None:
    file = tmp_path / name
    file.write_text("", encoding="utf-8")
    link = tmp_path / "link"
    link.symlink_to(file)
    lines = run("where", "--expectations", expectations_path, str(link)).out.splitlines()
    document = run("where", "--expectations", expectations_path, "--json", str(link)).document
    assert document["path"] == str(file)
    assert [holder["component"] for holder in document["holders"]] == lines
    assert lines


def test_a_missing_file_is_an_error_message(
    expectations_path: str, tmp_path: Path, run: Run
) -> None:
    assert (
        "none is not there; look at how it is written"
        in run("where", "--expectations", expectations_path, str(tmp_path / "none"), code=64).err
    )


# --- ``plumbline note`` saves notes and lists them.


def test_notes_are_saved_and_listed(tmp_path: Path, run: Run) -> None:
    history = ("--history", str(tmp_path / "history.sqlite"))
    assert call("note", "oss2:  new\ncontroller", "--at", "2026-11-02T14:00+00:00", *history) == 0
    assert run("note", "Lustre 2.15.8", *history).out == ""
    _, first, second = run("note", *history).out.splitlines()
    assert first == "2026-11-02 14:00:00Z  oss2: new controller"
    assert second.endswith("Lustre 2.15.8")
    assert [note["text"] for note in run("note", "--json", *history).document][1] == "Lustre 2.15.8"


def test_markup_in_a_note_is_plain_text(tmp_path: Path, run: Run) -> None:
    history = ("--history", str(tmp_path / "history.sqlite"))
    (note,) = run("note", "new \udcff disk\x1b[2J", "--json", *history).document
    assert note["text"] == "new \N{REPLACEMENT CHARACTER} disk\N{REPLACEMENT CHARACTER}[2J"


# --- ``plumbline export`` answers requests and refuses any other input.


FIRST = json.dumps(write(Request(Cursor(), 2))) + "\n"


Ask = Callable[[str], tuple[int, list[Any]]]


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Return a function that exports with a text as input; it gives exit code and lines."""

    def answers(text: str) -> tuple[int, list[Any]]:
        monkeypatch.setattr("sys.stdin", io.StringIO(text))
        code = main(["export", "--state", str(tmp_path)])
        return code, [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return answers


def test_each_request_is_answered_until_input_ends(tmp_path: Path, ask: Ask) -> None:
    with History(tmp_path / "history.sqlite") as history:
        for name in "abc":
            history.save(record(id=name))
    text = FIRST + json.dumps(write(Request(Cursor(2, "b"), 2))) + "\n"
    code, lines = ask(text)
    assert code == 0
    assert [line[1]["id"] for line in lines if isinstance(line, list)] == ["a", "b", "c"]
    assert [line for line in lines if "end" in line] == [
        {"end": 2, "more": True},
        {"end": 1, "more": False},
    ]


@pytest.mark.parametrize(
    ("text", "code", "error"),
    [
        ("rm -rf /\n", 65, "a person reads with plumbline history"),
        ("{}\n", 65, "the request is damaged"),
        ("[" * 70000, 65, "the request is no JSON"),
    ],
)
def test_other_input_is_refused_with_a_message_that_the_console_can_parse(
    ask: Ask, text: str, code: int, error: str
) -> None:
    exit_code, lines = ask(text + FIRST)
    assert exit_code == code
    assert len(lines) == 1
    assert error in lines[0]["error"]


def test_an_unreadable_history_is_reported_in_the_answer(tmp_path: Path, ask: Ask) -> None:
    (tmp_path / "history.sqlite").write_bytes(b"no database, but bytes" * 99)
    code, (answer,) = ask(FIRST)
    assert code == 74
    assert "cannot be read" in answer["error"]


def test_empty_input_is_no_error(ask: Ask) -> None:
    assert ask("") == (0, [])


def start_export(state: Path, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*COMMAND, "export", "--state", str(state), *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


def test_an_sftp_client_is_refused_at_its_first_message(tmp_path: Path) -> None:
    """The client sends SSH_FXP_INIT, version 3, without a line end, and waits for an answer."""
    with start_export(tmp_path) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(bytes((0, 0, 0, 5, 1, 0, 0, 0, 3)))
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        assert process.wait() == 65
    assert "plumbline collect" in answer["error"]


@pytest.mark.slow
@pytest.mark.parametrize("begun", [b"", b'{"schema": 1'])
def test_a_client_that_stalls_is_disconnected(tmp_path: Path, begun: bytes) -> None:
    """An scp client of the old protocol waits for the first byte of the other side."""
    with start_export(tmp_path, "--wait", "1s") as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(begun)
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        assert process.wait() == 65
    assert "no request came within 1 s" in answer["error"]
