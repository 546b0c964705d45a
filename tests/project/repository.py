"""Shared helpers of these tests: the repository and its documents."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]


def tracked(*patterns: str) -> list[Path]:
    """Return the files that git tracks or would add, sorted; patterns are git's."""
    return [*_tracked(*patterns)]


@cache
def _tracked(*patterns: str) -> tuple[Path, ...]:
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *patterns],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    paths = [ROOT / name for name in listing.stdout.split("\0") if name]
    return tuple(sorted({path for path in paths if path.is_file() and not path.is_symlink()}))


def document(path: Path) -> Any:
    """Return the content of a YAML file."""
    # the loader in C gives the same, ten times faster
    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(path.read_text(encoding="utf-8"), Loader=base)


REFERENCE = "docs/reference.md"


def section(heading: str, page: str = REFERENCE) -> str:
    """Return the text of a page from one ``##`` heading to the next."""
    parts = re.split(r"^## +", (ROOT / page).read_text(encoding="utf-8"), flags=re.M)
    texts = [part for part in parts[1:] if part.splitlines()[0].strip() == heading]
    assert len(texts) == 1, f"{page} needs exactly one heading '## {heading}'"
    return texts[0]


def table(heading: str) -> set[str]:
    """Return the names in backquotes at the start of the rows of a section's table."""
    rows = re.findall(r"^\| *`([^`]+)`", section(heading), flags=re.M)
    assert rows, f"{REFERENCE} has no table under '## {heading}'"
    assert len(rows) == len(set(rows)), f"{REFERENCE} names something twice under '{heading}'"
    return set(rows)
