"""README.md and the tables of docs/reference.md name exactly the existing commands and files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from plumbline.cli import MACHINE_VERBS, VERBS
from plumbline.site.inventory import read_inventory, topology_of
from tests.project.repository import ROOT, table, tracked


def test_the_table_of_checks_names_each_check() -> None:
    assert table("Checks") == {path.name for path in tracked("checks/check_*")}


def test_the_table_of_playbooks_names_each_playbook() -> None:
    # playbooks/tasks has the shared tasks of several playbooks
    playbooks = {
        path.stem for path in tracked("playbooks/*.yml") if path.parent == ROOT / "playbooks"
    }
    assert {name.removesuffix(".yml") for name in table("Playbooks")} == playbooks


def test_the_table_of_commands_names_each_verb() -> None:
    verbs = {name.removeprefix("plumbline ").split()[0] for name in table("Commands")}
    assert verbs == {*VERBS, *MACHINE_VERBS}


def test_the_index_names_each_page() -> None:
    index = ROOT / "docs" / "index.md"
    named = set(re.findall(r"\]\(([a-z-]+\.md)\)", index.read_text(encoding="utf-8")))
    assert named == {path.name for path in tracked("docs/*.md")} - {index.name}


@pytest.mark.parametrize(
    ("page", "first", "last"),
    [
        ("README.md", "## A site in five steps", "## Test"),
        ("docs/guide.md", "## Install", "## Later"),
    ],
)
def test_first_steps_name_targets_of_the_inventory_that_they_copy(
    page: str, first: str, last: str
) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    steps = text[text.index(first) : text.index(last)]
    assert "`inventories/example`" in steps
    named = re.findall(r"-e target=(\S+?)[`\s]", steps)
    assert named
    assert {*named} <= topology_of(read_inventory(str(ROOT / "inventories/example"))).targets.keys()


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives the headings of a page."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    headings = re.findall(r"^#+ (.*)$", text, flags=re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_lead_to_files_and_headings() -> None:
    pages = tracked("*.md")
    links = [
        (page, *link)
        for page in pages
        for link in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)", page.read_text(encoding="utf-8"))
        if "://" not in link[0] and not link[0].startswith("mailto:")
    ]
    broken = [
        f"{page.relative_to(ROOT)}: {name}#{anchor}"
        for page, name, anchor in links
        if not (target := page.parent / name if name else page).exists()
        or (anchor and anchor not in anchors(target))
    ]
    assert pages
    assert broken == []
