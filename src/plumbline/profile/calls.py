"""The calls of one rank as compact arrays, and the file that keeps those of a whole run.

The arrays are made before the clock starts and filled in place: 16 bytes a call, and nothing is
allocated that lasts.  The file's format is described in docs/profiles.md.
"""

from __future__ import annotations

import json
import sys
from array import array
from typing import Any, Iterable, Mapping, NamedTuple

from plumbline.errors import DocumentError
from plumbline.model.json_text import read_json
from plumbline.model.validation import counts, texts

MAGIC = b"plumbline profile 1\n"
CALL_BYTES = 16
"""In memory and in the file: start 8, duration 4, bytes 4."""

_LENGTH_BYTES = 8
_CODES = ("d", "f", "I")
_FIELDS = ("rank", "client", "target", "operation", "calls")


class Calls:
    """Up to ``capacity`` calls in the order in which they ended.

    ``starts`` are seconds since the common start of the ranks, ``durations`` seconds, ``sizes``
    bytes; the first ``count`` of each are filled.  A call without bytes is one that waits, such as
    fsync.
    """

    __slots__ = ("capacity", "count", "durations", "sizes", "starts")

    def __init__(self, capacity: int) -> None:
        """Make and touch all memory that will be needed."""
        self.capacity = capacity
        self.count = 0
        self.starts = array("d", bytes(8 * capacity))
        self.durations = array("f", bytes(4 * capacity))
        self.sizes = array("I", bytes(4 * capacity))

    def add(self, start_s: float, duration_s: float, size: int) -> None:
        """Note one call; raise IndexError when there is no place left."""
        index = self.count
        self.starts[index] = start_s
        self.durations[index] = duration_s
        self.sizes[index] = size
        self.count = index + 1

    @property
    def bytes(self) -> int:
        """All bytes moved."""
        return sum(self.sizes[: self.count])


class Block(NamedTuple):
    """The calls of one rank in one operation; ``client`` is the host it ran on."""

    rank: int
    client: str
    target: str
    operation: str
    calls: Calls


class Profile(NamedTuple):
    """A whole file: what the run says ``about`` itself, and its blocks."""

    about: Mapping[str, Any]
    blocks: tuple[Block, ...]


def pack(about: Mapping[str, Any], blocks: Iterable[Block]) -> bytes:
    """Return the file: a mark, the length of a JSON header, the header, the arrays."""
    kept = tuple(blocks)
    ranks = [
        dict(zip(_FIELDS, (b.rank, b.client, b.target, b.operation, b.calls.count))) for b in kept
    ]
    header = json.dumps({"about": about, "ranks": ranks}, allow_nan=False).encode()
    parts = [MAGIC, len(header).to_bytes(_LENGTH_BYTES, "little"), header]
    parts += [part for block in kept for part in _arrays(block.calls)]
    return b"".join(parts)


def unpack(data: bytes) -> Profile:
    """Return what a file holds; raise DocumentError when it is damaged, cut, or something else."""
    start = len(MAGIC) + _LENGTH_BYTES
    if data[: len(MAGIC)] != MAGIC or len(data) < start:
        raise DocumentError("this is no call profile of plumbline; name a file of --profile")
    end = start + int.from_bytes(data[len(MAGIC) : start], "little")
    try:
        header = read_json(data[start:end])
        ranks = [tuple(rank[field] for field in _FIELDS) for rank in header["ranks"]]
        about = dict(header["about"])
        for rank in ranks:
            counts(rank=rank[0], calls=rank[4])
            texts("rank", rank[1:4])
        needed = CALL_BYTES * sum(rank[4] for rank in ranks)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DocumentError(f"the header of the call profile is damaged: {error!r}") from error
    if len(data) - end != needed:
        raise DocumentError(
            f"the call profile holds {len(data) - end} bytes of calls instead of {needed}; "
            "it was cut or changed: write it again"
        )
    blocks = []
    for rank, client, target, operation, count in ranks:
        blocks.append(Block(rank, client, target, operation, _calls(data, end, count)))
        end += CALL_BYTES * count
    return Profile(about, tuple(blocks))


def _arrays(calls: Calls) -> Iterable[bytes]:
    for values in (calls.starts, calls.durations, calls.sizes):
        yield _little(values[: calls.count]).tobytes()


def _calls(data: bytes, start: int, count: int) -> Calls:
    calls = Calls(0)
    arrays = []
    for code in _CODES:
        values = array(code)
        end = start + count * values.itemsize
        values.frombytes(data[start:end])
        arrays.append(_little(values))
        start = end
    calls.starts, calls.durations, calls.sizes = arrays
    calls.count = calls.capacity = count
    return calls


def _little(values: array[Any]) -> array[Any]:
    """Return the array as it lies in the file, or back: the file is little-endian everywhere."""
    if sys.byteorder == "big":
        values.byteswap()
    return values
