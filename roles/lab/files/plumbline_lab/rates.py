"""Parse rates and sizes: 40MB/s, 100Mbit, 1GiB; MB is 10^6 bytes, MiB is 2^20."""

from __future__ import annotations

import re

from plumbline_lab.errors import LabError

_NUMBER = r"\s*(\d+(?:\.\d+)?)\s*"
_DECIMAL = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
_BINARY = {"ki": 2**10, "mi": 2**20, "gi": 2**30}


def bytes_per_second(text: str) -> int:
    """Parse the rate of a disk."""
    return _parse(
        text, r"([kmg]i?)?B/s", f"The rate of a disk is written as 40MB/s or 64MiB/s, not '{text}'."
    )


def bits_per_second(text: str) -> int:
    """Parse the rate of a link."""
    return _parse(
        text,
        r"([kmg])?bit(?:/s)?",
        f"The rate of a link is written as 100Mbit or 1Gbit, not '{text}'.",
    )


def size_bytes(text: str) -> int:
    """Parse the size of a disk."""
    return _parse(
        text, r"([kmg]i?)?B", f"The size of a disk is written as 1GiB or 512MiB, not '{text}'."
    )


def _parse(text: str, unit: str, complaint: str) -> int:
    match = re.fullmatch(_NUMBER + unit + r"\s*", str(text), re.IGNORECASE)
    if not match:
        raise LabError(complaint)
    value = int(float(match.group(1)) * {**_DECIMAL, **_BINARY}[(match.group(2) or "").lower()])
    if value <= 0:
        raise LabError(complaint.replace(", not ", " and above zero, not "))
    return value
