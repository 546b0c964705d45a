"""What Lustre's servers count for each target, all clients together: text -> bytes.

For whoever asks how much was moved meanwhile: the server that samples itself, and a client that is
its own server.  Tables of statistics are read by counters/stats.py.
"""

from __future__ import annotations

from typing import Iterator, Mapping, Sequence

from plumbline.counters.stats import statistics, sum_of
from plumbline.errors import ToolError
from plumbline.model.printed import whole
from plumbline.model.record import Operation

_WORDS = {"read_bytes": Operation.READ, "write_bytes": Operation.WRITE}
OPERATIONS = tuple(_WORDS.values())
"""What a target counts; a server does not know that a client reads again."""

_JOB = "- job_id:"
# before 2.12 the lines of bytes had no words of their own
_JOB_WORDS = {**_WORDS, "read": Operation.READ, "write": Operation.WRITE}

Moved = Mapping[Operation, int]
"""Bytes moved so far, in each direction."""


def lustre_stats(text: str, path: str) -> dict[Operation, int]:
    """Return bytes read and written by a target; one that has moved none yet has no line for it.

    Raises:
        ToolError: the text is no such table.
    """
    found = dict.fromkeys(OPERATIONS, 0)
    for words in statistics(text, path):
        operation = _WORDS.get(words[0])
        if operation is None:
            continue
        if words[3:4] != ["[bytes]"]:
            raise ToolError(f"{path} is not understood: {' '.join(words)[:80]!r} has no bytes")
        found[operation] = sum_of(words, path)
    return found


def job_stats(text: str, path: str) -> dict[str, Moved]:
    """Return what each job has moved on a target; empty where no job is counted.

    A job is ``- job_id:  NAME`` and lines such as ``read_bytes: { samples: 1, unit: bytes, min: 4,
    max: 4, sum: 4, ... }``; odd characters of a name are as Lustre has escaped them.

    Raises:
        ToolError: the text is no such list.
    """
    if not text.startswith("job_stats:"):
        raise ToolError(f"{path} is not understood: it begins with {text[:40]!r}")
    return dict(_jobs(text.split("\n"), path))


def _jobs(lines: Sequence[str], path: str) -> Iterator[tuple[str, Moved]]:
    name, moved = "", dict.fromkeys(OPERATIONS, 0)
    for line in lines:
        if line.startswith(_JOB):
            if name:
                yield name, moved
            name, moved = line[len(_JOB) :].strip().strip('"'), dict.fromkeys(OPERATIONS, 0)
        elif name:
            word, _, rest = line.partition(":")
            operation = _JOB_WORDS.get(word.strip())
            if operation is not None and _field(rest, " unit:") == "bytes":
                found = _field(rest, " sum:")
                moved[operation] = whole(found, f"the bytes of job {name[:80]} in {path}")
    if name:
        yield name, moved


def _field(fields: str, name: str) -> str:
    return fields.partition(name)[2].partition(",")[0].strip(" }")
