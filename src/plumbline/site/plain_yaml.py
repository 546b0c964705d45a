"""YAML documents in the plain form in which plumbline writes them, with nothing of a person lost.

A site of 10,000 targets has a third of a million such lines, which PyYAML reads in many seconds.
What has this form is read here by lines; what has any other form, or is damaged, is left to PyYAML,
so the shortcut need not understand everything, but must never be wrong.

One value a line and never a line broken, so that a change of one value changes one line.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Iterator, Mapping, NamedTuple, Optional, Union

from plumbline.model.errors import DocumentError, StoreError
from plumbline.store.replacing import replace

Scalar = Union[str, int]

_INDENT = "  "
_DEEPEST = 20
_MOST_ODD = 500
_NEVER = 1 << 30
"""Columns after which a line is broken."""

_QUANTITY = re.compile(r"\d+(?:\.\d+)? (?:[kMGT]?B/s|%)")
_WORDS = re.compile(r"[A-Za-z][A-Za-z0-9_./@-]*(?:,? [A-Za-z0-9_./@-]+)*")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,15}")
_QUOTED_VALUE = re.compile(r"'((?:[^']|'')*)'")
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
    key = _read_plain(key_text if colon else body[:-1], known)
    parent = open_mappings[depth]
    if not isinstance(key, str) or key in parent:
        raise _OtherFormError
    if not colon:
        parent[key] = {}
        open_mappings.append(parent[key])
    else:
        parent[key] = {} if value_text == "{}" else _read_plain(value_text, known)


def _closed(open_mappings: list[dict[str, Any]], depth: int) -> None:
    """Refuse an innermost mapping that nothing was put into: YAML calls that null."""
    if len(open_mappings) - 1 > depth and not open_mappings[-1]:
        raise _OtherFormError


def _read_plain(text: str, known: _Known) -> Scalar:
    if text not in known:
        known[text] = _scalar(text, known)
    return known[text]


def _scalar(text: str, known: _Known) -> Scalar:
    if _is_plain(text):
        return text
    if _NUMBER.fullmatch(text):
        return int(text)
    quoted = _QUOTED_VALUE.fullmatch(text)
    if quoted and text.isprintable():
        return quoted[1].replace("''", "'")
    known.odd += 1
    return _by_yaml(text, known.odd)


def _by_yaml(text: str, count: int) -> Scalar:
    import yaml

    from plumbline.site.yaml_values import read_yaml

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


_QUOTED = re.compile(r"((?:^|: |- |[\[{,])\s*)(?:'(?:[^']|'')*'|\"(?:[^\"\\]|\\.)*\")")
"""A quoted text where one can begin: the quote in ``it's`` begins nothing.

Another text takes its place, so that what follows it at once is no comment.
"""
_COMMENT = re.compile(r"(?:^|\s)#")


class Revision(NamedTuple):
    """The text of a file as it is, empty where there is none, and as it is to be."""

    path: Path
    before: str
    after: str

    @property
    def changed(self) -> bool:
        """Return whether there is anything to write."""
        return self.before != self.after

    def write(self) -> None:
        """Replace the file at once where it changes; a crash leaves the old one.

        Raises:
            StoreError: the file cannot be written; the message says why.
        """
        if self.changed:
            _replace(self.path, self.after)


def revise(path: Path, document: Mapping[str, Any], comment: str) -> Revision:
    """Return what a YAML file is to be; nothing is written.

    ``comment`` becomes the last of the lines before the document; other comments there stay.

    Raises:
        DocumentError: a comment of the old file, further down, would be lost.
        StoreError: the file cannot be read; the message says why.
    """
    # a link stays a link
    path = path.resolve()
    old = _read(path)
    _refuse_loss(path, old)
    kept = [line for line in _header(old) if line != f"# {comment}"]
    text = "\n".join(["---", *kept, f"# {comment}", *write_lines(document), ""])
    return Revision(path, old, text)


def write_document(path: Path, document: Mapping[str, Any], comment: str) -> bool:
    """Replace a YAML file at once; return False where it says all that already.

    Raises:
        DocumentError: a comment of the old file, further down, would be lost.
        StoreError: the file cannot be read or written; the message says why.
    """
    revision = revise(path, document, comment)
    revision.write()
    return revision.changed


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8") if path.is_file() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{path} cannot be read: {error}; nothing changed") from error


def _header(text: str) -> Iterator[str]:
    """Yield the lines of comment before the document begins."""
    for line in text.splitlines():
        if line.startswith("#"):
            yield line
        elif line.strip() not in ("", "---"):
            return


def _refuse_loss(path: Path, text: str) -> None:
    header = sum(1 for _ in _header(text))
    for number, line in enumerate(text.splitlines(), 1):
        if "#" not in line or not _COMMENT.search(_QUOTED.sub(r"\1x", line)):
            continue
        header -= 1
        if header < 0:
            raise DocumentError(
                f"{path} line {number} has a comment that would be lost; say it in the reason of "
                "the baseline, or move it above the first key"
            )


def _replace(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
        replace(path, text, mode=mode)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}; nothing changed") from error
