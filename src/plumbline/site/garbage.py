"""Python's collector of cycles, which a large site can do without."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import Iterator


@contextmanager
def without_collector() -> Iterator[None]:
    """Do without the collector of cycles, of which there are none here.

    It would look through a million values again and again, which takes as long as to judge them.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
