"""Tracked files name no machine, no account and no registry."""

from __future__ import annotations

import re
from pathlib import Path

from tests.project.repository import ROOT, tracked

# Split, so that this file does not find itself.
WORDS = ["pypi" + ".org", "python" + "hosted", "galaxy.ansible" + ".com", "--index" + "-url"]
PLACES = [str(ROOT), str(Path.home())]


def forbidden() -> re.Pattern[str]:
    """Return the forbidden texts; short homes such as /root exist on all machines."""
    places = [place for place in PLACES if place.count("/") > 1]
    return re.compile(
        "|".join(
            [re.escape(word) for word in WORDS] + [rf"{re.escape(place)}\b" for place in places]
        )
        + r"|/(home|Users)/\w+/"
    )


def test_no_file_names_a_place_of_one_machine_or_a_registry() -> None:
    files = tracked()
    hits = []
    for path in files:
        text = path.read_bytes().decode("utf-8", errors="ignore")
        hits += [f"{path.relative_to(ROOT)}: {hit.group()}" for hit in forbidden().finditer(text)]
    assert len(files) > 20
    assert hits == []


def test_documents_name_only_existing_files() -> None:
    rooms = r"(?:src|tests|roles|playbooks|plugins|inventories|checks|[a-z]+(?=/[a-z_]+\.py))"
    named = re.compile(rf"`({rooms}/[a-z0-9_./-]+\.(?:py|yml|md|json|j2))`")
    documents = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *tracked("docs/*.md")]
    references = {
        (path.name, name)
        for path in documents
        for name in named.findall(path.read_text(encoding="utf-8"))
    }
    missing = {
        (path, name)
        for path, name in references
        if not any((folder / name).exists() for folder in (ROOT, ROOT / "src/plumbline"))
    }
    assert len(references) > 20
    assert missing == set()
