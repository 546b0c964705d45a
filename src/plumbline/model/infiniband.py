"""Data rates of InfiniBand ports, and the fraction of a link that is data of verbs.

Sources: InfiniBand Architecture Specification, volume 1 (packet formats) and 2 (lane rates and
encodings); RoCEv2 annex A17; ``include/rdma/ib_addr.h`` of Linux for the MTU of RoCE.
"""

from __future__ import annotations

import re

from plumbline.model.errors import DocumentError

_BLOCKS_8B10B = 8 / 10
_BLOCKS_64B66B = 64 / 66
_PAM4_FEC = 514 / 544 * 256 / 257
"""PAM4 lanes: Reed-Solomon code RS(544,514), and 257 bits for 256 of data."""

_LINES = {
    "SDR": (2.5, _BLOCKS_8B10B),
    "DDR": (5.0, _BLOCKS_8B10B),
    "QDR": (10.0, _BLOCKS_8B10B),
    "FDR10": (10.3125, _BLOCKS_64B66B),
    "FDR": (14.0625, _BLOCKS_64B66B),
    "EDR": (25.78125, _BLOCKS_64B66B),
    "HDR": (53.125, _PAM4_FEC),
    "NDR": (106.25, _PAM4_FEC),
    "XDR": (212.5, _PAM4_FEC),
}
"""Bits per second on a lane, in Gbit/s, and the fraction of them that is data, by speed."""

LANES = {name: line * encoding for name, (line, encoding) in _LINES.items()}
"""Data rate of a lane in Gbit/s: EDR 25, HDR 50, NDR 100."""

LANE_BY_LINE_RATE = {line: name for name, (line, _) in _LINES.items() if name != "FDR10"}
"""Speed by the bits on a lane in Gbit/s; tools print FDR10 as the lanes of QDR."""

_WIDTHS = (1, 2, 4, 8, 12)
_PORT = re.compile(r"(\d+)[Xx] ([A-Za-z]+(?:10)?)")
_GBIT_PER_S = 125e6

_MTUS = (4096, 2048, 1024, 512, 256)
_ROCE_MOST_HEADERS = 96
"""Bytes that Linux keeps free in an Ethernet packet for headers of RoCE (``iboe_get_mtu``): GRH 40,
UDP 8, BTH 12, XRC 4, atomics 28, check sum 4."""


def port_rate(text: str) -> float:
    """Return the data rate in bytes per second of width and speed, ``4X HDR``.

    Raises:
        DocumentError: no port has them.
    """
    match = _PORT.fullmatch(text.strip())
    lane = LANES.get(match[2].upper()) if match else None
    if not match or lane is None or int(match[1]) not in _WIDTHS:
        raise DocumentError(
            f"{text[:40]!r} is no width and speed of InfiniBand; write for example 4X HDR, of "
            f"{', '.join(f'{width}X' for width in _WIDTHS)} and {', '.join(LANES)}"
        )
    return int(match[1]) * lane * _GBIT_PER_S


def port_name(text: str) -> str:
    """Return width and speed as the kernel writes them: ``4X HDR``."""
    return text.strip().upper()


def verbs_on_infiniband(mtu_bytes: int = _MTUS[0]) -> float:
    """Return the fraction of an InfiniBand data rate that RDMA moves.

    Each packet has LRH 8, BTH 12, ICRC 4 and VCRC 2 around its data.  MTU 4096 gives
    4096 / 4122 = 99.4 %.  RETH and AETH, a few bytes per message, do not count.
    """
    return mtu_bytes / (mtu_bytes + 26)


def roce_mtu(ethernet_mtu_bytes: int) -> int:
    """Return the MTU of RoCE on Ethernet: 1024 with 1500, 4096 with 9000; at least 256."""
    room = ethernet_mtu_bytes - _ROCE_MOST_HEADERS
    return next((mtu for mtu in _MTUS if mtu <= room), _MTUS[-1])


def verbs_on_ethernet(ethernet_mtu_bytes: int) -> float:
    """Return the fraction of an Ethernet bit rate that RDMA over RoCEv2 moves.

    Each packet has preamble 8, Ethernet header 14, check sum 4 and gap 12 (IEEE 802.3), IPv4 20,
    UDP 8, BTH 12 and ICRC 4.  MTU 9000 gives 4096 / 4178 = 98.0 %, MTU 1500 1024 / 1106 = 92.6 %.
    """
    mtu = roce_mtu(ethernet_mtu_bytes)
    return mtu / (mtu + 38 + 44)
