"""Kernel messages: their meaning, and routine work that explains them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Iterable

import pytest

from plumbline.observe import kernel
from plumbline.observe.kernel import LogEntry, faults
from plumbline.observe.kernel_messages import MESSAGES, understand
from plumbline.observe.symptom import Direction
from tests.package.fakes import Answer
from tests.package.observe.symptoms_nodes import NOW, make_node
from tests.package.recorded import data

RECORDED = [line.split("\t") for line in data("messages/kernel.tsv").splitlines()]


@pytest.mark.parametrize(("kind", "name", "text"), RECORDED)
def test_a_message_is_understood(kind: str, name: str, text: str) -> None:
    told = understand(text)
    assert told is not None
    assert (told.message.kind, told.name) == (kind, name)


PATTERNS = [(message.kind, text) for message in MESSAGES for text in message.texts]


@pytest.mark.parametrize(("kind", "pattern"), PATTERNS)
def test_each_pattern_has_a_recorded_message(kind: str, pattern: str) -> None:
    assert [text for known, _, text in RECORDED if known == kind and re.match(pattern, text)]


def test_a_captured_outage_of_a_target_is_understood_and_its_chatter_is_not() -> None:
    lines = data("messages/lustre-ost-down.txt").splitlines()
    told = [understand(line.partition("] ")[2]) for line in lines]
    found = [(one.message.kind, one.name) for one in told if one]
    assert len(lines) > 40
    assert found == [
        ("connection_lost", "lustre-OST0003"),
        ("evicted", "lustre-OST0003"),
        ("connection_lost", "lustre-OST0003"),
        ("evicted", "lustre-OST0003"),
        ("failover", "lustre-OST0003"),
        ("connection_lost", "lustre-OST0003"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I/O error",
        "I/O error, dev ;rm -rf, sector",
        "EXT4-fs (sdb1): mounted filesystem with ordered data mode",
        "ixgbe 0000:3b:00.0 ens1f0: NIC Link is Up 10 Gbps, Flow Control: RX/TX",
        "Lustre: lustre-OST0000: local client 8d47695f w/o recovery",
        "igb 0000:01:00.1 eno2: igb: eno2 NIC Link is Up 1000 Mbps Full Duplex",
        "critical target error, dev sdb, sector 8 op 0x9:(WRITE_ZEROES) flags 0x800 phys_seg 0",
        "operation not supported error, dev sdb, sector 8 op 0x9:(WRITE_ZEROES) flags 0x800",
        "reservation conflict error, dev sdb, sector 8 op 0x1:(WRITE) flags 0x800 phys_seg 1",
        "Buffer I/O error on dev loop3, logical block 0, async page read",
        "sd 0:0:1:0: [sdb] tag#7 Add. Sense: Failure prediction threshold exceeded (FALSE)",
        "mpt3sas_cm0: log_info(0x31110d00): originator(PL), code(0x11), sub_code(0x0d00)",
        "mpt3sas_cm0: sending message unit reset !!",
        "mlx5_core 0000:3b:00.0: Port module event: module 0, Cable plugged",
        "pcieport 0000:3a:00.0: AER: Corrected error received: 0000:3b:00.0",
        "EXT4-fs error (device loop0): ext4_lookup:1817: inode #2: comm ls: deleted inode",
        "LustreError: 132-0: a-OST0000-osc-ff: BAD WRITE CHECKSUM: changed on the client after we "
        "checksummed it - likely false positive due to mmap IO (bug 11742): from 10.0.0.1@tcp",
        "LNetError: 120-3: Refusing connection from 10.0.0.9 for 10.0.0.1@tcp: No matching NI",
        "ata6: SATA link down (SStatus 0 SControl 300)",
        "nvme 0000:3b:00.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer, (Receiver)",
    ],
)
def test_anything_else_is_not(text: str) -> None:
    assert understand(text) is None


# --- What a clean boot, mount, umount, failback and shutdown print raises no suspicion; faults do


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

    messages = [LogEntry(float(at), text) for at, text in enumerate([LOST, RESTORED, UP])]
    assert list(faults(messages, asked)) == []
