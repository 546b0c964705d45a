"""The documents of an inventory are read, refused, and replaced as a whole."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from plumbline.model.errors import DocumentError
from plumbline.site.inventory import plan_of, read_document, read_inventory
from tests.package.cli.driver import inventory

LAUGHS = "a:\n- &a0 x\n" + "".join(
    f"- &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]\n" for level in range(1, 9)
)
MERGES = "a:\n- &a0 {k: v}\n" + "".join(
    f"- &a{level} {{<<: [*a{level - 1}, *a{level - 1}]}}\n" for level in range(1, 40)
)


def test_folder_and_file_name_the_same_inventory(tmp_path: Path) -> None:
    folder = inventory(tmp_path)
    assert read_inventory(folder) == read_inventory(f"{folder}/hosts.yml")
    assert read_inventory(folder).topology["site"] == "lab"


def test_policy_and_baselines_may_be_missing(tmp_path: Path) -> None:
    found = read_inventory(inventory(tmp_path))
    assert (found.policy, found.baselines) == ({}, {})
    assert plan_of(found).site == "lab"


def test_an_inventory_without_topology_says_where_it_belongs(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"no group_vars/all/topology\.yml; describe"):
        read_inventory(str(tmp_path))


def test_no_inventory_at_all_is_said(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"there is no inventory .*nowhere; give its folder"):
        read_inventory(str(tmp_path / "nowhere"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [1\nb: 2\n", r"notes\.yml line 2 is no valid YAML"),
        ("a: {b: 1}\nc: '\n", r"notes\.yml line 3 is no valid YAML: found unexpected end"),
        ("a:\n  b: 1\n  b: 2\n", r"notes\.yml line 3 is no valid YAML: the key 'b' is given twice"),
        (
            "a: !!python/object:os.system {}\n",
            r"line 1 is no valid YAML: could not determine a con",
        ),
        ("a: \x00\n", r"notes\.yml is no valid YAML"),
        ("a:\n  b: 2026-99-99\n", r"line 2 is no valid YAML: '2026-99-99' is no date; quote it if"),
        ("a: !!int x\n", r"line 1 is no valid YAML: 'x' is no whole number"),
        ("a: !!int\n", r"line 1 is no valid YAML: '' is no whole number"),
        ("a: !!float x\n", r"line 1 is no valid YAML: 'x' is no number"),
        ("a: !!bool x\n", r"line 1 is no valid YAML: 'x' is no yes or no"),
        ("a: !!timestamp x\n", r"line 1 is no valid YAML: 'x' is no date"),
        ("a: !!int [1]\n", r"line 1 is no valid YAML: a list or mapping is no whole number"),
        (f"a: {'9' * 5000}\n", r"line 1 is no valid YAML: 5000 characters are no whole number"),
        (f"a: 1{':1' * 5000}\n", r"line 1 is no valid YAML: 10001 characters are no whole number"),
        (f"a: {'[' * 200_000}\n", r"line 1 is no valid YAML: it is more than 100 levels deep"),
        ("a: &a [*a]\n", r"line 1 is no valid YAML: the alias \*a stands for what it is part of"),
        (LAUGHS, r"line 7 is no valid YAML: aliases stand for more than 100000 values"),
        (MERGES, r"line 16 is no valid YAML: aliases stand for more than 100000 values"),
        ("other: 1\n", r"must have the one key 'a', but has 'other'; correct it"),
        ("a: 1\nother: 1\n", r"must have the one key 'a', but has 'a', 'other'"),
        ("- a\n", r"must have the one key 'a', but has nothing of it"),
        ("", r"must have the one key 'a', but has nothing of it"),
    ],
)
def test_a_damaged_file_is_named_with_the_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "notes.yml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DocumentError, match=message):
        read_document(path, "a")


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.yml"
    path.write_bytes(b"a: \xff\xfe\n")
    with pytest.raises(DocumentError, match="is no UTF-8 text"):
        read_document(path, "a")


def test_a_file_that_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"cannot be read: Is a directory"):
        read_document(tmp_path, "a")


def test_a_mapping_as_a_key_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.yml"
    path.write_text("a:\n  ? {x: 1}\n  : 2\n", encoding="utf-8")
    with pytest.raises(DocumentError, match="line 2 is no valid YAML: found unhashable key"):
        read_document(path, "a")


def test_what_the_lab_says_is_understood() -> None:
    lab = Path(__file__).parents[3] / "inventories" / "lab"
    assert plan_of(read_inventory(str(lab))).site == "lab"


def plan_without_site_packages(folder: Path, *path: Path) -> subprocess.CompletedProcess[str]:
    """Run ``plumbline plan`` on a Python that has the standard library and ``path`` alone."""
    source = Path(__file__).parents[3] / "src"
    return subprocess.run(
        [sys.executable, "-S", "-m", "plumbline.cli", "plan", "-i", inventory(folder)],
        env={"PYTHONPATH": os.pathsep.join(map(str, (source, *path)))},
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_old_pydantic_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pydantic.py").write_text("VERSION = '1.10.4'\n", encoding="utf-8")
    (tmp_path / "yaml").symlink_to(Path(yaml.__file__).parent)
    ended = plan_without_site_packages(tmp_path / "site", tmp_path)
    assert ended.returncode == 69
    assert "pydantic is too old on this host; plumbline plan needs" in ended.stderr
