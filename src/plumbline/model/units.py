"""Parse and format rates, sizes and durations; no other module spells units.

Internally all values are bytes, seconds and bytes per second.  MB is 10^6 bytes, MiB is 2^20; text
never confuses the two.
"""

from __future__ import annotations

import re
from math import isfinite

from plumbline.model import ages
from plumbline.model.errors import DocumentError

_PREFIX = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_BINARY = {"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40, "Pi": 1 << 50}
# Not compiled here: a check only formats, and re caches compiled patterns.
# Each digit matches in only one way, so there is no backtracking.
_NUMBER = r"(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_MAX_CHARACTERS = 64
"""Most characters of a quantity; a longer text is none."""
_DURATION = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}

HOUR_S = 3600.0
DAY_S = 86400.0

LARGEST = 1e18
"""Upper bound of rates, sizes and durations, e.g. an exabyte per second; prevents overflows."""

_MAX_DURATION_S = 1e10
"""Longest duration; subtracted from now, it still gives a valid date."""

LINE_ENCODINGS = {"none": 1.0, "8b/10b": 0.8, "64b/66b": 64 / 66, "128b/130b": 128 / 130}
"""Data bits per line bit, by encoding."""


def _split(text: str, what: str, example: str) -> tuple[float, str]:
    body = text.strip() if len(text) <= _MAX_CHARACTERS else ""
    match = re.match(_NUMBER, body)
    unit = body[match.end() :].lstrip() if match else ""
    if not match or not isfinite(float(match[0])) or len(unit.split()) > 1:
        raise DocumentError(
            f"{what} {_quoted(text)} is not a number with a unit; write for example {example}"
        )
    return float(match[0]), unit


def _quoted(text: str) -> str:
    """Return a text quoted for a message, shortened if it is too long."""
    return repr(text) if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]!r} ..."


def _plausible(value: float, text: str, what: str) -> float:
    if value > LARGEST:
        raise DocumentError(f"{what} {text!r} is more than any machine has; correct it")
    return value


def _scaled(text: str, what: str, suffixes: dict[str, float], example: str) -> float:
    number, unit = _split(text, what, example)
    for suffix, factor in suffixes.items():
        prefix = unit[: len(unit) - len(suffix)]
        if unit.endswith(suffix) and prefix in {**_PREFIX, **_BINARY}:
            return _plausible(number * {**_PREFIX, **_BINARY}[prefix] * factor, text, what)
    raise DocumentError(f"{what} {text!r} has no known unit; write for example {example}")


def parse_bytes(text: str) -> int:
    """Return bytes for ``512 MiB``, ``1 GB`` or ``4096 B``; raise DocumentError otherwise."""
    return round(_scaled(text, "size", {"B": 1.0}, "512MiB"))


def parse_amount(text: str, unit: str) -> float:
    """Return a value in ``unit``, with or without a prefix; raise DocumentError otherwise."""
    return _scaled(text, "figure", {unit: 1.0}, f"200 {unit}")


def parse_rate(text: str) -> float:
    """Return bytes per second for ``200 MB/s``, ``1 Gbit/s`` or ``2 Gb/s``.

    Raises:
        DocumentError: anything else; the message shows an example.
    """
    # "b" means bits and "B" bytes, as usual
    suffixes = {"B/s": 1.0, "bit/s": 0.125, "b/s": 0.125}
    return _scaled(text, "rate", suffixes, "200 MB/s or 10 Gbit/s")


def parse_line_rate(text: str) -> float:
    """Return bytes per second for a link's rate in bits, ``10 Gbit/s``.

    Raises:
        DocumentError: anything else; for a rate in bytes the message has the correct key.
    """
    rate_Bps = parse_rate(text)
    if text.rstrip().endswith("B/s"):
        bits = text.rstrip()[: -len("B/s")]
        raise DocumentError(
            f"{text!r} counts bytes, and the speed of a link counts bits; write {bits}bit/s if "
            f"that was meant, or rate: {text.strip()} without encoding for what the part carries"
        )
    return rate_Bps


def parse_duration(text: str) -> float:
    """Return seconds for ``30 s``, ``10 min`` or ``10m``, ``36 h``, ``2 d``, ``1 w``.

    Raises:
        DocumentError: anything else, such as the ambiguous ``5 M``.
    """
    example = "10m (s, m or min, h, d, w)"
    number, unit = _split(text, "duration", example)
    if unit not in _DURATION:
        raise DocumentError(f"duration {text!r} has no known unit; write for example {example}")
    seconds = number * _DURATION[unit]
    if seconds > _MAX_DURATION_S:
        raise DocumentError(f"duration {_quoted(text)} is more than three centuries; correct it")
    return seconds


def format_rate(rate_Bps: float) -> str:
    """Return e.g. ``80.3 MB/s``; always with a decimal prefix."""
    return format_amount(rate_Bps, "B/s")


def format_bytes(size: float) -> str:
    """Return e.g. ``1.07 GB``, decimal."""
    return format_amount(size, "B")


def format_size(size: int) -> str:
    """Return a size exactly, in the largest binary unit that divides it: ``1 GiB``, ``1000 B``."""
    prefix = next((p for p, unit in reversed(_BINARY.items()) if size and not size % unit), "")
    return f"{size // _BINARY[prefix] if prefix else size} {prefix}B"


_OF_BYTES = (("T", 1e13), ("G", 1e10), ("M", 1e5), ("k", 1e3))
_OF_OTHERS = (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3))


def format_amount(value: float, unit: str) -> str:
    """Return a value in a unit with a decimal prefix, e.g. ``1.2 kops/s``.

    Bytes are in MB from a tenth to ten thousand, so that rates of storage are alike.
    """
    levels = _OF_BYTES if unit.startswith("B") else _OF_OTHERS
    prefix = next((prefix for prefix, least in levels if value >= least), "")
    scaled = value / _PREFIX[prefix]
    digits = 1 if prefix else 0
    return f"{scaled:.{digits}f} {prefix}{unit}"


def format_seconds(seconds: float) -> str:
    """Return a short time such as a latency, e.g. ``1.2 ms``."""
    factor, prefix = (1.0, "") if seconds >= 1 else (1e-3, "m") if seconds >= 1e-3 else (1e-6, "u")
    return f"{seconds / factor:.1f} {prefix}s"


format_duration = ages.format_duration
"""Format a duration; the checks, which format ages, do not load this module."""


def tcp_goodput(mtu_bytes: int, headers_bytes: int = 40, framing_bytes: int = 38) -> float:
    """Return the fraction of an Ethernet bit rate that is TCP payload.

    The payload of a packet of ``mtu_bytes`` is reduced by IP and TCP headers (20 + 20 bytes, RFC
    791 and 9293; 12 more with time stamps, RFC 7323), and the packet takes ``framing_bytes`` more
    on the wire: header 14, check sum 4, preamble 8, gap 12 (IEEE 802.3).  MTU 1500 gives
    1460 / 1538 = 94.9 %.
    """
    return (mtu_bytes - headers_bytes) / (mtu_bytes + framing_bytes)
