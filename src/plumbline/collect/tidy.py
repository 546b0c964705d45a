"""Once a day, keep the history of a site small: drop what is too old, thin what is old."""

from __future__ import annotations

from pathlib import Path
from typing import Callable, Optional

from plumbline.store.collection import Collection
from plumbline.store.history import KEEP_DAYS
from plumbline.store.thinning import Thinned, Thinning
from plumbline.units import DAY_S

_LIMIT_S = 60.0
"""Of one call: the first one may find years, and the next collection waits for it."""


def tidy(history: Path, now: float, elapsed: Callable[[], float]) -> Optional[Thinned]:
    """Return what became daily figures, None where it was done within a day.

    ``now`` is in seconds since the epoch; ``elapsed`` counts seconds from any moment on.

    Raises:
        StoreError: the history cannot be read or written.
    """
    end = elapsed() + _LIMIT_S
    with Collection(history) as collection:
        if not collection.prune_is_due(now):
            return None
        with Thinning(history) as thinning:
            thinning.prune(now - KEEP_DAYS * DAY_S)
            thinning.prune_servers(now)
            found = thinning.thin(now, lambda: elapsed() < end)
            if found.unfinished:
                collection.prune_again()
            return found
