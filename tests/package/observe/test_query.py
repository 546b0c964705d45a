"""Error messages of broken storage, and the test whether debugfs is closed."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from plumbline.observe.query import breaks, is_dead, lacks_space
from tests.processes import may_act_for_others

BROKEN = [
    *(errno.EIO, errno.ENXIO, errno.ENODEV, errno.EROFS, errno.ENODATA, errno.ENOLINK),
    *(errno.EBADMSG, errno.EILSEQ, errno.ENOTCONN, errno.ESHUTDOWN, errno.ETIMEDOUT),
    *(errno.EHOSTDOWN, errno.ESTALE, errno.EUCLEAN, errno.EREMOTEIO, errno.ENOMEDIUM),
]
OTHERS = [errno.EACCES, errno.EPERM, errno.ENOENT, errno.EDQUOT, errno.ENOSPC, errno.EINVAL]


@pytest.mark.parametrize("number", BROKEN)
def test_an_io_error_is_recognised_by_number_and_by_text(number: int) -> None:
    assert breaks("", number)
    assert breaks(f"fio: io_u error on file x: {os.strerror(number)}: write offset=0")


@pytest.mark.parametrize("number", OTHERS)
def test_other_errors_are_not_faults_of_storage(number: int) -> None:
    assert not breaks("", number)
    assert not breaks(f"touch: cannot touch 'x': {os.strerror(number)}")


def test_sense_keys_are_recognised() -> None:
    assert breaks("sgp_dd: Medium error, Hardware error on device")
    assert not breaks("Some error occurred, remaining blocks=0")


def test_no_space_and_a_dead_mount_have_errors_of_their_own() -> None:
    assert lacks_space("No space left on device")
    assert lacks_space("", errno.ENOSPC)
    assert is_dead("cat: /mnt/.meta/version: Transport endpoint is not connected")


# --- Whether debugfs is closed to this process, given its capabilities


ROOT = Path(__file__).parents[3]
ASK = """
from plumbline.observe.command import SystemRunner
from plumbline.observe import query as debugfs
debugfs._INSIDE = "{inside}"
print(debugfs.debugfs_is_closed(SystemRunner()))
"""
CAPABLE = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")


@pytest.mark.skipif(not may_act_for_others(), reason="only root can become another user")
@pytest.mark.parametrize(("options", "closed"), [((), "True"), (CAPABLE, "False")])
def test_the_capability_of_the_unit_lets_a_user_enter(
    open_path: Path, options: tuple[str, ...], closed: str
) -> None:
    inside = open_path / "debug"
    inside.mkdir(mode=0o700)
    shutil.copytree(ROOT / "src" / "plumbline", open_path / "library" / "plumbline")
    stranger = ("--reuid=65534", "--regid=65534", "--clear-groups", *options)
    done = subprocess.run(
        ["setpriv", *stranger, "/usr/bin/python3", "-c", ASK.format(inside=f"{inside}/.")],
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(open_path / "library")},
        cwd=open_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == closed, done.stderr
