"""End of a certificate, read from its PEM text; checks have no library for it.

RFC 5280, section 4.1: a certificate is a sequence of nested elements in DER, each a tag, a length
and a content; the period of validity is the fifth element of its first part.
"""

from __future__ import annotations

from binascii import a2b_base64

_HEAD, _END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
_VERSION = 0xA0
"""Tag of the version, which may be left out."""
_EPOCH_DAYS = 719468
"""Days from 1 March of year 0 to 1970."""
_SHORT_YEAR = 0x17
"""Tag of a time whose year has two digits, from 1950 to 2049."""


def ends_at(text: str) -> float:
    """Return the end of the first certificate of a PEM file, in seconds since the epoch.

    Raises:
        ValueError: it is no certificate.
    """
    _, found, rest = text.partition(_HEAD)
    body, ended, _ = rest.partition(_END)
    if not found or not ended:
        raise ValueError("it is no certificate in PEM form")
    try:
        return _end(a2b_base64(body))
    except (IndexError, UnicodeDecodeError) as error:
        raise ValueError("its certificate is cut or damaged") from error


def _end(data: bytes) -> float:
    _, part, _ = _element(data, 0)
    _, at, _ = _element(data, part)
    tag, _, after = _element(data, at)
    at = after if tag == _VERSION else at
    # serial number, signature algorithm, issuer
    for _ in range(3):
        at = _element(data, at)[2]
    _, begin, _ = _element(data, at)
    tag, start, end = _element(data, _element(data, begin)[2])
    digits = data[start:end].decode("ascii")
    if tag == _SHORT_YEAR:
        digits = f"{'20' if digits < '50' else '19'}{digits}"
    return _seconds(digits)


def _element(data: bytes, at: int) -> tuple[int, int, int]:
    """Return tag, start and end of the content of an element; raise IndexError if it is cut."""
    tag, length, start = data[at], data[at + 1], at + 2
    if length > 0x7F:
        width, length = length & 0x7F, 0
        for byte in (data[start + place] for place in range(width)):
            length = length << 8 | byte
        start += width
    if start + length > len(data):
        raise IndexError(at)
    return tag, start, start + length


def _seconds(digits: str) -> float:
    """Return a time like ``20281231235959Z`` in seconds since the epoch; raise ValueError.

    Days are counted from 1 March of year 0, so that a leap day ends its year; datetime.strptime
    takes longer than a check.
    """
    year, month, day, hour, minute, second = (
        int(digits[start : start + 2 + 2 * (not start)]) for start in (0, 4, 6, 8, 10, 12)
    )
    plausible = 1 <= month <= 12 and 1 <= day <= 31 and hour < 24 and minute < 60 and second < 61
    if len(digits) != 15 or digits[14] != "Z" or not plausible:
        raise ValueError(f"its end {digits!r:.20} is no time")
    year, month = (year, month - 3) if month > 2 else (year - 1, month + 9)
    days = 365 * year + year // 4 - year // 100 + year // 400 + (153 * month + 2) // 5 + day - 1
    return float((days - _EPOCH_DAYS) * 86400 + hour * 3600 + minute * 60 + second)
