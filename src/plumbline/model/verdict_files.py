"""Schema, places and stamps of the files that checks read.

The checks load this module, which therefore imports nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from plumbline.model.evidence import Subject

SCHEMA = 2

MAX_BYTES = 16 << 20
"""Limit of a verdict: a group of 10,000 targets has 10 MB."""

EXPECTATIONS = "/etc/plumbline/expectations.json"
VERDICTS = "/var/lib/plumbline/verdicts"
"""Folder of the verdicts on what a node measures."""

PATHS = "/var/lib/plumbline-console/paths.json"

NODE_FILE = "node-probes.json"
"""File with the verdict on the probes of a node, whose check is not told the node's name."""

SYMPTOMS_FILE = "symptom-verdicts.json"
"""File with the verdicts on the symptoms of a node."""

SYMPTOMS = f"/var/lib/plumbline/{SYMPTOMS_FILE}"

SPACE_FILE = "space-verdicts.json"
"""File with the verdicts on the space of the file systems that a node looks at."""

SPACE = f"/var/lib/plumbline/{SPACE_FILE}"

_MAX_NAME = 240
"""File systems of Linux allow 255 bytes."""
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~")
"""Characters that quoting does not change (RFC 3986, section 2.3)."""


def file_name(subject: Subject) -> str:
    """Return the unique file name of a component or a group."""
    layer, name, is_group = subject
    # @ is in no quoted name
    kind, quoted = f"{layer}-group@" if is_group else f"{layer}-", _quoted(name)
    if len(kind) + len(quoted) > _MAX_NAME:
        from hashlib import sha256  # hardly any name is so long

        return f"{kind}@{sha256(quoted.encode()).hexdigest()}.json"
    return f"{kind}{quoted}.json"


def _quoted(name: str) -> str:
    """Return a name as :func:`urllib.parse.quote` does, which checks have no time to load."""
    return "".join(
        letter
        if letter in _PLAIN
        else "".join(f"%{byte:02X}" for byte in letter.encode("utf-8", "surrogatepass"))
        for letter in name
    )


def note_file(folder: str, layer: str) -> str:
    """Return the file in a folder with the note of a layer's run that could not be recorded."""
    return f"{folder}/unrecorded-{layer}.json"


def stamp(status: Any) -> str:
    """Return a stamp, from os.stat, that changes whenever a file is replaced."""
    return f"{status.st_ino}:{status.st_mtime_ns}:{status.st_size}"
