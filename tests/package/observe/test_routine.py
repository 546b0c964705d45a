"""What a clean boot, mount, umount, failback and shutdown print raises no suspicion; faults do.

The messages of tests/data/messages/routine are a real Lustre 2.17's on Debian 13, but for the
shutdown, of which the journal keeps the first lines alone.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Iterable

import pytest

from plumbline.observe import kernel
from plumbline.observe.kernel import Said, faults
from plumbline.observe.symptom import Direction
from tests.package.fakes import Answer
from tests.package.observe.symptoms_nodes import NOW, data, make_node

COURSE = ("boot", "mount", "failback", "umount", "shutdown", "boot", "mount")
BOOT = "Linux version 6.12.117+deb13-amd64 (debian-kernel@lists.debian.org)"
INQUIRY = "scsi 0:0:1:0: Direct-Access     QEMU     QEMU HARDDISK    2.5+ PQ: 0 ANSI: 5"
RESET = "sd 0:0:1:0: Power-on or device reset occurred"
ATTACHED = "sd 0:0:1:0: [sdb] Attached SCSI disk"
DOWN = "ixgbe 0000:3b:00.0 ens1f0: NIC Link is Down"
UP = "ixgbe 0000:3b:00.0 ens1f0: NIC Link is Up 10 Gbps, Flow Control: RX/TX"
STOPPING = "systemd-shutdown[1]: Syncing filesystems and block devices."
DEVICE = "scratch-OST0003-osc-ffff888120238800"
LOST = (
    f"Lustre: {DEVICE}: Connection to scratch-OST0003 (at 10.0.0.1@tcp) was lost; in progress "
    "operations using this service will wait for recovery to complete"
)
RESTORED = f"Lustre: {DEVICE}: Connection restored to 10.0.0.2@tcp (at 10.0.0.2@tcp)"
EVICTED = (
    f"LustreError: {DEVICE}: This client was evicted by scratch-OST0003; in progress operations "
    "using this service will fail."
)
UNMOUNT = ("Lustre: Failing over scratch-OST0003", "Lustre: server umount scratch-OST0003 complete")
SERVED = "Lustre: scratch-OST0003: Imperative Recovery not enabled, recovery window 300-900"
SWITCHED_OFF = "Lustre: setting import scratch-OST0003_UUID INACTIVE by administrator request"
IMPORT = f"osc.{DEVICE}.import=\nimport:\n    name: {DEVICE}\n    state: {{}}\n"


def recorded(name: str) -> list[str]:
    return [line.partition("] ")[2] for line in data(f"messages/routine/{name}.txt").splitlines()]


def journal(texts: Iterable[str], step_s: float = 1.0) -> dict[str, Answer]:
    lines = [
        json.dumps({"__REALTIME_TIMESTAMP": f"{(NOW - 9000 + step_s * n) * 1e6:.0f}", "MESSAGE": t})
        for n, t in enumerate(texts)
    ]
    return {"journalctl": "\n".join(lines)}


def raised(folder: Path, texts: Iterable[str], **answers: Answer) -> list[tuple[str, str]]:
    look = kernel.look(make_node(folder, answers={**journal(texts), **answers}))
    return [(s.kind, s.component) for s in look.symptoms if s.direction is Direction.RAISES]


@pytest.mark.parametrize("name", sorted(set(COURSE)))
def test_a_clean_boot_mount_failback_umount_or_shutdown_raises_nothing(
    tmp_path: Path, name: str
) -> None:
    assert len(recorded(name)) > 9
    assert raised(tmp_path, recorded(name)) == []


def test_all_of_them_one_after_the_other_raise_nothing(tmp_path: Path) -> None:
    assert raised(tmp_path, [text for name in COURSE for text in recorded(name)]) == []


def test_the_journal_has_what_systemd_says_without_its_name(tmp_path: Path) -> None:
    texts = [text.partition("systemd-shutdown[1]: ")[2] or text for text in recorded("shutdown")]
    assert raised(tmp_path, texts) == []


def test_a_target_that_was_unmounted_lowers_the_suspicion_until_it_is_back(tmp_path: Path) -> None:
    node = make_node(tmp_path, answers=journal(recorded("umount")))
    found = kernel.look(node).symptoms
    assert {(one.kind, one.direction) for one in found} == {("failover", Direction.LOWERS)}
    assert [one.component for one in found] == [
        *(f"lustre-OST000{n}" for n in range(4)),
        "lustre-MDT0000",
    ]
    (first, *_) = found
    assert first.sentence == "kernel: unmounts of lustre-OST0000, for a failover or by hand"
    back = [*recorded("umount"), *recorded("boot"), *recorded("mount")]
    left = kernel.look(make_node(tmp_path, answers=journal(back))).symptoms
    # Lustre has printed the line of one target alone for those that it mounted together
    assert {one.component for one in left} <= {"lustre-OST0001"}


FAULTS: list[tuple[str, list[str], list[str]]] = [
    ("a reset of a disk in use", [RESET], ["command_reset"]),
    ("a reset after it was probed", [INQUIRY, ATTACHED, RESET], ["command_reset"]),
    ("a reset before it was lost and probed again", [RESET, INQUIRY, ATTACHED], ["command_reset"]),
    (
        "an abort while it is probed",
        [INQUIRY, "sd 0:0:1:0: attempting task abort!scmd(0x01), outstanding for 30336 ms"],
        ["command_reset"],
    ),
    ("a link that went down and came back", [BOOT, UP, DOWN, UP], ["link_down"]),
    ("a link of which no boot is known", [DOWN, UP], ["link_down"]),
    ("a link that no boot brings up", [BOOT, DOWN], ["link_down"]),
    ("a link that went down long before", [BOOT, UP, DOWN, *["x"] * 301, STOPPING], ["link_down"]),
    ("a connection that stays lost", [LOST], ["connection_lost"]),
    ("a connection lost again and again", [LOST, RESTORED] * 3, ["connection_lost"]),
    ("an eviction by another server's target", [LOST, EVICTED, RESTORED], ["evicted"]),
    (
        "a second eviction after an import was switched off once",
        [SWITCHED_OFF, LOST, EVICTED, RESTORED, LOST, EVICTED, RESTORED],
        ["evicted"],
    ),
    (
        "an eviction by another target than the one switched off",
        [SWITCHED_OFF.replace("OST0003", "OST0002"), LOST, EVICTED, RESTORED],
        ["evicted"],
    ),
    (
        "a loss long after the target is back",
        [*UNMOUNT, SERVED, *["x"] * 901, LOST, EVICTED],
        ["evicted"],
    ),
]


@pytest.mark.parametrize(("texts", "kinds"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS])
def test_a_fault_raises_the_suspicion(tmp_path: Path, texts: list[str], kinds: list[str]) -> None:
    assert sorted({kind for kind, _ in raised(tmp_path, texts)}) == kinds


ROUTINE: list[tuple[str, list[str]]] = [
    ("a disk that is probed while the system runs", [BOOT, "x", INQUIRY, RESET, ATTACHED]),
    ("a link that comes up at boot", [BOOT, DOWN, UP]),
    ("a link that goes down with its services", [BOOT, UP, DOWN, STOPPING]),
    ("a failover and its failback", [LOST, RESTORED] * 2),
    (
        "imports of a client and of an MDT that were switched off, and on again",
        [SWITCHED_OFF, LOST, EVICTED, SWITCHED_OFF, LOST, EVICTED, RESTORED],
    ),
    ("a local client of a target that was unmounted", [*UNMOUNT, LOST, SERVED, EVICTED]),
]


@pytest.mark.parametrize("texts", [r[1] for r in ROUTINE], ids=[r[0] for r in ROUTINE])
def test_routine_work_raises_nothing(tmp_path: Path, texts: list[str]) -> None:
    assert raised(tmp_path, texts) == []


@pytest.mark.parametrize(
    ("state", "kinds"), [("FULL", []), ("IDLE", []), ("DISCONN", ["connection_lost"])]
)
def test_lustre_is_asked_where_the_log_does_not_say_that_a_connection_came_back(
    tmp_path: Path, state: str, kinds: list[str]
) -> None:
    found = raised(tmp_path, [LOST], lctl=IMPORT.format(state))
    assert [kind for kind, _ in found] == kinds


def test_lustre_is_not_asked_where_the_log_says_all() -> None:
    def asked() -> tuple[str, ...]:
        raise AssertionError("the log says that the connection came back")

    messages = [Said(float(at), text) for at, text in enumerate([LOST, RESTORED, UP])]
    assert list(faults(messages, asked)) == []
