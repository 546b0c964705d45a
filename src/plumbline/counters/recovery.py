"""How the recovery of a target stands: ``recovery_status``, lines of ``NAME: VALUE``."""

from __future__ import annotations

import re
from typing import Iterator

from plumbline.counters.metric import EVICTED, RECOVERY, REMAINING, Count, Labels
from plumbline.errors import ToolError
from plumbline.model.printed import whole

_STATUS = re.compile(r"^status: ([A-Z_]{1,40})$", re.MULTILINE)
_FIGURES = ((REMAINING, "time_remaining"), (EVICTED, "evicted_clients"))


def recovery(text: str, labels: Labels, path: str) -> Iterator[Count]:
    """Yield the status, and the figures that a running recovery has.

    Raises:
        ToolError: the text is nothing of the kind.
    """
    status = _STATUS.search(text)
    if not status:
        raise ToolError(f"{path} is not understood: it begins with {text[:40]!r}")
    yield Count(RECOVERY, (*labels, ("status", status[1].lower())), 1)
    for metric, name in _FIGURES:
        figure = re.search(rf"^{name}: (\S+)$", text, re.MULTILINE)
        if figure:
            yield Count(metric, labels, whole(figure[1], f"{name} in {path}"))
