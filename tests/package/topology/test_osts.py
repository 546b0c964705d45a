"""Names of OSTs: those of Lustre are accepted, others refused with the right one."""

from __future__ import annotations

import re
from typing import Any

import pytest

from plumbline.model.errors import DocumentError
from plumbline.topology.graph import build
from tests.package.sites import parts

DISKS = {"name": "disk[1-144]", "kind": "disk", "feeds": "oss1"}


def lustre(name: str, **more: Any) -> dict[str, Any]:
    """Return a site whose OSTs are written ``name``."""
    system = {
        "name": "scratch",
        "kind": "lustre",
        "mount": "/scratch",
        "client": "oss1",
        "targets": [{"name": name, "part": "disk[1-144]"}],
        **more,
    }
    return parts({"name": "oss1", "kind": "server"}, DISKS, file_systems=[system])


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("scratch-OST[0-143]", "write scratch-OST[0000-008f] for the indices 0 to 143"),
        ("scratch-OST[00-143]", "write scratch-OST[0000-008f] for the indices 0 to 143"),
        ("scratch-OST00", "write scratch-OST0000"),
        ("scratch-OST12", "write scratch-OST0012 (000c if 12 is decimal)"),
        ("scratch-OST001A", "write scratch-OST001a"),
        ("scratch-OST[1,2]", "write scratch-OST0001"),
        ("disk-9", "the target 'disk-9' is not the name of an OST; write it as lfs osts does"),
        ("a-file-system-OST0000", "index is hexadecimal of four digits"),
    ],
)
def test_a_name_that_is_not_lustres_is_refused(name: str, remedy: str) -> None:
    with pytest.raises(DocumentError, match=re.escape(remedy)) as caught:
        build(lustre(name))
    assert "index is hexadecimal of four digits" in str(caught.value)


def test_names_of_lustre_are_accepted() -> None:
    targets = build(lustre("scratch-OST[0000-008f]", retired="scratch-OST000a")).targets
    assert list(targets)[-1] == "scratch-OST008f"
    assert targets["scratch-OST000a"].retired
