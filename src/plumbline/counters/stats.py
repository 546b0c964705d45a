"""Tables of statistics: ``NAME COUNT samples [UNIT] MIN MAX SUM SUMSQUARES``, one operation a line.

Lustre prints them so for storage targets (``stats``), metadata targets (``md_stats``) and clients.
"""

from __future__ import annotations

import re
from typing import Iterator, Sequence

from plumbline.counters.metric import BYTES, OPERATIONS, SECONDS, Count, Labels
from plumbline.errors import ToolError
from plumbline.model.printed import whole

_SUM_PLACE = 6
_NAME = re.compile(r"\w{1,64}", re.ASCII)
MOVES = {"read_bytes": "read", "write_bytes": "write"}
"""The lines of bytes, by what they say was moved."""

ALL_REQUESTS = "req_waittime"
"""The line of a client's connection that counts every request until its answer.

The lines of single kinds, such as ``ost_write``, are parts of it: ``ptlrpc_lprocfs_rpc_sent`` in
Lustre's ``lproc_ptlrpc.c`` leaves out MDS_REINT, and lock requests have a number without a time.
"""

_NO_OPERATION = frozenset(
    (
        # levels: requests under way, opens of one inode
        *("req_active", "opencount"),
        # the time between two opens
        "openclosetime",
        # operations that have another line: kinds of rename, reads and writes, getxattr
        *("samedir_rename", "crossdir_rename", "rename_trylocks"),
        *("parallel_rename_file", "parallel_rename_dir"),
        *("hybrid_noswitch", "hybrid_readsize_switch", "hybrid_writesize_switch"),
        "getxattr_hits",
    )
)
_HEAD = ("snapshot_time", "start_time", "elapsed_time")


def statistics(text: str, path: str) -> list[list[str]]:
    """Return the words of each line of a table.

    Raises:
        ToolError: the text is no such table.
    """
    if not text.startswith("snapshot_time"):
        raise ToolError(f"{path} is not understood: it begins with {text[:40]!r}")
    return [words for line in text.splitlines() if (words := line.split())]


def stats(text: str, labels: Labels, path: str) -> Iterator[Count]:
    """Yield bytes, operations and their seconds.

    Raises:
        ToolError: the text is no such table.
    """
    lines = statistics(text, path)
    counted = {words[0] for words in lines}
    for words in lines:
        if words[0] not in _HEAD:
            yield from _line(words, counted, labels, path)


def _line(words: Sequence[str], counted: set[str], labels: Labels, path: str) -> Iterator[Count]:
    if len(words) < 4 or words[2] != "samples" or not _NAME.fullmatch(words[0]):
        raise ToolError(f"{path} is not understood: {' '.join(words)[:80]!r} is no statistic")
    name, unit = words[0], words[3]
    if name in _NO_OPERATION:
        return
    moved = MOVES.get(name)
    operation = (*labels, ("operation", moved or name))
    if moved:
        yield Count(BYTES, operation, sum_of(words, path))
    # older releases count reads and writes in the line of their bytes alone
    has_own_line = moved and counted & {moved, f"ost_{moved}"}
    if not has_own_line and (moved or unit != "[bytes]"):
        yield Count(OPERATIONS, operation, whole(words[1], f"{name} in {path}"))
    if unit in ("[usec]", "[usecs]"):
        yield Count(SECONDS, operation, sum_of(words, path) / 1e6)


def sum_of(words: Sequence[str], path: str) -> int:
    """Return the sum in a line; raise ToolError where it has none."""
    if len(words) <= _SUM_PLACE:
        raise ToolError(f"{path} is not understood: {' '.join(words)[:80]!r} has no sum")
    return whole(words[_SUM_PLACE], f"the sum of {words[0]} in {path}")
