"""Take one component out of a document without parsing the others.

A node with a hundred targets has a snapshot of half a megabyte; to parse it all would take a check
of one target longer than everything else it does.  Whoever gets None parses the whole document and
has the same, only later: so the shortcut need not understand every form, but must never be wrong.
A quote within a JSON string is escaped, hence a quoted word before a colon can only be a key.
"""

from __future__ import annotations

import json

from plumbline.model.json_text import refuse_constant
from plumbline.model.named_tuple import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, Optional


_DECODER = json.JSONDecoder(parse_constant=refuse_constant)


def series_alone(text: str, layer: str, component: str) -> Optional[dict[str, Any]]:
    """Return a snapshot with the series of one component alone, None if that takes a full parse."""
    start = text.find('"series":')
    raw = _head(text, start, '"series": {}}')
    if raw is None or not _tail(text).endswith(("]}}}", "{}}")):
        return None
    name = f"{layer}/{component}"
    key = json.dumps(name)
    at = text.find(f"{key}:", start)
    found = _value(text, at + len(key) + 1) if at >= 0 else None
    raw["series"] = {name: found}
    return raw if isinstance(found, dict) else None


def entry_alone(text: str, layer: str, component: str) -> Optional[dict[str, Any]]:
    """Return expectations with the entry of one component alone, None as of ``series_alone``."""
    start = text.find('"entries":')
    raw = _head(text, start, '"entries": []}')
    # an entry is the last there, and not the names or numbers of another list
    if raw is None or not _tail(text).endswith("}]}"):
        return None
    name = json.dumps(component)
    at = text.find(name, start)
    while at >= 0:
        # the name stands near the head of its own entry
        found = _value(text, text.rfind("{", start, at))
        if isinstance(found, dict) and _names(found) == (layer, component):
            raw["entries"] = [found]
            return raw
        at = text.find(name, at + 1)
    return None


def _names(entry: dict[str, Any]) -> tuple[Any, Any]:
    return entry.get("layer"), entry.get("component")


def _head(text: str, start: int, rest: str) -> Optional[dict[str, Any]]:
    """Return what stands before the document's last and longest member, with that one empty.

    Where the schema does not, neither do others: the member is not the last.
    """
    raw = _value(text[:start] + rest, 0) if start >= 0 else None
    return raw if isinstance(raw, dict) and "schema" in raw else None


def _tail(text: str) -> str:
    """Return the end of a document without blanks.

    It shows that the document was cut, or that the cut goes between two entries: then the one that
    is taken is whole.
    """
    return "".join(text[-64:].split())


def _value(text: str, at: int) -> Any:
    """Return the JSON value that begins at ``at``, or after one blank; None when there is none."""
    at += text[at : at + 1].isspace()
    try:
        return _DECODER.raw_decode(text, at)[0] if at >= 0 else None
    except (ValueError, RecursionError):
        return None
