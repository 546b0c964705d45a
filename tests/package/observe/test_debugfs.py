"""Whether debugfs is closed to this process is asked of the kernel, capabilities and all."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.package.strangers import let_through

ROOT = Path(__file__).parents[3]
ASK = """
from plumbline.observe.command import SystemRunner
from plumbline.observe import query as debugfs
debugfs._INSIDE = "{inside}"
print(debugfs.debugfs_is_closed(SystemRunner()))
"""
CAPABLE = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize(("options", "closed"), [((), "True"), (CAPABLE, "False")])
def test_a_user_may_enter_with_the_capability_of_the_unit_alone(
    tmp_path: Path, options: tuple[str, ...], closed: str
) -> None:
    inside = tmp_path / "debug"
    inside.mkdir(mode=0o700)
    tmp_path.chmod(0o711)
    let_through(tmp_path)
    shutil.copytree(ROOT / "src" / "plumbline", tmp_path / "library" / "plumbline")
    stranger = ("--reuid=65534", "--regid=65534", "--clear-groups", *options)
    done = subprocess.run(
        ["setpriv", *stranger, "/usr/bin/python3", "-c", ASK.format(inside=f"{inside}/.")],
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(tmp_path / "library")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == closed, done.stderr
