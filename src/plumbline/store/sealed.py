"""A document that notices when a bit of it was changed: its first member is a checksum of the rest.

It stays plain JSON, and a document of an older version, which has none, is read as it is.  Ends of
lines behind it are none of it: what brings a file as text adds one or takes one away.
"""

from __future__ import annotations

from zlib import crc32

from plumbline.errors import DocumentError

_KEY = b'"crc32"'
_HEAD = b'{"crc32":"'
_DIGITS = 8
_BODY = len(_HEAD) + _DIGITS + 1
"""Where begins what the checksum is of: the comma behind it."""


def seal(text: str) -> str:
    """Return a JSON object, not an empty one, with the checksum of its text in front."""
    body = f",{text.strip()[1:]}"
    return f'{_HEAD.decode()}{crc32(body.encode()):08x}"{body}'


def refuse_changed(data: bytes, what: str, remedy: str) -> None:
    """Raise DocumentError when a document is not what it was when it was sealed."""
    if _KEY not in data[: len(_HEAD) + len(_KEY)]:
        return
    digits = data[len(_HEAD) : _BODY - 1]
    found = b"%08x" % crc32(memoryview(data.rstrip(b"\r\n"))[_BODY:])
    if not data.startswith(_HEAD) or digits != found:
        raise DocumentError(f"{what} is damaged (its checksum does not match); {remedy}")
