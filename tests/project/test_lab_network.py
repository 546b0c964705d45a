"""The network of the lab disappears with all that `ip netns add` made for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import run_to_end
from tests.project.repository import ROOT

APART = ("unshare", "--user", "--map-root-user", "--mount", "--net")
DOWN = """
set -eu
mount -t tmpfs tmpfs /run
# a lab on this machine has a mount of its own, which is hidden here
mounts() { grep -c " /run/netns " /proc/self/mounts || true; }
before=$(mounts)
for name in "$@"; do ip netns add "$name"; done
mkdir -p /run/lab/namespaces
touch /run/lab/namespaces/ours
"$PYTHON" -B -c 'from pathlib import Path; from plumbline_lab import network
print(network.down(Path("/run/lab")))'
ls /run/netns 2>/dev/null || echo gone
echo $(($(mounts) - before))
"""


def down(*namespaces: str) -> list[str]:
    """Remove a lab with the namespace ``ours``; return the lines of what is there then."""
    if run_to_end(*APART, "true").returncode:
        pytest.skip("no user namespaces here")
    files = Path(ROOT, "roles", "lab", "files")
    return subprocess.check_output(
        [*APART, "sh", "-c", DOWN, "sh", *namespaces],
        env={**os.environ, "PYTHONPATH": str(files), "PYTHON": sys.executable},
        text=True,
    ).split("\n")


def test_the_mount_of_the_namespaces_is_removed_with_the_last_of_them() -> None:
    done, *there = down("ours")
    assert done == "['namespace ours removed', '/run/netns unmounted']"
    assert there == ["gone", "0", ""]


def test_the_mount_stays_for_the_namespaces_of_others() -> None:
    done, *there = down("ours", "theirs")
    assert done == "['namespace ours removed']"
    assert there == ["theirs", "1", ""]
