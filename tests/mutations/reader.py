"""A reader of foreign input: valid samples, and a function that feeds it."""

from __future__ import annotations

from pathlib import Path
from typing import Callable, NamedTuple

Feed = Callable[[bytes, Path], object]
"""Gives bytes to the reader, with an empty folder of its own."""


class Reader(NamedTuple):
    """A named reader that may raise only plumbline's own errors, for any bytes."""

    name: str
    samples: tuple[bytes, ...]
    feed: Feed


def text(data: bytes) -> str:
    """Decode bytes like the runner of a tool."""
    return data.decode("utf-8", "replace")


def encoded(sample: str) -> tuple[bytes, ...]:
    """Return a sample as the only one of a reader."""
    return (sample.encode(),)


def put(folder: Path, name: str, data: bytes) -> str:
    """Write a file and return its path."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return str(path)
