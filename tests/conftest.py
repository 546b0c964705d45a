"""The order of all tests, and what they take for granted of the user who runs them."""

from __future__ import annotations

import gc
import os
import re
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Generator, Iterator

import pytest


def pytest_configure() -> None:
    """Make files as most users do: some distributions let the group write them."""
    os.umask(0o022)
    # as the command line does for its own process
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # tables have colours, whatever the terminal of the caller can show
    os.environ["TERM"] = "xterm"
    os.environ.pop("NO_COLOR", None)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Let the garbage collector ignore what stays: it walks through all tests dozens of times."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest, so that none of them is left for one worker."""
    long = {item.path for item in items if item.get_closest_marker("long")}
    slow = Counter(item.path for item in items if item.get_closest_marker("slow"))
    items.sort(key=lambda item: (item.path not in long, -slow[item.path]))


def pytest_sessionfinish() -> None:
    """Remove what killed processes with a clock of faketime have left, of other runs too."""
    remove_clocks_of_the_dead(Path("/dev/shm"))


_CLOCK = re.compile(r"(?:sem\.)?faketime_(?:sem|shm)_(\d+)")


def remove_clocks_of_the_dead(folder: Path) -> None:
    """Remove the shared memory of this user's ended processes, which libfaketime names by them."""
    for path in folder.glob("*faketime_*"):
        match = _CLOCK.fullmatch(path.name)
        ended = match is not None and not Path("/proc", match[1]).exists()
        # another run may have removed it
        with suppress(FileNotFoundError):
            if ended and path.lstat().st_uid == os.geteuid():
                path.unlink()


@pytest.fixture
def open_path() -> Iterator[Path]:
    """A folder of one test like ``tmp_path``, through which other users may pass."""
    # unit tests of plug-ins load this file without the package of the tests
    from tests.package.strangers import folder_for_all

    with folder_for_all() as folder:
        yield folder
