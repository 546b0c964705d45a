"""Find the Debian mirror that the machine uses, in its apt sources."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Iterable, Optional

DEFAULT = "http://deb.debian.org/debian"
# One-line style: deb [options] URI suite ...; deb822 style: URIs: URI ...
_LINE = re.compile(r"^\s*(?:deb\s+(?:\[[^]]*\]\s+)?|URIs:\s*)(\S+)", re.MULTILINE)


def debian_mirror(texts: Iterable[str]) -> Optional[str]:
    """Return the first address that ends in /debian, as all Debian archives do."""
    for text in texts:
        for uri in _LINE.findall(text):
            if re.fullmatch(r"https?://.*/debian/?", uri):
                return str(uri).rstrip("/")
    return None


def of_machine(etc: Path = Path("/etc/apt")) -> str:
    """Return the mirror of this machine, or Debian's own if there is none."""
    files = [etc / "sources.list", *sorted((etc / "sources.list.d").glob("*"))]
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in files if path.is_file()]
    return debian_mirror(texts) or DEFAULT
