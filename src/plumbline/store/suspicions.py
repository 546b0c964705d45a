"""What passive latency suspects, on its way from the console to the queue of a node.

``plumbline latency`` writes a file for each node beside the history of the site; ``collect`` takes
it along, and ``export`` keeps it in a folder of its own on the node.  All have one form.  A file
holds for two hours: a console that is away, or looks no longer, suspects nothing.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Mapping, Optional, Sequence

from plumbline.errors import DocumentError
from plumbline.model.suspected import MOST, Suspected, read_suspected
from plumbline.model.validation import same_schema, times
from plumbline.store.replacing import replace_own, unwritable
from plumbline.store.trusted import parse, read

SCHEMA = 1
FOLDER = "suspected"
"""Beside the history of a site, NODE.json; in the state of a node, made by the role export."""

_FILE = "suspected.json"
_HOLDS_S = 7200.0
_MOST_BYTES = 1 << 16
_REMEDY = "the next plumbline collect writes it again"


def keep_site(history: Path, found: Mapping[str, Sequence[Suspected]], now: float) -> None:
    """Keep what is suspected of each node, the likeliest first, in the place of all before.

    ``now`` is in seconds since the epoch.  Beyond ``MOST`` of a node the least likely is left out.

    Raises:
        StoreError: it cannot be written.
    """
    folder = history.parent / FOLDER
    try:
        folder.mkdir(exist_ok=True)
        for path in folder.glob("*.json"):
            if path.stem not in found:
                path.unlink(missing_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error
    for node, suspected in found.items():
        _keep(folder / f"{node}.json", suspected[:MOST], now)


def of_node(history: Path, node: str, now: float) -> Optional[tuple[Suspected, ...]]:
    """Return what is suspected of a node; None where nobody looks for it.

    Raises:
        DocumentError: the file is damaged, or somebody else's.
    """
    folder = history.parent / FOLDER
    return _held(folder / f"{node}.json", now) if folder.exists() else None


def keep_here(state: Path, suspected: Sequence[Suspected], now: float) -> None:
    """Keep on a node what a console suspects of it, in the place of all before.

    Raises:
        StoreError: it cannot be written.
    """
    path = state / FOLDER / _FILE
    if suspected or path.exists():
        _keep(path, suspected, now)


def suspected_here(state: Path, layer: str, now: float) -> dict[str, float]:
    """Return the components of a layer that are suspected, each since when.

    Raises:
        DocumentError: the file is damaged, or somebody else's.
    """
    found = _held(state / FOLDER / _FILE, now)
    return {one.component: one.since for one in found if one.layer == layer}


def _keep(path: Path, suspected: Sequence[Suspected], now: float) -> None:
    replace_own(path, json.dumps({"schema": SCHEMA, "written_at": now, "suspected": suspected}))


def _held(path: Path, now: float) -> tuple[Suspected, ...]:
    try:
        path.lstat()
    except FileNotFoundError:
        return ()
    except PermissionError:
        pass  # reading it says so
    return load_suspicions(str(path), now)


def load_suspicions(path: str, now: float) -> tuple[Suspected, ...]:
    """Return what a file says, nothing where it does not hold any longer; raise DocumentError."""
    raw = parse(read(path, "suspicions", _REMEDY, _MOST_BYTES), path, _REMEDY)
    try:
        same_schema(raw, SCHEMA, f"suspicions {path}", _REMEDY)
        times(written_at=raw["written_at"])
        found = read_suspected(raw["suspected"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DocumentError(f"suspicions {path} are damaged ({error!r}); {_REMEDY}") from error
    # a date in the future is that of a clock that was wrong
    return found if abs(now - raw["written_at"]) <= _HOLDS_S else ()
