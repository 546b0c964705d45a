"""README.md and the tables of docs/reference.md name all that exists, and nothing else."""

from __future__ import annotations

import re

from plumbline.cli import MACHINE_VERBS, VERBS
from tests.project.repository import ROOT, section, table, tracked


def test_the_table_of_checks_names_each_check() -> None:
    assert table("Checks") == {path.name for path in tracked("checks/check_*")}


def test_the_table_of_playbooks_names_each_playbook() -> None:
    # playbooks/tasks holds what several playbooks share
    playbooks = {
        path.stem for path in tracked("playbooks/*.yml") if path.parent == ROOT / "playbooks"
    }
    assert {name.removesuffix(".yml") for name in table("Playbooks")} == playbooks


def test_the_table_of_commands_names_each_verb() -> None:
    said = {name.removeprefix("plumbline ").split()[0] for name in table("Commands")}
    assert said == {*VERBS, *MACHINE_VERBS}


def test_the_test_command_is_what_ci_runs() -> None:
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "make test" in section("Test", "README.md")
    assert re.search(r"^(exec )?make test$", ci, flags=re.M)


def test_the_index_names_each_page() -> None:
    index = ROOT / "docs" / "index.md"
    named = set(re.findall(r"\]\(([a-z-]+\.md)\)", index.read_text(encoding="utf-8")))
    assert named == {path.name for path in tracked("docs/*.md")} - {index.name}


def test_readme_is_read_in_a_few_minutes() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120


def test_links_lead_to_files() -> None:
    pages = tracked("*.md")
    links = [
        (page, link)
        for page in pages
        for link in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))
        if "://" not in link and not link.startswith("mailto:")
    ]
    broken = [
        f"{page.relative_to(ROOT)}: {link}"
        for page, link in links
        if not (page.parent / link).exists()
    ]
    assert pages
    assert broken == []
