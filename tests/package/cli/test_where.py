"""``plumbline where`` on this very machine: a directory target holds what lies in its mount."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from plumbline.model.expectation import Expectations
from tests.package.cli.driver import Run
from tests.package.observe.symptoms_nodes import expectations


@pytest.fixture
def known(tmp_path: Path) -> str:
    """Return a node's expectations with the first OST laid into a directory here."""
    raw = expectations("client1").to_json()
    entries = [one for one in raw["entries"] if one["layer"] == "ost"]
    for one in entries:
        one["target"] = {"kind": "directory", "directory": str(tmp_path / "target")}
    path = tmp_path / "expectations.json"
    path.write_text(json.dumps(raw), encoding="utf-8")
    assert Expectations.from_json(raw).find("ost")
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
def test_the_targets_are_printed_for_people_and_programs(
    known: str, tmp_path: Path, run: Run, name: str
) -> None:
    file = tmp_path / name
    file.write_text("", encoding="utf-8")
    link = tmp_path / "link"
    link.symlink_to(file)
    lines = run("where", "--expectations", known, str(link)).out.splitlines()
    document = run("where", "--expectations", known, "--json", str(link)).document
    assert document["path"] == str(file)
    assert [one["component"] for one in document["holders"]] == lines
    assert lines


def test_a_file_that_is_not_there_is_one_sentence(known: str, tmp_path: Path, run: Run) -> None:
    assert (
        "none is not there; look at how it is written"
        in run("where", "--expectations", known, str(tmp_path / "none"), code=64).err
    )
