"""Which messages of the kernel are understood, and what they are about."""

from __future__ import annotations

import re

import pytest

from plumbline.observe.kernel_messages import MESSAGES, understand
from tests.package.observe.symptoms_nodes import data

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
