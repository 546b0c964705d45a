"""fio's JSON, as it really comes: words before it, several documents, duplicate keys, a cut end."""

from __future__ import annotations

import json
import re
from typing import Any, Mapping, NamedTuple, NoReturn

from plumbline.errors import ToolError

_START = re.compile(r"^\{", re.MULTILINE)


class Ambiguous(NamedTuple):
    """The values of a key that one object holds twice: nothing that can be read as a number."""

    first: object
    second: object


class Report(NamedTuple):
    """One document: the error of its only job, and the job itself."""

    error: int
    job: Mapping[str, Any]

    def direction(self, name: str) -> Mapping[str, Any]:
        """Return the part ``read`` or ``write``; raise ToolError when it is not there."""
        part = self.job.get(name)
        if not isinstance(part, dict):
            raise ToolError(f"fio's report has no part {name!r}; its version may be too new")
        return part


def read_report(text: str) -> tuple[list[Report], tuple[str, ...]]:
    """Return all documents in their order, and the lines of words around them.

    Raises:
        ToolError: a document is cut or damaged, or not the report of one job.
    """
    decoder = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant)
    reports: list[Report] = []
    words: list[str] = []
    end = 0
    while True:
        start = _START.search(text, end)
        words += text[end : start.start() if start else None].splitlines()
        if start is None:
            break
        try:
            document, end = decoder.raw_decode(text, start.start())
        except (ValueError, RecursionError) as error:
            raise ToolError(
                f"fio's report is cut or damaged ({error}); was it killed, or the disk full?"
            ) from error
        reports.append(_report(document))
    return reports, tuple(line.strip() for line in words if line.strip())


def _report(document: object) -> Report:
    jobs = document.get("jobs") if isinstance(document, dict) else None
    if not isinstance(jobs, list) or len(jobs) != 1 or not isinstance(jobs[0], dict):
        raise ToolError("fio's report is not that of one job; its version may be too new")
    error = jobs[0].get("error")
    if not isinstance(error, int):
        raise ToolError(f"fio's report gives {error!r} as the error of its job; run fio by hand")
    return Report(error, jobs[0])


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        same = key not in found or found[key] == value
        found[key] = value if same else Ambiguous(found[key], value)
    return found


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")
