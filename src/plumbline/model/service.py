"""Nagios services of the plan, the parts that they judge, and the alarms that stand."""

from __future__ import annotations

from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple
from plumbline.model.validation import numbers, rates_or_none, texts, times
from plumbline.model.verdict import State

if TYPE_CHECKING:
    from typing import Any, Mapping, Optional


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


class PathService(NamedTuple):
    """One service that says the suspects.

    ``host`` has the component, or is the site's own where no host has it alone; ``name`` is kind
    and name, what the check is asked for; one of ``component`` and ``file_system`` is empty.
    ``members`` are the services, by their places in the plan, whose bytes cross the component, or
    go to the file system.
    """

    host: str
    name: str
    description: str
    component: str
    file_system: str
    members: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the document form."""
        return {**self._asdict(), "members": list(self.members)}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> PathService:
        """Build from the document form; raise KeyError, TypeError or AttributeError."""
        service = cls(**{**raw, "members": tuple(raw["members"])})
        texts("path service", service[:5])
        for place in service.members:
            numbers(member=place)
        return service


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


class Suspicion(NamedTuple):
    """Since when a path service is in alarm, in which state; ``ended_at`` since when it fades.

    Only what was ``slow`` fades: a server that answers again answers.
    """

    since: float
    state: State
    slow: bool
    ended_at: Optional[float] = None


class Standing(NamedTuple):
    """``notified`` has the beginnings of alarms of services, by host and description.

    Times are in seconds since the epoch.  A service that was silent behind a suspect is no part of
    it.  ``suspicions`` are by the names of path services.
    """

    notified: Mapping[str, float]
    suspicions: Mapping[str, Suspicion]

    def to_json(self) -> dict[str, Any]:
        """Return the document form."""
        return {
            "notified": dict(self.notified),
            "suspicions": {
                name: {**suspicion._asdict(), "state": suspicion.state.name}
                for name, suspicion in self.suspicions.items()
            },
        }

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Standing:
        """Build from the document form; raise KeyError, TypeError or AttributeError."""
        suspicions = {name: _suspicion(one) for name, one in raw["suspicions"].items()}
        for name, since in raw["notified"].items():
            times(**{str(name): since})
        return cls(dict(raw["notified"]), suspicions)


NOTHING = Standing({}, {})


def _suspicion(raw: Mapping[str, Any]) -> Suspicion:
    suspicion = Suspicion(raw["since"], State[raw["state"]], raw["slow"] is True, raw["ended_at"])
    times(since=suspicion.since)
    if suspicion.ended_at is not None:
        times(ended_at=suspicion.ended_at)
    return suspicion


DEVICE_INFO = "plumbline_device_info"
