"""Mounted file systems as the kernel lists them."""

from __future__ import annotations

import pytest

from plumbline.observe.mounts import mount_at, mounts
from tests.package.fakes import FakeRunner

OWN = "63 43 0:39 / /work rw,relatime shared:1 - lustre 10.0.0.1@tcp:/work rw,flock\n"
USERS = "64 43 0:40 / /users/{} rw,nosuid shared:2 - fuse.sshfs host: rw,user_id=1000\n"


@pytest.mark.parametrize("end", ["\v", "\r", "\x1c", "\x85", "\u2028"])
def test_a_user_who_names_a_mount_point_hides_no_other_mount(end: str) -> None:
    """The kernel escapes blanks, tabs, line feeds and backslashes only (seq_path_root)."""
    run = FakeRunner({"cat /proc/self/mountinfo": OWN + USERS.format(f"a{end}b")})
    assert [mount.point for mount in mounts(run)] == ["/work", f"/users/a{end}b"]
    assert mount_at(run, "/work").kind == "lustre"
