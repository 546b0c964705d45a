"""Nagios services of the plan, the parts that they judge, and the alarms that stand."""

from __future__ import annotations

from plumbline.model.codec import lenient
from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple
from plumbline.model.validation import rates, times
from plumbline.model.verdict import State

if TYPE_CHECKING:
    from typing import Annotated, Mapping, Optional


NODE = "node"
"""The layer of the service that says whether the probes of a node run."""

SYMPTOMS = "symptoms"
"""The layer of the services that say what hardware and kernel of a node say about themselves."""


class Service(NamedTuple):
    """One Nagios service.

    ``host`` has the part that is judged, ``node`` measured it and answers; ``command`` is NRPE's;
    one of ``component`` and ``group`` is empty; ``freshness_s`` is the age of a stale result;
    ``anchor`` is its place in the report, empty for a node.
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


@lenient
class SitePart(NamedTuple):
    """Kind and capacities (bytes per second, None where it never limits) of one part or target."""

    kind: str
    read_Bps: Optional[Annotated[float, rates]]
    write_Bps: Optional[Annotated[float, rates]]


@lenient
class Suspicion(NamedTuple):
    """Since when a path service is in alarm, in which state; ``ended_at`` since when it fades.

    Only what was ``slow`` fades: a server that answers again answers.
    """

    since: Annotated[float, times]
    state: State
    slow: bool
    ended_at: Optional[Annotated[float, times]] = None


@lenient
class Standing(NamedTuple):
    """``notified`` has the beginnings of alarms of services, by host and description.

    Times are in seconds since the epoch.  A service that was silent behind a suspect is no part of
    it.  ``suspicions`` are by the names of path services.
    """

    notified: Mapping[str, Annotated[float, times]]
    suspicions: Mapping[str, Suspicion]


NOTHING = Standing({}, {})


DEVICE_INFO = "plumbline_device_info"
