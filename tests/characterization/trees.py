"""Trees of answers: reduced to values that must not change, saved in files, compared."""

from __future__ import annotations

import gzip
import json
from math import isclose
from pathlib import Path
from typing import Any, Iterator, NamedTuple


class Tolerance(NamedTuple):
    """Allowed difference of two numbers."""

    relative: float
    absolute: float


RELATIVE = Tolerance(1e-6, 0.0)
TIME = Tolerance(0.0, 1.0)
LARGE = 30_000
"""Length of a text from which its file is compressed."""

TIMES = frozenset(
    (
        "accepted_at",
        "at",
        "before",
        "begin",
        "ended_at",
        "finished_at",
        "judged_at",
        "last",
        "looked_at",
        "measured_at",
        "since",
        "started_at",
        "written_at",
    )
)
"""Keys whose numbers are seconds since the epoch, compared to a second."""

SENTENCES = frozenset(
    (
        "action",
        "advice",
        "caption",
        "conflict",
        "description_text",
        "explanation",
        "hint",
        "message",
        "note",
        "notes",
        "output",
        "remark",
        "remedy",
        "sentence",
        "sentences",
        "summary",
        "text",
        "why",
    )
)
"""Keys with texts for people."""


def reduced(tree: Any) -> Any:
    """Return a tree without sentences and with rounded figures."""
    if isinstance(tree, dict):
        return {key: reduced(value) for key, value in tree.items() if key not in SENTENCES}
    if isinstance(tree, (list, tuple)):
        return [reduced(value) for value in tree]
    if isinstance(tree, float):
        return float(f"{tree:.10g}")
    return tree


def differences(
    golden: Any, answer: Any, path: str = "", tolerance: Tolerance = RELATIVE
) -> Iterator[str]:
    """Yield each difference with its path and both values; ignore sentences and key order."""
    if isinstance(golden, dict) and isinstance(answer, dict):
        for key in sorted({*golden, *answer} - SENTENCES):
            here = f"{path}/{key}"
            if key not in answer:
                yield f"{here}: missing, was {_shown(golden[key])}"
            elif key not in golden:
                yield f"{here}: new, {_shown(answer[key])}"
            else:
                yield from differences(golden[key], answer[key], here, _tolerance(key))
    elif isinstance(golden, (list, tuple)) and isinstance(answer, (list, tuple)):
        if len(golden) != len(answer):
            yield f"{path}: {len(answer)} entries, were {len(golden)}"
        for place, (before, after) in enumerate(zip(golden, answer)):
            here = f"{path}[{_name(before, place)}]"
            yield from differences(before, after, here, tolerance)
    elif not _equal(golden, answer, tolerance):
        yield f"{path}: {_shown(answer)}, was {_shown(golden)}"


def _tolerance(key: str) -> Tolerance:
    return TIME if key in TIMES or "timestamp_seconds" in key else RELATIVE


def _equal(golden: Any, answer: Any, tolerance: Tolerance) -> bool:
    if isinstance(golden, bool) or isinstance(answer, bool):
        return golden is answer
    if isinstance(golden, (int, float)) and isinstance(answer, (int, float)):
        return isclose(golden, answer, rel_tol=tolerance.relative, abs_tol=tolerance.absolute)
    return type(golden) is type(answer) and bool(golden == answer)


def _name(tree: Any, place: int) -> str:
    """Return the index of a list entry, with its name if it has one."""
    if isinstance(tree, dict):
        for key in ("component", "name", "node", "title"):
            if isinstance(tree.get(key), str):
                return f"{place} {tree[key]}"
    return str(place)


def _shown(tree: Any) -> str:
    return json.dumps(tree)[:120]


def write(folder: Path, name: str, tree: Any) -> None:
    """Write a tree, compressed if it is large; equal trees give equal bytes."""
    text = json.dumps(reduced(tree), indent=0, sort_keys=True) + "\n"
    plain, packed = folder / f"{name}.json", folder / f"{name}.json.gz"
    for path in (plain, packed):
        path.unlink(missing_ok=True)
    if len(text) > LARGE:
        packed.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    else:
        plain.write_text(text, encoding="utf-8")


def load(folder: Path, name: str) -> Any:
    """Read a saved tree."""
    packed = folder / f"{name}.json.gz"
    if packed.exists():
        return json.loads(gzip.decompress(packed.read_bytes()))
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
