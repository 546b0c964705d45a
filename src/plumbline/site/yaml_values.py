"""YAML documents of people: read strictly, and written so that one value takes one line.

Nothing of a document is believed: texts without end, names for names for names, and depths that
overflow a stack are refused while it is read, and a word that looks like a date or a number and is
none is an error of the document, with its line.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Iterator, Mapping, NamedTuple

import yaml

from plumbline.model.errors import DocumentError, StoreError
from plumbline.store.replacing import replace

MOST_BYTES = 64 << 20
"""Largest document; a site of 10,000 targets has baselines of some 10 MB."""

_MOST_VALUES = 5_000_000
_MOST_BY_ALIAS = 100_000
"""Values that aliases stand for, each as often as it is used."""

_DEEPEST = 100
_LONGEST_NUMBER = 64
"""Characters of a number or date."""

_NEVER = 1 << 30
"""Column after which a line is broken."""

_TAG = "tag:yaml.org,2002:"
_WORDS = {
    f"{_TAG}int": "whole number",
    f"{_TAG}float": "number",
    f"{_TAG}timestamp": "date",
    f"{_TAG}bool": "yes or no",
}
"""Types that YAML gives a text by its looks, or by a tag."""

# those of libyaml, where PyYAML was built with it, are ten times as fast
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BaseDumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def read_yaml(text: str) -> Any:
    """Return the value of a document, None for an empty one.

    Raises:
        yaml.YAMLError: it is no YAML, or no document of a person; marked with the line where known.
    """
    loader = _Loader(text)
    try:
        return _Reading(loader).document()
    finally:
        loader.dispose()


class _Reading:
    """One document, built from the events of PyYAML's parser: nodes take five times as long."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._open: list[str] = []
        self._count = 0
        self._by_alias = 0
        self._plain: dict[str, str] = {}

    def document(self) -> Any:
        """Return the value of the one document there is."""
        self._next()
        if self._loader.check_event(yaml.StreamEndEvent):
            return None
        self._next()
        value = self._value(self._next())
        self._next()
        if not self._loader.check_event(yaml.StreamEndEvent):
            raise _refusal(self._next(), "it has more than one document")
        return value

    def _next(self) -> Any:
        return self._loader.get_event()

    def _value(self, event: Any) -> Any:
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        before = self._count
        self._count += 1
        if self._count > _MOST_VALUES:
            raise _refusal(event, f"the document has more than {_MOST_VALUES} values")
        if isinstance(event, yaml.ScalarEvent):
            value = self._scalar(event)
        else:
            value = self._collection(event)
        if event.anchor:
            self._anchors[event.anchor] = value, self._count - before
        return value

    def _alias(self, event: Any) -> Any:
        name = event.anchor
        if name in self._open:
            raise _refusal(event, f"the alias *{name} stands for what it is part of")
        if name not in self._anchors:
            raise _refusal(event, f"found undefined alias {name!r}")
        value, size = self._anchors[name]
        self._count += size
        self._by_alias += size
        if self._by_alias > _MOST_BY_ALIAS:
            raise _refusal(event, f"aliases stand for more than {_MOST_BY_ALIAS} values")
        return value

    def _collection(self, event: Any) -> Any:
        kind = "map" if isinstance(event, yaml.MappingStartEvent) else "seq"
        if event.tag in _WORDS:
            raise _refusal(event, f"a list or mapping is no {_WORDS[event.tag]}")
        if event.tag not in (None, "!", f"{_TAG}{kind}"):
            raise _refusal(event, f"could not determine a constructor for the tag {event.tag!r}")
        if len(self._open) >= _DEEPEST:
            raise _refusal(event, f"it is more than {_DEEPEST} levels deep")
        self._open.append(event.anchor or "")
        value = self._mapping() if kind == "map" else self._sequence()
        self._open.pop()
        return value

    def _sequence(self) -> list[Any]:
        values = []
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            values.append(self._value(event))
        return values

    def _mapping(self) -> dict[Any, Any]:
        own: dict[Any, Any] = {}
        merged: dict[Any, Any] = {}
        written = set()
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            if isinstance(event, yaml.ScalarEvent):
                if event.value in written:
                    raise _refusal(event, f"the key {event.value[:64]!r} is given twice")
                written.add(event.value)
                if event.value == "<<" and event.implicit[0]:
                    merged = _merged(event, self._value(self._next()))
                    continue
            key = self._value(event)
            if isinstance(key, (dict, list)):
                raise _refusal(event, "found unhashable key")
            own[key] = self._value(self._next())
        return {**merged, **own}

    def _scalar(self, event: Any) -> Any:
        tag = event.tag
        if tag in (None, "!"):
            if not event.implicit[0]:
                return event.value
            tag = self._plain.get(event.value)
            if tag is None:
                tag = self._loader.resolve(yaml.ScalarNode, event.value, event.implicit)
                self._plain[event.value] = tag
        if tag == f"{_TAG}str":
            return event.value
        node = yaml.ScalarNode(tag, event.value, event.start_mark, event.end_mark)
        words = _WORDS.get(tag)
        if words and len(event.value) > _LONGEST_NUMBER:
            raise _refusal(event, f"{len(event.value)} characters are no {words}")
        construct = self._loader.yaml_constructors.get(tag, self._loader.yaml_constructors[None])
        try:
            return construct(self._loader, node)
        # PyYAML makes numbers and dates with whatever error Python raises on the way
        except (ValueError, LookupError, AttributeError, OverflowError) as error:
            if not words:
                raise
            problem = f"{event.value!r} is no {words}; quote it if it is text"
            raise _refusal(event, problem) from error


def _merged(event: Any, value: Any) -> dict[Any, Any]:
    """Return the keys that a mapping takes over by ``<<``, of several mappings the first one's."""
    mappings = value if isinstance(value, list) else [value]
    if not all(isinstance(mapping, dict) for mapping in mappings):
        raise _refusal(event, "expected a mapping or list of mappings for merging")
    return {key: value for mapping in reversed(mappings) for key, value in mapping.items()}


def _refusal(location: Any, problem: str) -> yaml.MarkedYAMLError:
    return yaml.constructor.ConstructorError(None, None, problem, location.start_mark)


class _Dumper(_BaseDumper):  # type: ignore[misc]
    """Writes every text in one line, and a mapping as often as it stands in the document."""

    def ignore_aliases(self, *_: Any) -> bool:
        return True


def _one_line(dumper: Any, text: str) -> Any:
    return dumper.represent_scalar(f"{_TAG}str", text, style=None if text.isprintable() else '"')


_Dumper.add_representer(str, _one_line)


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a mapping of mappings, texts and whole numbers, the last one empty."""
    text = yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_NEVER)
    yield from text.split("\n")


_QUOTED = re.compile(r"((?:^|: |[-?] |[\[{,])\s*)(?:'(?:[^']|'')*'|\"(?:[^\"\\]|\\.)*\")")
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
    text = "\n".join(["---", *kept, f"# {comment}", *_lines(document)])
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
