"""Calls with contradictory options end with one error message before any work."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from plumbline.model.ranks import TESTS
from tests.package.cli.driver import Run, inventory
from tests.package.parts.locate.scenes import LAB
from tests.package.recorded import table
from tests.package.records import save

FILE = table("refusals.yml")


@pytest.fixture(scope="module")
def words_of(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return texts for the names in braces; write an inventory, a plan and a history."""
    folder = tmp_path_factory.mktemp("documents")
    plan = folder / "plan.json"
    plan.write_text(json.dumps(LAB.plan.to_json()), encoding="utf-8")
    history = folder / "history.sqlite"
    save(history, ())
    return {
        **FILE["short"],
        "site": inventory(folder / "site"),
        "plan": str(plan),
        "history": str(history),
        "tests": ", ".join(TESTS),
        "long": "x" * 501,
        "many": ",".join(map(str, range(1, 1200))),
    }


@pytest.mark.parametrize(
    ("code", "words", "sentence"), FILE["calls"], ids=lambda text: str(text)[:60]
)
def test_an_invalid_call_is_one_error_message(
    *,
    code: int,
    words: str,
    sentence: str,
    words_of: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    run: Run,
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    for name, text in words_of.items():
        words, sentence = (part.replace(f"{{{name}}}", text) for part in (words, sentence))
    output = run(*shlex.split(words), code=code)
    assert output.err.startswith("plumbline: ")
    assert sentence in output.err
    assert code == 65 or output.err.count("\n") == 1
    assert output.out == ""
    assert [path.name for path in sorted(tmp_path.rglob("*"))] == ["a", "b"]
