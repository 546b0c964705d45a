"""The plain form in which plumbline writes YAML: nested mappings, one value a line.

A site of 10,000 targets has a third of a million such lines, which PyYAML reads in many seconds.
What has this form is read here by lines; what has any other form, or is damaged, is left to PyYAML,
so the shortcut need not understand everything, but must never be wrong.
"""

from __future__ import annotations

import re
from typing import Any, Iterator, Mapping, Optional, Union

Scalar = Union[str, int]

_INDENT = "  "
_DEEPEST = 20
_MOST_ODD = 500
_NEVER = 1 << 30
"""Columns after which a line is broken."""

_QUANTITY = re.compile(r"\d+(?:\.\d+)? (?:[kMGT]?B/s|%)")
_WORDS = re.compile(r"[A-Za-z][A-Za-z0-9_./@-]*(?:,? [A-Za-z0-9_./@-]+)*")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,15}")
_QUOTED = re.compile(r"'((?:[^']|'')*)'")
_RESERVED = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))
"""What YAML 1.1 reads as something else than text, in any case."""


def write_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a mapping of mappings, texts and whole numbers."""
    known: dict[Scalar, str] = {}
    yield from _lines(document, "", known)


def _lines(document: Mapping[str, Any], indent: str, known: dict[Scalar, str]) -> Iterator[str]:
    for key, value in document.items():
        if isinstance(value, Mapping):
            yield f"{indent}{_written(key, known)}:" + ("" if value else " {}")
            yield from _lines(value, indent + _INDENT, known)
        else:
            yield f"{indent}{_written(key, known)}: {_written(value, known)}"


def _written(value: Scalar, known: dict[Scalar, str]) -> str:
    """Return a text or number as it is written, quoted where needed, always in one line."""
    if isinstance(value, int):
        return str(value)
    if value not in known:
        known[value] = value if _is_plain(value) else _quoted(value)
    return known[value]


def _is_plain(text: str) -> bool:
    """Return whether a text can certainly be written, and read, as it is."""
    if _QUANTITY.fullmatch(text):
        return True
    return bool(_WORDS.fullmatch(text)) and text.lower() not in _RESERVED


def _quoted(text: str) -> str:
    import yaml

    style = None if text.isprintable() else '"'
    found: str = yaml.safe_dump(text, allow_unicode=True, width=_NEVER, default_style=style)
    return found.partition("\n...")[0].rstrip("\n")


class _OtherFormError(Exception):
    """This is not the plain form; never leaves this module."""


class _Known(dict[str, Scalar]):
    """The texts that were read; ``odd`` counts those that PyYAML had to read one by one."""

    odd = 0


def read_plain(text: str) -> Optional[dict[str, Any]]:
    """Return what a text of the plain form says, None for a text of any other form."""
    root: dict[str, Any] = {}
    open_mappings = [root]
    known = _Known()
    try:
        for line in text.removeprefix("---\n").split("\n"):
            body = line.lstrip(" ")
            if not body or line.startswith("#"):
                continue
            _take(body, len(line) - len(body), open_mappings, known)
        _closed(open_mappings, 0)
    except _OtherFormError:
        return None
    return root or None


def _take(body: str, indent: int, open_mappings: list[dict[str, Any]], known: _Known) -> None:
    """Take one line into the innermost mapping that is open at its depth."""
    depth, odd = divmod(indent, len(_INDENT))
    if odd or depth >= min(len(open_mappings), _DEEPEST):
        raise _OtherFormError
    if depth < len(open_mappings) - 1:
        _closed(open_mappings, depth)
        del open_mappings[depth + 1 :]
    key_text, colon, value_text = body.partition(": ")
    if not colon and not body.endswith(":"):
        raise _OtherFormError
    key = _read(key_text if colon else body[:-1], known)
    parent = open_mappings[depth]
    if not isinstance(key, str) or key in parent:
        raise _OtherFormError
    if not colon:
        parent[key] = {}
        open_mappings.append(parent[key])
    else:
        parent[key] = {} if value_text == "{}" else _read(value_text, known)


def _closed(open_mappings: list[dict[str, Any]], depth: int) -> None:
    """Refuse an innermost mapping that nothing was put into: YAML calls that null."""
    if len(open_mappings) - 1 > depth and not open_mappings[-1]:
        raise _OtherFormError


def _read(text: str, known: _Known) -> Scalar:
    if text not in known:
        known[text] = _scalar(text, known)
    return known[text]


def _scalar(text: str, known: _Known) -> Scalar:
    if _is_plain(text):
        return text
    if _NUMBER.fullmatch(text):
        return int(text)
    quoted = _QUOTED.fullmatch(text)
    if quoted and text.isprintable():
        return quoted[1].replace("''", "'")
    known.odd += 1
    return _by_yaml(text, known.odd)


def _by_yaml(text: str, count: int) -> Scalar:
    import yaml

    from plumbline.documents.yaml_values import read_yaml

    # of many, all at once is quicker
    if not text.isprintable() or count > _MOST_ODD:
        raise _OtherFormError
    try:
        value = read_yaml(text)
    except yaml.YAMLError:
        raise _OtherFormError from None
    if type(value) not in (str, int):
        raise _OtherFormError
    found: Scalar = value
    return found
