"""What Lustre's servers count for each target, all clients together: text -> bytes, requests.

For whoever asks how much was moved meanwhile: the server that samples itself, and a client that is
its own server.  Tables of statistics are read by counters/stats.py.
"""

from __future__ import annotations

import re
from typing import Iterator

from plumbline.counters.stats import MOVES, statistics, sum_of
from plumbline.errors import ToolError
from plumbline.model.printed import whole
from plumbline.model.record import Operation

_WORDS = {word: Operation(way) for word, way in MOVES.items()}
OPERATIONS = tuple(_WORDS.values())
"""What a target counts; a server does not know that a client reads again."""

_JOB = "- job_id:"
# before 2.12 the lines of bytes had no words of their own
_JOB_WORDS = {**_WORDS, "read": Operation.READ, "write": Operation.WRITE}

_REQUEST = re.compile(r"\w{1,64}", re.ASCII)


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


def job_stats(text: str, path: str) -> dict[str, dict[str, int]]:
    """Return the bytes of each job on a target by operation; empty where no job is counted.

    A job is ``- job_id:  NAME`` and lines such as ``read_bytes: { samples: 1, unit: bytes, min: 4,
    max: 4, sum: 4, ... }``; odd characters of a name are as Lustre has escaped them.

    Raises:
        ToolError: the text is no such list.
    """
    found: dict[str, dict[str, int]] = {}
    for job, word, fields in _job_lines(text, path):
        moved = found.setdefault(job, dict.fromkeys(OPERATIONS, 0))
        operation = _JOB_WORDS.get(word)
        if operation is not None and _field(fields, " unit:") == "bytes":
            moved[operation] = _count(fields, " sum:", job, path)
    return found


def job_requests(text: str, path: str) -> dict[str, dict[str, int]]:
    """Return how often each job has asked a metadata target, by operation, such as ``open``.

    The list is as that of a storage target; lines of bytes are of files that lie on the target.

    Raises:
        ToolError: the text is no such list.
    """
    found: dict[str, dict[str, int]] = {}
    for job, word, fields in _job_lines(text, path):
        requests = found.setdefault(job, {})
        if " samples:" not in fields or _field(fields, " unit:") == "bytes":
            continue
        count = _count(fields, " samples:", job, path)
        if count and _REQUEST.fullmatch(word):
            requests[word] = count
    return found


def _job_lines(text: str, path: str) -> Iterator[tuple[str, str, str]]:
    """Yield job, word and fields of each line; a job itself with neither word nor fields."""
    if not text.startswith("job_stats:"):
        raise ToolError(f"{path} is not understood: it begins with {text[:40]!r}")
    job = ""
    for line in text.split("\n"):
        if line.startswith(_JOB):
            job = line[len(_JOB) :].strip().strip('"')
            if job:
                yield job, "", ""
        elif job:
            word, _, fields = line.partition(":")
            yield job, word.strip(), fields


def _count(fields: str, name: str, job: str, path: str) -> int:
    return whole(_field(fields, name), f"what job {job[:80]} did in {path}")


def _field(fields: str, name: str) -> str:
    return fields.partition(name)[2].partition(",")[0].strip(" }")
