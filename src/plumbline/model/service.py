"""Nagios services of the plan, their parts, and active alarms."""

from __future__ import annotations

from plumbline.model.codec import lenient
from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple
from plumbline.model.validation import rates, times
from plumbline.model.verdict import State

if TYPE_CHECKING:
    from typing import Annotated, Mapping, Optional


NODE = "node"
"""Layer of the service that shows whether the probes of a node run."""

SYMPTOMS = "symptoms"
"""Layer of the services with symptoms from the hardware and kernel of a node."""


class Service(NamedTuple):
    """One Nagios service.

    ``host`` has the judged part, ``node`` measures it and answers; ``command`` is NRPE's; one of
    ``component`` and ``group`` is empty; a result older than ``freshness_s`` is stale; ``anchor``
    is its place in the report, empty for a node.  ``behind`` are services, by index in the plan,
    whose alarms suppress notifications of this one.
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
        """True for the service that raises the alarm if a node measures or reports nothing."""
        entire_node = self.component == self.node
        return self.layer == NODE or (self.layer == SYMPTOMS and entire_node)


class PathService(NamedTuple):
    """Service that shows the suspects.

    ``host`` has the component, or is the site's host if several hosts share it; ``name`` is kind
    and name, the argument of the check; one of ``component`` and ``file_system`` is empty.
    ``members`` are services, by index in the plan, whose bytes cross the component or go to the
    file system.
    """

    host: str
    name: str
    description: str
    component: str
    file_system: str
    members: tuple[int, ...]


@lenient
class SitePart(NamedTuple):
    """Kind and capacities of a part or target, in bytes per second, None if it never limits."""

    kind: str
    read_Bps: Optional[Annotated[float, rates]]
    write_Bps: Optional[Annotated[float, rates]]


@lenient
class Suspicion(NamedTuple):
    """Start and state of an alarm of a path service; from ``ended_at`` on it fades.

    Only an alarm for a ``slow`` component fades: a server that answers again has recovered.
    """

    since: Annotated[float, times]
    state: State
    slow: bool
    ended_at: Optional[Annotated[float, times]] = None


@lenient
class ActiveAlarms(NamedTuple):
    """Active alarms: ``notified`` has their starts in epoch seconds, by host and description.

    Services that a suspect's alarm suppressed are left out.  ``suspicions`` are keyed by the names
    of path services.
    """

    notified: Mapping[str, Annotated[float, times]]
    suspicions: Mapping[str, Suspicion]


NO_ALARMS = ActiveAlarms({}, {})


DEVICE_INFO = "plumbline_device_info"
