"""Write a YAML document that people keep in git: at once, in one form, and nothing of it lost.

One value a line and never a line broken, so that a change of one value changes one line.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Iterator, Mapping, NamedTuple

from plumbline.documents.plain_yaml import write_lines
from plumbline.errors import DocumentError, StoreError
from plumbline.store.replacing import replace

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
