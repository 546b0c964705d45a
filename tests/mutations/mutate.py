"""Mutate valid inputs into invalid ones, reproducibly by seed."""

from __future__ import annotations

import json
import re
from random import Random
from typing import Any, Callable, Iterator

NUMBERS = [
    b"-1",
    b"0",
    b"-0",
    b"1e308",
    b"-1e308",
    b"1e999",
    b"5e-324",
    b"nan",
    b"NaN",
    b"-inf",
    b"Infinity",
    b"1.2.3",
    b"1_000",
    b"0x1f",
    b"\xc2\xb2",
    b"\xd9\xa3",
    b"18446744073709551616",
    b"1e18",
    b"4294967296",
    b"9" * 400,
    b"9" * 5000,
    b"0." + b"0" * 400 + b"1",
    b"2026-99-99",
    b"!!int x",
    b"!!float",
    b".nan",
    b".inf",
    b"1:61:1",
    b"+1",
    b"",
]
"""Replacements for numbers."""

WORDS = [
    b"",
    b"\n",
    b"\0",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b";id",
    b"`id`",
    b"'",
    b'"',
    b"|",
    b"../..",
    b"--help",
    b"null",
    b"true",
    b"[]",
    b"{}",
    b"{",
    b"]",
    b",",
    b":",
    b": ",
    b"- ",
    b"&a *a",
    b"<<: *a",
    b"!!binary x",
    b"? ",
    b"\t",
    b"\r\n",
    b"\x1b[31m",
    b"%",
    b"\\u0000",
    b"\\ud800",
    b"MB/s",
    b"Gbit/s",
    b"x" * 3000,
    b" " * 3000,
]
"""Text to insert anywhere."""

VALUES: list[Any] = [
    None,
    True,
    False,
    -1,
    0,
    1,
    2,
    0.5,
    1.5,
    -0.0,
    1e308,
    -1e308,
    5e-324,
    1e-300,
    1e18,
    10**19,
    2**63,
    10**400,
    float("nan"),
    float("inf"),
    float("-inf"),
    "",
    "x",
    "\n",
    "\0",
    "\ud800",
    "a;b|c`d'",
    "../..",
    "-x",
    "9" * 5000,
    "1e999",
    "read/single",
    "2026-99-99",
    "80:",
    "nan:",
    [],
    [None],
    [1],
    ["x"],
    [[]],
    [0, 0, 0, 0, 0, 0],
    {},
    {"a": 1},
    {"": None},
    [[[[[[[[[[[[1]]]]]]]]]]]],
]
"""Replacements for any value of a document."""

_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
_WORD = re.compile(rb"[A-Za-z_][\w./@-]*")

Mutation = Callable[[bytes, Random], bytes]


def mutate(sample: bytes, chance: Random) -> bytes:
    """Return a changed sample, mostly with one change: nearly valid input gets furthest."""
    for _ in range(chance.choice((1, 1, 1, 1, 2, 3, 6))):
        sample = chance.choice(_MUTATIONS)(sample, chance)
    return sample


def _flip(data: bytes, chance: Random) -> bytes:
    if not data:
        return b"\0"
    place = chance.randrange(len(data))
    return data[:place] + bytes((data[place] ^ 1 << chance.randrange(8),)) + data[place + 1 :]


def _cut(data: bytes, chance: Random) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def _slice(data: bytes, chance: Random) -> tuple[int, int]:
    start = chance.randrange(len(data) + 1)
    return start, min(len(data), start + chance.choice((1, 2, 8, 40, 400)))


def _remove(data: bytes, chance: Random) -> bytes:
    start, end = _slice(data, chance)
    return data[:start] + data[end:]


def _double(data: bytes, chance: Random) -> bytes:
    start, end = _slice(data, chance)
    return data[:end] + data[start:end] * chance.choice((1, 1, 3, 50)) + data[end:]


def _insert(data: bytes, chance: Random) -> bytes:
    place = chance.randrange(len(data) + 1)
    return data[:place] + chance.choice(WORDS + NUMBERS) + data[place:]


