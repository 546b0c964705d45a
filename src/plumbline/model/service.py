"""Nagios services of the plan, their parts, and active alarms."""

from __future__ import annotations

from typing import Annotated, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.model.codec import lenient, positional
from plumbline.model.validation import rates, times
from plumbline.model.verdict import State

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


@positional
class KeptService(Service):
    """A service in half the text, for documents that only plumbline reads."""

    __slots__ = ()


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


def enclosing(paths: Sequence[PathService]) -> Iterator[tuple[PathService, PathService]]:
    """Yield pairs of components: one, and another with no services behind it but those of the one.

    While the first is not OK the second notifies nobody, so an alarm can move to it in silence.  Of
    two with the same services a host comes first, then the order of ``paths``; so no two enclose
    each other.
    """
    ranked = sorted(
        (path for path in paths if path.component),
        key=lambda path: (-len(set(path.members)), path.host != path.component),
    )
    by_member: dict[int, list[tuple[PathService, frozenset[int]]]] = {}
    for inner in ranked:
        members = frozenset(inner.members)
        for outer, others in by_member.get(min(members), ()) if members else ():
            if members <= others:
                yield outer, inner
        for member in members:
            by_member.setdefault(member, []).append((inner, members))


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
    ``moved_to`` is the path service that shows the fault since, empty if there is none.  ``hidden``
    is whether the service was prevented from notifying from the start.
    """

    since: Annotated[float, times]
    state: State
    slow: bool
    ended_at: Optional[Annotated[float, times]] = None
    moved_to: str = ""
    hidden: bool = False


@lenient
class ActiveAlarms(NamedTuple):
    """Active alarms: ``notified`` has their starts in epoch seconds, by host and description.

    Services that a suspect's alarm suppressed are left out.  ``suspicions`` are keyed by the names
    of path services.
    """

    notified: Mapping[str, Annotated[float, times]]
    suspicions: Mapping[str, Suspicion]

    @property
    def red(self) -> frozenset[str]:
        """Names of the path services in alarm; an alarm that has moved is not red here."""
        return frozenset(name for name, old in self.suspicions.items() if old.state.alarm)

    @property
    def heirs(self) -> frozenset[str]:
        """Names of the path services whose fault another one has notified."""
        return frozenset(old.moved_to for old in self.suspicions.values() if old.moved_to)


NO_ALARMS = ActiveAlarms({}, {})


class PathAlarms(NamedTuple):
    """Names of the path services in alarm, and of those whose fault another one has notified."""

    red: frozenset[str]
    silent: frozenset[str]


DEVICE_INFO = "plumbline_device_info"
