"""Texts and command answers from files of tests/data.

A text is a string, or a file of tests/data (``data``), or another ``text``, optionally some
``lines``, from the first up to the last, after a line (``head``), with words replaced
(``replace``; only after the word ``after``) or its last characters ``cut``; or a list of texts.

An answer is a text on standard output; ``stdout``, ``stderr`` and ``exit_code`` of a command that
ended, or was stopped (``timed_out``); ``hanging``; the reason why a folder is ``unsafe``; or
``turns``, one answer after the other.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from plumbline.model.command import Completed
from tests.package.fakes import HANGING, Answer, answer, unsafe
from tests.project.repository import document

DATA = Path(__file__).parents[1] / "data"


def data(name: str) -> str:
    """Return a file of tests/data."""
    return (DATA / name).read_text(encoding="utf-8", errors="replace")


def table(name: str) -> Any:
    """Return the values of a YAML file of tests/data."""
    return document(DATA / name)


def reply(raw: Any) -> Answer:
    """Return the answer of a command."""
    if not isinstance(raw, dict) or {"data", "text"} & raw.keys():
        return HANGING if raw == "hanging" else text(raw)
    if "turns" in raw:
        return [_ended(turn) for turn in raw["turns"]]
    return unsafe(raw["unsafe"]) if "unsafe" in raw else _ended(raw)


def _ended(raw: Any) -> Completed:
    if raw == "hanging":
        return HANGING
    if not isinstance(raw, dict) or {"data", "text"} & raw.keys():
        return answer(text(raw))
    output, errors = (text(raw.get(name, "")) for name in ("stdout", "stderr"))
    ended = answer(output, errors, raw.get("exit_code", 0))
    return ended._replace(timed_out=raw.get("timed_out", False))


def text(raw: Any) -> str:
    """Return a text."""
    if isinstance(raw, str):
        return raw
    if isinstance(raw, list):
        return "".join(map(text, raw))
    whole = data(raw["data"]) if "data" in raw else raw["text"]
    first, last = raw.get("lines", (1, None))
    whole = "".join(whole.splitlines(keepends=True)[first - 1 : last])
    start = whole.index(raw.get("after", ""))
    changed = whole[start:]
    for old, new in raw.get("replace", {}).items():
        assert old in changed
        changed = changed.replace(old, new)
    head = f"{raw['head']}\n" if "head" in raw else ""
    return f"{head}{whole[:start]}{changed[: len(changed) - raw.get('cut', 0)]}"
