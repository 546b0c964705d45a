"""Work that goes on until somebody ends it."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import Iterator


@contextmanager
def until_signalled() -> Iterator[threading.Event]:
    """Give an event that SIGTERM and SIGINT set, so that what was begun is finished."""
    ended = threading.Event()
    signals = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(one, lambda *_: ended.set()) for one in signals]
    try:
        yield ended
    finally:
        for one, handler in zip(signals, before):
            signal.signal(one, handler)
