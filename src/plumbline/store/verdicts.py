"""Read the verdict that a node has published for one of its services.

Each service has a file of its own, so that a check reads some kilobytes on a node of any size.
"""

from __future__ import annotations

import os

from plumbline.errors import DocumentError
from plumbline.model.named_tuple import TYPE_CHECKING
from plumbline.model.published import Published
from plumbline.store.sealed import refuse_changed
from plumbline.store.trusted import decoded, parse, read_bytes, refuse

if TYPE_CHECKING:
    from plumbline.model.evidence import Subject

MOST_BYTES = 16 << 20
"""Of one verdict: that on a group of 10,000 targets has 10 MB."""

REMEDY = "write it again with: plumbline judge --publish"

_DEPLOY = "deploy the role agent again"
_LONGEST_NAME = 240
"""No file system of Linux takes more than 255 bytes."""
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~")
"""What quoting leaves as it is."""


def file_name(subject: Subject) -> str:
    """Return the name of the file of a component or a group; no two of them have the same."""
    layer, name, is_group = subject
    quoted = name
    if not _PLAIN.issuperset(name):
        # most names are plain, and to load this takes as long as to read a verdict
        from urllib.parse import quote

        quoted = quote(name, safe="", errors="surrogatepass")
    # no quoted name has this sign
    stem = f"{layer}-group@{quoted}" if is_group else f"{layer}-{quoted}"
    if len(stem) > _LONGEST_NAME:
        from hashlib import sha256

        kind = f"{layer}-group@" if is_group else f"{layer}-"
        stem = f"{kind}@{sha256(quoted.encode()).hexdigest()}"
    return f"{stem}.json"


def stamp_of(expectations: str) -> str:
    """Return what tells a document of expectations from others that were in its place.

    Raises:
        DocumentError: there is none.
    """
    try:
        return stamp(os.stat(expectations))
    except OSError as error:
        refuse(error, expectations, "expectations", _DEPLOY)


def stamp(found: os.stat_result) -> str:
    """Return what tells a file from others that were in its place."""
    return f"{found.st_ino}:{found.st_mtime_ns}:{found.st_size}"


def load_published(folder: str, subject: Subject, expectations: str) -> Published:
    """Return what was published for a component or group under the deployed expectations.

    Raises:
        DocumentError: naming file and remedy; its cause is FileNotFoundError where there is none.
    """
    file = f"{folder}/{file_name(subject)}"
    data = read_bytes(file, "verdict", REMEDY, MOST_BYTES)
    refuse_changed(data, f"verdict {file}", REMEDY)
    raw = parse(decoded(data, file, "verdict", REMEDY), file, REMEDY)
    found = Published.from_json(raw, file)
    if (found.layer, found.name, found.group) != subject:
        raise DocumentError(f"verdict {file} is of {found.layer} {found.name}; {REMEDY}")
    if found.stamp != stamp_of(expectations):
        raise DocumentError(
            f"verdict {file} was judged by other expectations than {expectations}; {REMEDY}"
        )
    return found
