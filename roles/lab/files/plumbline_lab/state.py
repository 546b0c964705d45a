"""Faults of the lab, in a small readable file that survives another lab_up."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from plumbline_lab.errors import LabError

FILE = "broken.json"
State = dict[str, dict[str, dict[str, Any]]]
KINDS = ("disks", "links", "errors")


def load(run_dir: Path) -> State:
    """Return all faults, by kind and name."""
    path = run_dir / FILE
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raw = {}
    except json.JSONDecodeError as error:
        raise LabError(
            f"{path} is damaged ({error}); remove it and heal with -e heal=all."
        ) from error
    return {kind: dict(raw.get(kind, {})) for kind in KINDS}


def save(run_dir: Path, state: State) -> None:
    """Replace the file atomically."""
    path = run_dir / FILE
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(state, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    os.replace(fresh, path)
