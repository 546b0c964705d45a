"""Names as the fragment of an address, so that Nagios can lead into the report.

A name may hold anything; what is not plain is replaced, and a hash keeps different names apart.
"""

from __future__ import annotations

import re
from hashlib import sha256

_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")
_LONGEST = 80
_HASHED = 8


def anchor(layer: str, name: str) -> str:
    """Return the place of a component in the report, e.g. ``ost-scratch-OST0003``."""
    wanted = f"{layer}-{name}"
    plain = _UNSAFE.sub("_", wanted)[:_LONGEST]
    if plain == wanted:
        return plain
    return f"{plain}-{sha256(wanted.encode('utf-8', 'surrogatepass')).hexdigest()[:_HASHED]}"


def group_anchor(layer: str, group: str) -> str:
    """Return the place of a group of peers in the report."""
    return anchor(f"{layer}-group", group)
