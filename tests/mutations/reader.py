"""One reader of what others wrote: inputs in order, and how it is given one."""

from __future__ import annotations

from pathlib import Path
from typing import Callable, NamedTuple

Feed = Callable[[bytes, Path], object]
"""Gives bytes to the reader; the folder is empty at first and the reader's own."""


class Reader(NamedTuple):
    """A reader by its name; with any bytes it may raise plumbline's own errors alone."""

    name: str
    samples: tuple[bytes, ...]
    feed: Feed


def text(data: bytes) -> str:
    """Return what a runner makes of a tool's bytes."""
    return data.decode("utf-8", "replace")


def encoded(sample: str) -> tuple[bytes, ...]:
    """Return the only sample of a reader."""
    return (sample.encode(),)


def put(folder: Path, name: str, data: bytes) -> str:
    """Write a file and return its path."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return str(path)
