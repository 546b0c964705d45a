"""``plumbline export`` answers requests and nothing else."""

from __future__ import annotations

import io
import json
import subprocess
from pathlib import Path
from typing import Any, Callable

import pytest

from plumbline.cli import main
from plumbline.model.exchange import Cursor, Request
from plumbline.store.history import History
from tests.package.cli.driver import COMMAND
from tests.package.records import record

FIRST = json.dumps(Request(Cursor(), 2).to_json()) + "\n"


Ask = Callable[[str], tuple[int, list[Any]]]


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Return what gives the exit code and the lines that follow a text on standard input."""

    def answers(text: str) -> tuple[int, list[Any]]:
        monkeypatch.setattr("sys.stdin", io.StringIO(text))
        code = main(["export", "--state", str(tmp_path)])
        return code, [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return answers


def test_each_request_has_its_answer_until_there_are_no_more(tmp_path: Path, ask: Ask) -> None:
    with History(tmp_path / "history.sqlite") as history:
        for name in "abc":
            history.save(record(id=name))
    text = FIRST + json.dumps(Request(Cursor(2, "b"), 2).to_json()) + "\n"
    code, said = ask(text)
    assert code == 0
    assert [line[1]["id"] for line in said if isinstance(line, list)] == ["a", "b", "c"]
    assert [line for line in said if "end" in line] == [
        {"end": 2, "more": True},
        {"end": 1, "more": False},
    ]


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("rm -rf /\n", 65, "a person reads with plumbline history"),
        ("{}\n", 65, "the request is damaged"),
        ("[" * 70000, 65, "the request is no JSON"),
    ],
)
def test_anything_else_is_refused_in_a_sentence_that_the_console_can_read(
    ask: Ask, text: str, code: int, said: str
) -> None:
    found, lines = ask(text + FIRST)
    assert found == code
    assert len(lines) == 1
    assert said in lines[0]["error"]


def test_a_history_that_cannot_be_read_is_an_answer(tmp_path: Path, ask: Ask) -> None:
    (tmp_path / "history.sqlite").write_bytes(b"no database, but bytes" * 99)
    code, (said,) = ask(FIRST)
    assert code == 74
    assert "cannot be read" in said["error"]


def test_no_request_is_no_trouble(ask: Ask) -> None:
    assert ask("") == (0, [])


def exporting(state: Path, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*COMMAND, "export", "--state", str(state), *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


def test_an_sftp_client_is_refused_at_its_first_word(tmp_path: Path) -> None:
    """It says SSH_FXP_INIT, version 3, without an end of line, and waits for an answer."""
    with exporting(tmp_path) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(bytes((0, 0, 0, 5, 1, 0, 0, 0, 3)))
        process.stdin.flush()
        said = json.loads(process.stdout.readline())
        assert process.wait() == 65
    assert "plumbline collect" in said["error"]


@pytest.mark.slow
@pytest.mark.parametrize("begun", [b"", b'{"schema": 1'])
def test_a_client_that_does_not_go_on_is_given_up(tmp_path: Path, begun: bytes) -> None:
    """An scp of the old protocol waits for the first word of the other side."""
    with exporting(tmp_path, "--wait", "1s") as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(begun)
        process.stdin.flush()
        said = json.loads(process.stdout.readline())
        assert process.wait() == 65
    assert "no request came within 1 s" in said["error"]
