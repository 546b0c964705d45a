"""A probe may write to the folders of its targets, each named once."""

from __future__ import annotations

from ansible_collections.hpcops.plumbline.plugins.filter.target_folders import target_folders


def test_each_place_is_named_once() -> None:
    targets = [
        {"kind": "lustre", "mount": "/mnt/scratch", "index": 0},
        {"kind": "directory", "directory": "/data/b"},
        {"kind": "lustre", "mount": "/mnt/scratch", "index": 1},
        {"kind": "directory", "directory": "/data/a"},
        {"kind": "device", "device": "/dev/sda"},
        {"kind": "lustre", "mount": "/mnt/home", "index": 0},
    ]
    assert target_folders(targets) == {
        "mounts": ["/mnt/scratch", "/mnt/home"],
        "directories": ["/data/b", "/data/a"],
    }


def test_no_targets_have_no_places() -> None:
    assert target_folders([]) == {"mounts": [], "directories": []}
