"""The steps of make check, make test and make test-all, and what CI chooses from them."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.processes import run_to_end
from tests.project.repository import ROOT

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
STEPS = (
    "pytest-long",
    "sanity",
    "debian13",
    "ordinary-user",
    "lab-debian12",
    "--beside",
    "test-vm",
)
QUICK = "pytest-long debian13 ordinary-user --beside"


def lists(name: str) -> list[str]:
    (steps,) = re.findall(rf"^{name} +:= (.*)$", MAKEFILE, flags=re.M)
    return [step for step in steps.split() if not step.startswith("--")]


def test_each_step_has_its_minutes_and_what_it_protects() -> None:
    with_minutes = set(re.findall(r"^([a-z0-9-]+):.*  # [0-9.]+ min: .{5,}$", MAKEFILE, flags=re.M))
    steps = {*lists("LINT"), *lists("LONG"), *lists("ROOT_LONG")}
    assert with_minutes == {*steps, "pytest", "pytest-quick", "ansible-lint", "lab"}


@pytest.fixture
def branch(tmp_path: Path) -> Path:
    """Return a repository with the script and a commit that has passed as a whole."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci/changed", tmp_path / ".ci")
    git(tmp_path, "init", "--quiet")
    commit(tmp_path, ".ci/changed")
    assert run_to_end(".ci/changed", "--tested", cwd=tmp_path).returncode == 0
    commit(tmp_path, ".ci/tested")
    return tmp_path


def git(folder: Path, *words: str) -> str:
    names = ("-c", "user.name=test", "-c", "user.email=test@localhost")
    return run_to_end("git", *names, *words, cwd=folder, check=True).stdout


def commit(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "test: change")


def chosen(folder: Path) -> str:
    done = run_to_end(".ci/changed", *STEPS, cwd=folder, check=True)
    others = set(STEPS) - set(done.stdout.split())
    # whatever is left out is named
    assert set(done.stderr.rpartition(":")[2].split()) == others
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("docs/guide.md", "pytest-long --beside"),
        ("tests/package/model/test_units.py", QUICK),
        ("tests/vm/guest.py", "pytest-long --beside test-vm"),
        ("tests/lab/lab.py", "pytest-long lab-debian12 --beside"),
        *((path, " ".join(STEPS)) for path in ("roles/agent/tasks/main.yml", "src/a.py", "new")),
    ],
)
def test_changes_since_the_last_whole_run_choose_the_steps(
    branch: Path, path: str, steps: str
) -> None:
    commit(branch, path)
    commit(branch, "docs/later.md")
    assert chosen(branch) == steps


def test_all_steps_run_if_no_commit_is_known_to_have_passed(branch: Path) -> None:
    (branch / ".ci/tested").write_text("0123456789012345678901234567890123456789\n")
    assert chosen(branch) == " ".join(STEPS)
    (branch / ".ci/tested").unlink()
    assert chosen(branch) == " ".join(STEPS)


def test_a_checkout_with_changes_is_not_noted_as_passed(branch: Path) -> None:
    before = (branch / ".ci/tested").read_text()
    commit(branch, "src/a.py")
    (branch / "src/a.py").write_text("changed")
    assert run_to_end(".ci/changed", "--tested", cwd=branch).returncode == 0
    assert (branch / ".ci/tested").read_text() == before


def test_a_step_that_takes_longer_than_is_left_is_left_out_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci/steps", tmp_path / ".ci")
    (tmp_path / "Makefile").write_text(
        "short:  # 0.1 min: one\n\t@echo ran short\nlong:  # 3 min: two\n\t@echo ran long\n"
        "broken:  # 0.1 min: three\n\t@false\n"
    )
    words = (".ci/steps", "--minutes", "2")
    done = run_to_end(*words, "long", "short", "--beside", "long", "short", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("ran short") == 2
    assert "ran long" not in done.stdout
    assert "long           left out: usually takes 3 min, 2 min are left" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("plumbline: all 2 steps passed; 2 left out")
    broken = run_to_end(*words, "broken", "short", "long", cwd=tmp_path)
    assert (broken.returncode, broken.stderr.splitlines()[-1]) == (
        1,
        "plumbline: 1 of 2 steps failed",
    )
