"""The memory that bytes come from and go to, made before the clock starts.

Written bytes are random, so that nothing compresses them, and two transfers in a row differ in each
block of 4 KiB, so that a target which stores equal blocks once gains nothing by it.
"""

from __future__ import annotations

import os
from itertools import chain, repeat
from mmap import MAP_ANONYMOUS, MAP_PRIVATE, PAGESIZE, mmap
from typing import Iterator, Sequence, TypeVar

_Item = TypeVar("_Item")

_SHIFT = 8
_DIRECT_POOL = 16 << 20


def sources(transfer: int, direct: bool) -> Iterator[memoryview]:
    """Return without an end what to write, one transfer after the other."""
    return endless(_aligned(transfer) if direct else _shifted(transfer))


def endless(items: Sequence[_Item]) -> Iterator[_Item]:
    """Return the items again and again; itertools.cycle would make a list of them on the way."""
    return chain.from_iterable(repeat(items))


def landing(transfer: int) -> memoryview:
    """Return a place for what is read, at the start of a page as O_DIRECT wants it."""
    return memoryview(_memory(_whole_pages(transfer)))[:transfer]


def _shifted(transfer: int) -> list[memoryview]:
    """Return views of one piece of memory, each a few bytes further: it stays in the CPU's cache.

    Read at distances below a page, the blocks of 4 KiB in them are all different.
    """
    memory = memoryview(os.urandom(transfer + PAGESIZE))
    return [memory[start : start + transfer] for start in range(0, PAGESIZE, _SHIFT)]


def _aligned(transfer: int) -> list[memoryview]:
    """Return as many separate pieces at page boundaries as 16 MiB hold."""
    size = _whole_pages(transfer)
    count = max(2, _DIRECT_POOL // size)
    memory = _memory(size * count)
    for _ in range(size * count // PAGESIZE):
        memory.write(os.urandom(PAGESIZE))
    views = memoryview(memory)
    return [views[size * index : size * index + transfer] for index in range(count)]


def _memory(size: int) -> mmap:
    return mmap(-1, size, flags=MAP_PRIVATE | MAP_ANONYMOUS)


def _whole_pages(size: int) -> int:
    return -(-size // PAGESIZE) * PAGESIZE