def _replaced(pattern: re.Pattern[bytes], replacements: list[bytes]) -> Mutation:
    def replace(data: bytes, chance: Random) -> bytes:
        matches = list(pattern.finditer(data))
        if not matches:
            return data
        match = chance.choice(matches)
        return data[: match.start()] + chance.choice(replacements) + data[match.end() :]

    return replace


def _lines(data: bytes, chance: Random) -> bytes:
    lines = data.split(b"\n")
    place, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    kind = chance.randrange(4)
    if kind == 0:
        lines[place], lines[other] = lines[other], lines[place]
    elif kind == 1:
        lines.insert(place, lines[other])
    elif kind == 2:
        del lines[place]
    else:
        lines[place] = lines[other].lstrip()
    return b"\n".join(lines)


def _value(data: bytes, chance: Random) -> bytes:
    """Replace, remove or double a value of a JSON document, or of one of several in lines."""
    lines = data.split(b"\n")
    whole = _parsed(data)
    if whole is not _NONE:
        return _written(_changed(whole, chance))
    place = chance.randrange(len(lines))
    document = _parsed(lines[place])
    if document is not _NONE:
        lines[place] = _written(_changed(document, chance))
    return b"\n".join(lines)


_NONE = object()


def _parsed(data: bytes) -> Any:
    if not data.lstrip().startswith((b"{", b"[")):
        return _NONE
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return _NONE


def _written(value: Any) -> bytes:
    try:
        return json.dumps(value).encode()
    except ValueError:
        return b"9" * 5000


def _changed(whole: Any, chance: Random) -> Any:
    containers = list(_containers(whole))
    if not containers:
        return chance.choice(VALUES)
    inner = chance.choice(containers)
    key = chance.choice(list(inner) if isinstance(inner, dict) else range(len(inner)))
    kind = chance.randrange(6)
    if kind == 0:
        del inner[key]
    elif kind == 1 and isinstance(inner, dict):
        inner[chance.choice(("x", "", "schema", str(key).upper()))] = inner[key]
    elif kind == 1:
        inner.insert(key, inner[key])
    else:
        inner[key] = chance.choice(VALUES)
    return whole


def _containers(value: Any) -> Iterator[Any]:
    """Yield the non-empty containers, from the outermost inwards."""
    if isinstance(value, (dict, list)) and value:
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _containers(inner)


_MUTATIONS: list[Mutation] = [
    _flip,
    _cut,
    _remove,
    _double,
    _insert,
    _replaced(_NUMBER, NUMBERS),
    _replaced(_NUMBER, NUMBERS),
    _replaced(_WORD, WORDS + NUMBERS),
    _lines,
    _value,
    _value,
    _value,
]


def stretched(sample: bytes, size: int) -> Iterator[tuple[str, bytes]]:
    """Yield names and inputs of about ``size`` bytes that are hard to parse."""
    for name, unit in (
        ("digits", b"9"),
        ("brackets", b"["),
        ("braces", b'{"a":'),
        ("line breaks", b"\n"),
        ("blanks", b" "),
        ("tabs", b"\t"),
        ("letters", b"a"),
        ("words", b"a "),
        ("points", b"1."),
        ("quotes", b'"'),
        ("dashes", b"- "),
        ("halves", b"\xff"),
        ("commas", b"1,"),
    ):
        text = unit * (size // len(unit))
        yield name, text
        yield f"sample, {name}", sample + text
        yield f"{name}, sample", text + sample
    yield "samples", sample * (size // max(1, len(sample)))
    lines = list(dict.fromkeys(line for line in sample.split(b"\n") if line.strip()))[:16]
    for number, line in enumerate(lines):
        times = size // (len(line) + 1)
        yield f"line {number} again", b"\n".join([line] * times)
        yield f"sample, line {number} again", sample + b"\n".join([line] * times)
        yield f"line {number} in one", line * times
        half = line[: len(line) // 2]
        yield f"half of line {number} again", half * (size // max(1, len(half)))
        first = _NUMBER.search(line)
        if first:
            start, end = first.span()
            longer = line[:start] + b"9" * size + line[end:]
            yield f"line {number} with digits", sample.replace(line, longer, 1)
        blanks = line.replace(b" ", b" " * (size // max(1, line.count(b" "))))
        yield f"line {number} with blanks", sample.replace(line, blanks, 1)
