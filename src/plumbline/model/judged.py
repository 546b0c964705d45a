"""A verdict on its way from whoever judges a site to whoever tells of it."""

from __future__ import annotations

from typing import NamedTuple

from plumbline.model.verdict import Verdict


class Judged(NamedTuple):
    """A verdict with the node that measured, and when it was judged, in seconds since the epoch."""

    node: str
    judged_at: float
    verdict: Verdict
