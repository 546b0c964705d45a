"""A target's description is refused with what is wrong in it."""

from __future__ import annotations

from typing import Any

import pytest

from plumbline.measure.targets import target_for
from plumbline.model.errors import DocumentError


@pytest.mark.parametrize(
    ("description", "reason"),
    [
        ({}, "unknown kind None; known are device, directory, glusterfs, lustre"),
        ({"kind": "beegfs"}, "unknown kind 'beegfs'"),
        ({"kind": "lustre"}, "has no mount"),
        ({"kind": "lustre", "mount": "/m", "osd": "x"}, "unknown osd"),
        ({"kind": "directory", "directory": 5}, "is not a text"),
        ({"kind": "directory", "directory": "mnt"}, "not an absolute path"),
        ({"kind": "directory", "directory": "/mnt/../etc"}, "not an absolute path"),
        ({"kind": "directory", "directory": "/mnt/a\nb"}, "not an absolute path"),
        ({"kind": "glusterfs", "mount": "/m"}, "has no subvolume"),
    ],
)
def test_a_wrong_description_is_refused(description: dict[str, Any], reason: str) -> None:
    with pytest.raises(DocumentError, match=reason):
        target_for(description, "c")


def test_a_target_without_a_name_is_refused() -> None:
    with pytest.raises(DocumentError, match="has no name"):
        target_for({"kind": "directory", "directory": "/mnt"}, "")


@pytest.mark.parametrize("name", ["x" * 256, "é" * 43])
def test_a_name_that_no_folder_can_have_is_refused_before_anything_is_made(name: str) -> None:
    with pytest.raises(DocumentError, match="is too long for a target; shorten it"):
        target_for({"kind": "directory", "directory": "/mnt"}, name)
