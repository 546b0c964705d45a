"""One condition of a node: what it belongs to, its name, its value; secrets are refused here."""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import sha256

from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Iterable, Iterator

AREAS = ("lustre", "software", "firmware", "module", "mount", "disk", "sysctl", "link", "cpu")
"""In the order of what they tell first of a change of rates."""

NODE = "node"
"""The class of what a node has once."""

_LONGEST = 160
_SECRET = re.compile(
    r"passw|passphrase|\bpass\b|secret|token|credential|key(?!board)|private|auth", re.IGNORECASE
)
_KEY_MATERIAL = re.compile(r"-----BEGIN|[0-9a-fA-F]{32}|[A-Za-z0-9+/]{60}")


class Condition(NamedTuple):
    """One condition.

    ``area`` is one of AREAS; ``subject`` what has it by a name that lasts over boots, empty for the
    node itself; ``among`` the class in which nodes are compared, such as the model of a disk.
    """

    area: str
    subject: str
    name: str
    value: str
    among: str = NODE

    @property
    def key(self) -> tuple[str, str, str]:
        """Return by what it is known."""
        return self.area, self.subject, self.name


def is_secret(name: str) -> bool:
    """Return whether a name says that its value is nobody else's business."""
    return _SECRET.search(name) is not None


@lru_cache(maxsize=4096)
def tidy(text: str) -> str:
    """Return a value as one line of at most 160 printable characters.

    A longer one keeps its beginning and a checksum, so that a change is seen.
    """
    lines = (" ".join(line.split()) for line in text.splitlines())
    whole = "; ".join(line for line in lines if line)
    whole = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in whole)
    if len(whole) <= _LONGEST:
        return whole
    digest = sha256(whole.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{whole[:100]}... ({len(whole)} characters, checksum {digest})"


def merged(found: Iterable[Condition]) -> Iterator[Condition]:
    """Yield each condition once; where paths or instances of one subject differ, all their values.

    What may be a secret by its name or form is left out.
    """
    values: dict[tuple[str, str, str, str], set[str]] = {}
    for area, subject, name, value, among in found:
        if not is_secret(name) and not _KEY_MATERIAL.search(value):
            values.setdefault((area, subject, name, among), set()).add(tidy(value))
    for (area, subject, name, among), every in values.items():
        yield Condition(
            area, tidy(subject), tidy(name), tidy(", ".join(sorted(every))), tidy(among)
        )
