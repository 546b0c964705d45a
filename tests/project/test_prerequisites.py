"""Debian packages for the tests start nothing on the machine, neither now nor at the next boot."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.processes import can_mount, run_to_end
from tests.project.repository import ROOT

# The package brings along another one, with a daemon of systemd, one of System V and a timer.
APT = """#!/bin/sh
[ "$1" = install ] || exit 0
/usr/sbin/policy-rc.d && echo started > /etc/started
mkdir -p /etc/systemd/system/multi-user.target.wants /etc/systemd/system/timers.target.wants
ln -s /lib/systemd/system/new.service /etc/systemd/system/multi-user.target.wants/
ln -s /lib/systemd/system/new.timer /etc/systemd/system/timers.target.wants/
ln -s ../init.d/new /etc/rc2.d/S01new
ln -s ../init.d/new /etc/rc0.d/K01new
"""
# What stands before stays; /etc and /usr/sbin are copies that end with the process.
SCRIPT = """
mount -t tmpfs tmpfs /mnt && mkdir /mnt/etc /mnt/sbin /mnt/work /mnt/work2
mount -t overlay -o lowerdir=/etc,upperdir=/mnt/etc,workdir=/mnt/work overlay /etc
mount -t overlay -o lowerdir=/usr/sbin,upperdir=/mnt/sbin,workdir=/mnt/work2 overlay /usr/sbin
rm -f /usr/sbin/policy-rc.d
mkdir -p /etc/rc0.d /etc/rc2.d /etc/systemd
# empty: the root of a user's namespace cannot write into folders of the real one
for folder in /etc/rc0.d /etc/rc2.d /etc/systemd; do mount -t tmpfs tmpfs $folder; done
mkdir -p /etc/systemd/system/multi-user.target.wants
ln -s /lib/systemd/system/old.service /etc/systemd/system/multi-user.target.wants/
ln -s ../init.d/old /etc/rc2.d/S01old
.ci/prerequisites "$1" || exit
find /etc/systemd /etc/rc?.d -name '*new*' -o -name '*old*' | sort
ls /etc/started /usr/sbin/policy-rc.d
"""


def test_nothing_is_enabled_that_was_not_enabled_before(tmp_path: Path) -> None:
    program, wanted = tmp_path / "bin/apt-get", tmp_path / "packages.txt"
    program.parent.mkdir()
    program.write_text(APT, encoding="utf-8")
    program.chmod(0o755)
    wanted.write_text("plumbline-no-such-package  for this test\n", encoding="utf-8")
    apart = ["unshare", "--mount", *([] if can_mount() else ["--map-root-user"])]
    done = run_to_end(
        *(*apart, "sh", "-c", SCRIPT, "sh", wanted),
        cwd=ROOT,
        env={**os.environ, "LC_ALL": "C", "PATH": f"{program.parent}:{os.environ['PATH']}"},
    )
    if "mount: " in done.stderr or "unshare: " in done.stderr:
        pytest.skip(f"nothing can be mounted here: {done.stderr}")
    assert done.stdout.splitlines() == [
        "plumbline: installing plumbline-no-such-package",
        "/etc/rc0.d/K01new",
        "/etc/rc2.d/K01new",
        "/etc/rc2.d/S01old",
        "/etc/systemd/system/multi-user.target.wants/old.service",
    ]
    assert done.stderr.count("No such file") == 2
