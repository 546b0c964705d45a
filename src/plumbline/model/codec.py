"""Read named tuples from JSON and write them to it, by their annotations.

``read(Service, raw)`` builds a value and ``write(service)`` returns a value for :func:`json.dumps`.
A class with a ``form`` is a document, with a schema number in its JSON.
Annotations may use Any, Optional, Mapping, tuple[X, ...], tuple[X, Y], named tuples, enumerations
(by value; integer ones by name), classes with ``parse`` (as text), classes with their own
``from_json`` and ``to_json``, and ``Annotated[X, check]``.  Keys of a Mapping may be text, whole
numbers or members of an enumeration.  A part may already be built.  A check gets the value as a
keyword argument under its name and raises TypeError, like those of
:mod:`plumbline.model.validation`; checks of a number are bounds.  Numbers, texts and bools are
checked even without one.
"""

from __future__ import annotations

import json
import re
from collections import abc
from functools import partial
from itertools import chain, islice
from math import isfinite
from operator import is_
from typing import (
    Annotated,
    Any,
    Callable,
    Iterable,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from plumbline.model.errors import DocumentError
from plumbline.model.units import LARGEST
from plumbline.model.validation import Within, numbers, same_schema, texts, unicode_text

T = TypeVar("T")
Reader = Callable[[Any], Any]


class AtMost:
    """Check of lists with at most ``most`` entries."""

    def __init__(self, most: int) -> None:
        """Take the largest number of entries."""
        self.most = most

    def __call__(self, **values: Any) -> None:
        """Raise TypeError for a longer list."""
        for name, value in values.items():
            if len(value) > self.most:
                raise TypeError(f"{name} has {len(value)} entries, {self.most} at most")


def lenient(kind: type[T]) -> type[T]:
    """Mark a class to ignore unknown keys, which a newer version may write."""
    _LENIENT.add(kind)
    return kind


def formerly(**names: str) -> Callable[[type[T]], type[T]]:
    """Mark a class with new names of keys; ``names`` maps old names in documents to new ones."""

    def mark(kind: type[T]) -> type[T]:
        _FORMER_KEYS[kind] = names
        return kind

    return mark


def positional(kind: type[T]) -> type[T]:
    """Mark a class to be written as a list of its values, without the names of its fields."""
    _ROWS.add(kind)
    return kind


def read(kind: type[T], raw: Any) -> T:
    """Return the value of a document.

    Raises:
        KeyError: a key is missing.
        TypeError: a key is unknown, or its value is impossible.
        DocumentError: a text cannot be parsed.
    """
    value: T = _class_reader(kind)(raw)
    return value


def read_all(kind: type[T], raw: Any) -> tuple[T, ...]:
    """Return the values of a list; raise as ``read`` does."""
    values: tuple[T, ...] = _list(_class_reader(kind), kind.__name__)(raw)
    return values


class Form(NamedTuple):
    """Form of a document: its schema number, and its name and remedy for messages."""

    schema: int
    noun: str
    remedy: str


FORMS: dict[Any, Form] = {}
"""Forms of the classes that are documents."""


def form(schema: int, noun: str, remedy: str) -> Callable[[type[T]], type[T]]:
    """Give a class the form of a document, which also has the key ``schema``."""

    def mark(kind: type[T]) -> type[T]:
        FORMS[kind] = Form(schema, noun, remedy)
        return kind

    return mark


def read_document(kind: type[T], raw: Any, what: str = "") -> T:
    """Return the value of a document, which may already be built.

    Raises:
        DocumentError: it has another schema or is damaged; the message has ``what``, by default the
            name of its kind, and the remedy.
    """
    if type(raw) is kind:
        return raw
    schema, noun, remedy = FORMS[kind]
    what = what or f"the {noun}"
    try:
        same_schema(raw, schema, what, remedy)
        return read(kind, without_schema(raw))
    except DocumentError as error:
        if raw["schema"] != schema:
            raise
        raise DocumentError(f"{what}: {error}; {remedy}") from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DocumentError(f"{what} is damaged ({error!r:.200}); {remedy}") from error


def without_schema(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document without its schema number; fast."""
    parts = dict(raw)
    del parts["schema"]
    return parts


def write(value: Any) -> Any:
    """Return the document form of a value: mappings, lists, texts and numbers."""
    kind = type(value)
    writer = _WRITERS.get(kind)
    if writer is None:
        writer = _WRITERS[kind] = _writer(kind)
    return writer(value)


def _writer(kind: Any) -> Reader:
    if hasattr(kind, "parse"):
        return str
    if hasattr(kind, "to_json"):
        return lambda value: value.to_json()
    if kind in _ROWS:
        return _write_list
    if hasattr(kind, "_fields"):
        return write_fields
    if issubclass(kind, dict):
        return _write_mapping
    if issubclass(kind, (tuple, list)):
        return _write_list
    if hasattr(kind, "__members__") or (issubclass(kind, str) and kind is not str):
        return (lambda value: value.name) if issubclass(kind, int) else (lambda value: value.value)
    return lambda value: value


_SCALARS = frozenset((str, float, int, bool, type(None)))
"""Types that are their own form; most parts of a large document have one of them."""


def _write_list(value: Iterable[Any]) -> list[Any]:
    return [part if type(part) in _SCALARS else write(part) for part in value]


def _write_mapping(value: Mapping[Any, Any]) -> dict[Any, Any]:
    return {
        key if type(key) is str else write(key): part if type(part) in _SCALARS else write(part)
        for key, part in value.items()
    }


def compact(value: Any) -> str:
    """Return a value as JSON without whitespace; raise ValueError for NaN or infinity."""
    return json.dumps(write(value), separators=(",", ":"), allow_nan=False)


def write_fields(value: Any) -> dict[str, Any]:
    """Return the document form of a named tuple, even if it has its own ``to_json``."""
    form = FORMS.get(type(value))
    schema = {"schema": form.schema} if form else {}
    return {**schema, **dict(zip(value._fields, _write_list(value)))}


def refuse_impossible(value: Any) -> None:
    """Check a named tuple that was built without ``read``; raise as ``read`` does."""
    kind = type(value)
    _class_reader(kind)([*value] if kind in _ROWS else write_fields(value))


_LENIENT: set[type] = set()
_FORMER_KEYS: dict[type, Mapping[str, str]] = {}
_ROWS: set[type] = set()
_READERS: dict[type, Reader] = {}
_WRITERS: dict[type, Reader] = {}


def _switch(**values: Any) -> None:
    for name, value in values.items():
        if type(value) is not bool:
            raise TypeError(f"{name} is {value!r:.60}, which is neither true nor false")


def _text(**values: Any) -> None:
    for name, value in values.items():
        texts(name, (value,))


_PLAIN: dict[type, Callable[..., None]] = {bool: _switch, str: _text}
_NUMBERS = {float: numbers, int: Within(-LARGEST, LARGEST, whole=True)}


def _class_reader(kind: Any) -> Reader:
    if kind not in _READERS:
        _READERS[kind] = _compiled(kind)
    return _READERS[kind]


def _compiled(kind: Any) -> Reader:
    hints = get_type_hints(kind, include_extras=True)
    readers = {key: _reader(hints[key], key) for key in kind._fields}
    defaults: Mapping[str, Any] = kind._field_defaults
    plan = [
        (key, reader, key in defaults, _unchanged(hints[key])) for key, reader in readers.items()
    ]
    strict = kind not in _LENIENT
    former = _FORMER_KEYS.get(kind, {})

    row = _row([(reader, _unchanged(hints[key])) for key, reader in readers.items()], kind.__name__)

    def read_row(raw: Any) -> Any:
        return raw if type(raw) is kind else kind(*row(raw))

    def read_object(raw: Any) -> Any:
        if type(raw) is kind:
            return raw
        if type(raw) is not dict:
            raise TypeError(f"{kind.__name__} is {raw!r:.60}, which is no mapping")
        if former and not former.keys().isdisjoint(raw):
            raw = {former.get(key, key): value for key, value in raw.items()}
        if strict and not raw.keys() <= readers.keys():
            unknown = min(raw.keys() - readers.keys())
            raise TypeError(f"{unknown!r:.60} is no key of {kind.__name__}")
        return kind(
            *[
                defaults[key]
                if optional and key not in raw
                # most texts and empty values need no reader, whose call takes longer than this
                else (value if type(value := raw[key]) in unchanged else reader(value))
                for key, reader, optional, unchanged in plan
            ]
        )

    return read_row if kind in _ROWS else read_object


def _unchanged(hint: Any) -> frozenset[type]:
    """Return the types whose values need neither check nor change."""
    nothing = type(None)
    if get_origin(hint) is Union and get_args(hint)[1:] == (nothing,):
        return _unchanged(get_args(hint)[0]) | {nothing}
    return frozenset({hint} if hint in _PLAIN else ())


def _reader(hint: Any, key: str) -> Reader:
    origin, parts = get_origin(hint), get_args(hint)
    if hint is Any:
        return lambda raw: raw
    if origin is Annotated:
        return _annotated_reader(parts[0], parts[1:], key)
    if origin is Union and parts[1:] == (type(None),):
        return _optional(_reader(parts[0], key))
    if origin is not None:
        return _generic_reader(origin, parts, key)
    if hint in _NUMBERS:
        return _number(hint, (), key)
    return _plain(hint, _PLAIN[hint], key) if hint in _PLAIN else _object_reader(hint, key)


def _annotated_reader(hint: Any, checks: Sequence[Any], key: str) -> Reader:
    if hint in _NUMBERS:
        return _number(hint, checks, key)
    if checks == (unicode_text,):
        return _unicode_reader(key)
    reader = _reader(hint, key)
    for check in checks:
        reader = _checked(reader, check, key)
    return reader


def _generic_reader(origin: Any, parts: Any, key: str) -> Reader:
    """Return the reader of a list, a list of fixed length, or a mapping."""
    if origin is tuple:
        if parts[1:] == (...,):
            one_by_one = _list(_reader(parts[0], key), key, _unchanged(parts[0]))
            return _rows(_column(parts[0]), one_by_one) if parts[0] in _ROWS else one_by_one
        return _row([(_reader(part, key), _unchanged(part)) for part in parts], key)
    if issubclass(origin, abc.Mapping):
        key_reader = None if parts[0] is str else _key(parts[0], key)
        reader = None if parts[1] is Any else _reader(parts[1], key)
        return _mapping(key_reader, reader, key, _unchanged(parts[1]))
    raise NotImplementedError(f"{key} is of {origin!r}, which has no form in JSON")


def _object_reader(hint: Any, key: str) -> Reader:
    if hasattr(hint, "parse"):
        return _parsed(hint.parse, key)
    if hint in FORMS:
        return partial(read_document, hint)
    if hasattr(hint, "from_json"):
        return lambda raw: raw if type(raw) is hint else hint.from_json(raw)
    if hasattr(hint, "_fields"):
        return _class_reader(hint)
    if hasattr(hint, "__members__") or issubclass(hint, str):
        return _member(hint, key)
    raise NotImplementedError(f"{key} is of {hint!r}, which has no form in JSON")


def _optional(reader: Reader) -> Reader:
    return lambda raw: None if raw is None else reader(raw)


def _checked(reader: Reader, check: Callable[..., None], key: str) -> Reader:
    def read_checked(raw: Any) -> Any:
        value = reader(raw)
        check(**{key: value})
        return value

    return read_checked


def _unicode_reader(key: str) -> Reader:
    def read_text(raw: Any) -> Any:
        if type(raw) is not str or not raw.isascii():
            unicode_text(**{key: raw})
        return raw

    return read_text


def _number(kind: Any, checks: Sequence[Within], key: str) -> Reader:
    """Return the reader of a number; an integer is a valid float, and remains an integer."""
    limits = (_NUMBERS[kind], *checks)
    least, most = max(check.least for check in limits), min(check.most for check in limits)
    kinds = (int,) if any(check.whole for check in limits) else (float, int)

    def read_number(raw: Any) -> Any:
        if type(raw) not in kinds or not least <= raw <= most:
            for check in limits:
                check(**{key: raw})
        return raw

    return read_number


def _list(reader: Reader, key: str, unchanged: frozenset[type] = frozenset()) -> Reader:
    def read_list(raw: Any) -> Any:
        if type(raw) not in (list, tuple):
            raise TypeError(f"{key} is {raw!r:.60}, which is no list")
        return tuple([part if type(part) in unchanged else reader(part) for part in raw])

    return read_list


def _row(columns: Sequence[tuple[Reader, frozenset[type]]], key: str) -> Reader:
    def read_row(raw: Any) -> Any:
        if type(raw) not in (list, tuple) or len(raw) != len(columns):
            raise TypeError(f"{key} is {raw!r:.60}, which is no list of its fields")
        return tuple(
            [
                part if type(part) in unchanged else reader(part)
                for (reader, unchanged), part in zip(columns, raw)
            ]
        )

    return read_row


def _rows(column: Reader, one_by_one: Reader) -> Reader:
    """Return the reader of a list of rows, column by column: a large site has 100,000 of them."""

    def read_rows(raw: Any) -> Any:
        try:
            return tuple(column(_of_types([raw], list, tuple)[0]))
        except (KeyError, TypeError, ValueError, DocumentError):
            # the error of the first such row, or none if it is already built
            return one_by_one(raw)

    return read_rows


def _column(hint: Any) -> Reader:
    """Return the reader of many values at once, which raises if it does not know one of them."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Union and parts[1:] == (type(None),):
        return _optional_column(_column(parts[0]))
    if origin is tuple and parts[1:] == (...,):
        return _column_of_lists(_column(parts[0]))
    if origin is tuple:
        return _table([*map(_column, parts)])
    if hint in _ROWS:
        hints = get_type_hints(hint, include_extras=True)
        row, table = partial(tuple.__new__, hint), _table([_column(hints[k]) for k in hint._fields])
        return lambda raws: map(row, table(raws))
    if origin is Annotated and parts[0] in _NUMBERS:
        return _column_of_numbers(_NUMBERS[parts[0]], *parts[1:])
    if hint in _NUMBERS:
        return _column_of_numbers(_NUMBERS[hint])
    if hint in _PLAIN:
        return lambda raws: _of_types(raws, hint)
    reader = _reader(hint, "")
    return lambda raws: [*map(reader, raws)]


def _of_types(raws: Sequence[Any], *kinds: type) -> Sequence[Any]:
    if not set(map(type, raws)) <= {*kinds}:
        raise TypeError
    return raws


def _column_of_numbers(*limits: Within) -> Reader:
    least, most = max(check.least for check in limits), min(check.most for check in limits)
    kinds = (int,) if any(check.whole for check in limits) else (float, int)

    def read_numbers(raws: Sequence[Any]) -> Sequence[Any]:
        _of_types(raws, *kinds)
        # NaN may pass both comparisons
        if raws and not (least <= min(raws) and max(raws) <= most and isfinite(sum(raws))):
            raise ValueError
        return raws

    return read_numbers


def _optional_column(column: Reader) -> Reader:
    def read_optional(raws: Sequence[Any]) -> Sequence[Any]:
        values = iter(column([raw for raw in raws if raw is not None]))
        return [None if raw is None else next(values) for raw in raws]

    return read_optional


def _column_of_lists(column: Reader) -> Reader:
    def read_lists(raws: Sequence[Any]) -> Sequence[Any]:
        _of_types(raws, list, tuple)
        values = iter(column([*chain.from_iterable(raws)]))
        return [tuple(islice(values, len(raw))) for raw in raws]

    return read_lists


def _table(columns: Sequence[Reader]) -> Reader:
    def read_table(raws: Sequence[Any]) -> Iterable[Any]:
        _of_types(raws, list, tuple)
        if not set(map(len, raws)) <= {len(columns)}:
            raise ValueError
        return zip(*(column(values) for column, values in zip(columns, zip(*raws))))

    return read_table


def _mapping(
    key_reader: Optional[Reader], reader: Optional[Reader], key: str, unchanged: frozenset[type]
) -> Reader:
    def read_mapping(raw: Any) -> Any:
        if type(raw) is not dict:
            raise TypeError(f"{key} is {raw!r:.60}, which is no mapping")
        if key_reader is not None:
            raw = {key_reader(name): value for name, value in raw.items()}
        if reader is None:
            return raw
        values = {
            name: value if type(value) in unchanged else reader(value)
            for name, value in raw.items()
        }
        # not kept twice if nothing was to be read
        return raw if all(map(is_, values.values(), raw.values())) else values

    return read_mapping


def _key(kind: Any, key: str) -> Reader:
    """Return the reader of keys; JSON has only text keys, so numbers are written as decimals."""
    if kind is not int:
        return _member(kind, key)

    def read_number(raw: Any) -> int:
        if type(raw) is not int and not re.fullmatch(r"-?[0-9]{1,15}", raw):
            raise TypeError(f"{key} has the key {raw!r:.60}, which is no whole number")
        return int(raw)

    return read_number


def _plain(kind: Any, check: Callable[..., None], key: str) -> Reader:
    def read_plain(raw: Any) -> Any:
        if type(raw) is not kind:
            check(**{key: raw})
        return raw

    return read_plain


def _member(kind: Any, key: str) -> Reader:
    # an enumeration by value takes ten times as long as a mapping
    members = {member.value: member for member in kind} if hasattr(kind, "__members__") else None
    find = kind.__getitem__ if issubclass(kind, int) else members.__getitem__ if members else kind

    def read_member(raw: Any) -> Any:
        try:
            return find(raw)
        except (KeyError, TypeError, ValueError):
            raise TypeError(f"{key} is {raw!r:.60}, which is no {kind.__name__}") from None

    return read_member


def _parsed(parse: Reader, key: str) -> Reader:
    def read_parsed(raw: Any) -> Any:
        texts(key, (raw,))
        return parse(raw)

    return read_parsed
