"""The order of all tests, and what they take for granted of the user who runs them."""

from __future__ import annotations

import gc
import os
from collections import Counter
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


@pytest.fixture
def open_path() -> Iterator[Path]:
    """A folder of one test like ``tmp_path``, through which other users may pass."""
    # unit tests of plug-ins load this file without the package of the tests
    from tests.package.strangers import folder_for_all

    with folder_for_all() as folder:
        yield folder
