"""Names of parts: expand ranges such as oss[01-24], and check the indices of OSTs."""

from __future__ import annotations

import re
from itertools import product
from math import prod
from typing import Iterable, Sequence

from plumbline.model.errors import DocumentError
from plumbline.model.names import OST

_MAX_NAMES = 100_000
_MAX_LETTERS = 10_000_000
_MAX_RANGE = 1000
"""Most characters of a range."""
_GROUP = re.compile(r"\[([^\[\]]*)\]")
_LAST_NUMBER = re.compile(r"(.*?)([0-9]{1,18})([^0-9]*)", re.DOTALL)
_BOUNDS = re.compile(r"([0-9A-Fa-f]+)(?:-([0-9A-Fa-f]+))?")

DECIMAL = 10
HEXADECIMAL = 16
"""Base of Lustre's target indices: scratch-OST000a follows scratch-OST0009."""


def expand(text: str, base: int = DECIMAL) -> tuple[str, ...]:
    """Return the names in a range; the last bracket counts fastest.

    ``oss[1-2]-disk[1-3]`` is six names, ``[01-24]`` keeps the zeros, ``[1,3,5-7]`` is a list.

    Raises:
        DocumentError: a bracket is unbalanced, a range invalid, or there are over 100,000 names.
    """
    if len(text) > _MAX_RANGE:
        raise DocumentError(f"name {text[:60]!r}... is longer than {_MAX_RANGE} characters")
    pieces = _GROUP.split(text)
    literals, groups = pieces[::2], pieces[1::2]
    if any(bracket in literal for literal in literals for bracket in "[]"):
        raise DocumentError(f"name {text!r} has a bracket without its partner")
    bounds = [_bounds(text, group, base) for group in groups]
    count = prod(sum(last - first + 1 for first, last, _ in group) for group in bounds)
    if count > _MAX_NAMES or count * len(text) > _MAX_LETTERS:
        raise DocumentError(f"name {text!r:.80} stands for more than {_MAX_NAMES} names")
    choices = [[number for item in group for number in _numbers(item, base)] for group in bounds]
    return tuple(
        "".join(piece for pair in zip(literals, (*numbers, "")) for piece in pair)
        for numbers in product(*choices)
    )


def _bounds(text: str, group: str, base: int) -> list[tuple[int, int, int]]:
    """Return first, last and width of each item in ``1,3,5-7``."""
    bounds = []
    for item in group.split(","):
        match = _BOUNDS.fullmatch(item.strip())
        try:
            if not match:
                raise ValueError(item)
            first, last = int(match[1], base), int(match[2] or match[1], base)
        except ValueError:
            raise DocumentError(
                f"name {text!r}: [{group}] is not a range; write for example [1-6], [01-24], [1,3]"
            ) from None
        if last < first:
            raise DocumentError(f"name {text!r}: the range [{item}] runs backwards")
        bounds.append((first, last, len(match[1])))
    return bounds


def _numbers(item: tuple[int, int, int], base: int) -> list[str]:
    first, last, width = item
    return [numeral(number, width, base) for number in range(first, last + 1)]


def numeral(number: int, width: int, base: int = DECIMAL) -> str:
    """Return a number as it stands in names, with ``width`` digits at least."""
    return f"{number:0{width}{'x' if base == HEXADECIMAL else 'd'}}"


