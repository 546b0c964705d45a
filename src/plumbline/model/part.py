"""One part of a site as the plan tells it: what it is and what it carries."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Optional

from plumbline.model.validation import rates_or_none, texts


class SitePart(NamedTuple):
    """Kind and capacities (bytes per second, None where it never limits) of one part or target."""

    kind: str
    read_Bps: Optional[float]
    write_Bps: Optional[float]

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> SitePart:
        """Build from the document form; raise KeyError or TypeError for wrong keys or values."""
        part = cls(raw["kind"], raw["read_Bps"], raw["write_Bps"])
        texts("kind", (part.kind,))
        rates_or_none(read_Bps=part.read_Bps, write_Bps=part.write_Bps)
        return part
