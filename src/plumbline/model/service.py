"""One Nagios service of the plan: what it judges, whose part that is, and who has measured it."""

from __future__ import annotations

from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple
from plumbline.model.validation import numbers, texts

if TYPE_CHECKING:
    from typing import Any, Mapping


NODE = "node"
"""The layer of the service that says whether the probes of a node run."""

SYMPTOMS = "symptoms"
"""The layer of the services that say what hardware and kernel of a node say about themselves."""


class Service(NamedTuple):
    """One Nagios service.

    ``host`` has the part that is judged, ``node`` measured it and answers; ``command`` is NRPE's;
    one of ``component`` and ``group`` is empty; ``freshness_s`` is the age of a stale result;
    ``anchor`` is its place in the report, empty for a node and in a plan of an older version.
    ``behind`` are the services, by their places in the plan, while whose alarm it notifies nobody.
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
    behind: tuple[int, ...] = ()

    @property
    def misses(self) -> bool:
        """Return whether it is the one of its node that says that nothing is measured or seen."""
        whole = self.component == self.node
        return self.layer == NODE or (self.layer == SYMPTOMS and whole)

    def to_json(self) -> dict[str, Any]:
        """Return the document form."""
        return {
            **self._asdict(),
            "arguments": list(self.arguments),
            "behind": list(self.behind),
        }

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Service:
        """Build from the document form; raise KeyError, TypeError or AttributeError."""
        # a plan of an older version has no behind
        lists = {"arguments": tuple(raw["arguments"]), "behind": tuple(raw.get("behind", ()))}
        service = cls(**{**raw, **lists})
        texts("service", (*service[:5], *service[6:9], service.anchor))
        numbers(freshness_s=service.freshness_s)
        for place in service.behind:
            numbers(behind=place)
        return service