def meet(names: Sequence[str], partners: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the partners of each name, assigned in order and in equal blocks.

    Of six names every two share one of three partners; of three names each has two of six.

    Raises:
        DocumentError: neither number divides the other; the message has both ranges.
    """
    many, few = len(names), len(partners)
    if many % few == 0:
        return [(partners[index // (many // few)],) for index in range(many)]
    if few % many == 0:
        block = few // many
        return [tuple(partners[index * block : (index + 1) * block]) for index in range(many)]
    raise DocumentError(
        f"{many} names ({names[0]} to {names[-1]}) cannot be spread evenly over {few} "
        f"({partners[0]} to {partners[-1]}){_hexadecimal(names, few)}"
    )


def _hexadecimal(names: Sequence[str], number: int) -> str:
    """Return a hint with the hexadecimal range for OSTs that were numbered in decimal."""
    numbered = re.fullmatch(r"(.*-OST)([0-9a-f]{4})", names[0])
    if not numbered:
        return ""
    stem, first = numbered.groups()
    return (
        f"; Lustre numbers its targets in hexadecimal: {number} of them are "
        f"{stem}[{first}-{int(first, 16) + number - 1:04x}]"
    )


def repeat(names: Sequence[str], values: Sequence[str]) -> list[str]:
    """Return a value for each name; fewer values are repeated from the first.

    Raises:
        DocumentError: the number of values does not divide the number of names.
    """
    if len(names) % len(values):
        raise DocumentError(
            f"{len(values)} values ({values[0]} to {values[-1]}) do not come out even for "
            f"{len(names)} names ({names[0]} to {names[-1]})"
        )
    return [values[index % len(values)] for index in range(len(names))]


def fold(names: Iterable[str]) -> str:
    """Fold names into ranges, ``mds, oss[01-03,07]``; ``expand`` reverses each one."""
    numbered: dict[tuple[str, str, int], list[int]] = {}
    for name in sorted(set(names)):
        match = _LAST_NUMBER.fullmatch(name)
        # all numbers of a range have the same width: oss[8-9], oss[10-12]
        key = (match[1], match[3], len(match[2])) if match else (name, "", 0)
        numbered.setdefault(key, []).append(int(match[2]) if match else 0)
    return ", ".join(_folded(*key, numbers) for key, numbers in numbered.items())


def fold_numbers(head: str, numbers: Iterable[int], width: int, base: int = DECIMAL) -> str:
    """Fold names of one head and numbers of ``width`` digits into a range, ``f-OST[0009-000b]``."""
    return _folded(head, "", width, sorted(set(numbers)), base)


def _folded(head: str, tail: str, width: int, numbers: list[int], base: int = DECIMAL) -> str:
    if not width:
        return head
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    items = [
        "-".join(numeral(number, width, base) for number in dict.fromkeys(run)) for run in runs
    ]
    return f"{head}[{','.join(items)}]{tail}" if len(numbers) > 1 else f"{head}{items[0]}{tail}"


_RANGE = re.compile(r"(.*-OST)\[([0-9]{1,5})-([0-9]{1,5})\]")
_INDEX = re.compile(r"(.*-OST)([0-9a-fA-F]{1,4})")
_HIGHEST = 0xFFFF


def refuse_no_ost(text: str, names: Sequence[str]) -> None:
    """Check that all names are valid OST names; ``text`` is their range in the document.

    Raises:
        DocumentError: one is not; the message shows the correct form.
    """
    wrong = next((name for name in names if not re.fullmatch(OST.pattern, name)), None)
    if wrong is None:
        return
    remedy = _as_range(text) or _as_name(wrong)
    if not remedy:
        OST.refuse("the target", wrong)
    raise DocumentError(
        f"{text[:80]!r} is no name of Lustre: an index is hexadecimal of four digits; {remedy}"
    )


def _as_range(text: str) -> str:
    match = _RANGE.fullmatch(text)
    if not match or not int(match[2]) <= int(match[3]) <= _HIGHEST:
        return ""
    first, last = int(match[2]), int(match[3])
    return f"write {match[1]}[{first:04x}-{last:04x}] for the indices {first} to {last}"


def _as_name(name: str) -> str:
    match = _INDEX.fullmatch(name)
    if not match:
        return ""
    decimal = f" ({int(match[2]):04x} if {match[2]} is decimal)" if _is_ambiguous(match[2]) else ""
    return f"write {match[1]}{match[2].lower():0>4}{decimal}"


def _is_ambiguous(digits: str) -> bool:
    """Return True if digits are different indices in decimal and in hexadecimal."""
    return digits.isdecimal() and int(digits) != int(digits, 16)
