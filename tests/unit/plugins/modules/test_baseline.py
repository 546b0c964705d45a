"""Each state calls the command, and the result shows the changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Optional, Sequence

import pytest
from ansible_collections.hpcops.plumbline.plugins.modules import baseline
from ansible_collections.hpcops.plumbline.tests.unit.plugins.fakes import Ended, Module

SENTENCE = "1 baselines accepted in /site/baselines.yml"
ACCEPTED = {
    "file": "/site/baselines.yml",
    "changed": True,
    "accepted": [{"component": "d1"}],
    "sentences": [SENTENCE],
    "before": "old\n",
    "after": "new\n",
}


class Command(Module):  # type: ignore[misc]
    """A module whose capture writes the candidates like the command."""

    tmpdir = ""

    def reply(self, argv: Sequence[str]) -> tuple[int, str, str]:
        answer: Optional[tuple[int, str, str]] = self.answer
        if answer:
            return answer
        if "capture" in argv:
            kept = Path(self.params["inventory"]) / ".plumbline-candidates.yml"
            path = Path(argv[argv.index("--output") + 1]) if "--output" in argv else kept
            path.write_text("new candidates")
            return 0, "12 candidates\n", ""
        if "diff" in argv:
            return 0, "layer  old  new\nraw    1    2\n", ""
        return 0, json.dumps(ACCEPTED), ""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that runs the module and returns its result and the module."""
    (tmp_path / "site").mkdir()

    def call(
        check_mode: bool = False, answer: Optional[tuple[int, str, str]] = None, **params: Any
    ) -> tuple[dict[str, Any], Command]:
        values = {name: spec.get("default") for name, spec in baseline.OPTIONS.items()}
        values.update(inventory=str(tmp_path / "site"), **params)
        module = Command(answer, values, check_mode)
        module.tmpdir = str(tmp_path)
        monkeypatch.setattr(baseline, "AnsibleModule", lambda **_spec: module)
        with pytest.raises(Ended) as ended:
            baseline.main()
        return ended.value.result, module

    return call


def test_captured_reports_whether_the_candidates_change(run: Any, tmp_path: Path) -> None:
    result, module = run(state="captured", records=["a.jsonl"], last=5)
    assert result == {"changed": True, "sentences": ["12 candidates"]}
    site = str(tmp_path / "site")
    assert module.commands == [f"plumbline baseline capture -i {site} --last 5 --records a.jsonl"]
    result, _ = run(state="captured", records=["a.jsonl"])
    assert not result["changed"]


def test_compared_without_records_changes_nothing(run: Any) -> None:
    result, module = run(state="compared")
    assert result["comparison"] == ["layer  old  new", "raw    1    2"]
    assert not result["changed"]
    assert [argv[2] for argv, _ in module.calls] == ["diff"]


def test_accepted_has_the_file_before_and_after(run: Any) -> None:
    options = {"components": ["d1"], "below_floor": True, "accepted_by": "ada"}
    result, module = run(state="accepted", reason="new disks", records=["a"], **options)
    assert result["changed"]
    assert result["diff"] == {
        "before": "old\n",
        "after": "new\n",
        "before_header": "/site/baselines.yml",
        "after_header": "/site/baselines.yml",
    }
    assert result["sentences"] == ["12 candidates", SENTENCE]
    assert module.commands[-1].endswith(
        "--json --reason new disks --by ada --component d1 --below-floor"
    )


def test_check_mode_leaves_candidates_and_baselines_alone(run: Any, tmp_path: Path) -> None:
    result, module = run(check_mode=True, state="accepted", reason="x", records=["a"])
    assert result["changed"]
    assert not (tmp_path / "site/.plumbline-candidates.yml").exists()
    other = str(tmp_path / "candidates.yml")
    capture, diff, accept = module.commands
    assert f" --output {other}" in capture
    assert diff.endswith(f" --candidates {other}")
    assert " --dry-run" in accept


def test_a_refusal_of_the_command_fails_the_module(run: Any) -> None:
    message = "plumbline: raw d1 read: outlier; repair it, or accept it by name"
    result, _ = run(state="accepted", reason="x", answer=(65, "", message + "\n"))
    assert result["failed"]
    assert result["msg"] == message
