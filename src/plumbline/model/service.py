"""One Nagios service of the plan: what it judges, whose part that is, and who has measured it."""

from __future__ import annotations

from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple
from plumbline.model.validation import numbers, texts

if TYPE_CHECKING:
    from typing import Any, Mapping


NODE = "node"
"""The layer of the service that says whether the probes of a node run."""


class Service(NamedTuple):
    """One Nagios service.

    ``host`` has the part that is judged, ``node`` measured it and answers; ``command`` is NRPE's;
    one of ``component`` and ``group`` is empty; ``freshness_s`` is the age of a stale result;
    ``anchor`` is its place in the report, empty for a node and in a plan of an older version.
    """

    host: str
    node: str
    description: str
    command: str
    check: str
    arguments: tuple[str, ...]
    layer: str
    component: str
    group: str
    freshness_s: int
    anchor: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the document form."""
        return {**self._asdict(), "arguments": list(self.arguments)}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Service:
        """Build from the document form; raise KeyError, TypeError or AttributeError."""
        service = cls(**{**raw, "arguments": tuple(raw["arguments"])})
        texts("service", (*service[:5], *service[6:9], service.anchor))
        numbers(freshness_s=service.freshness_s)
        return service
