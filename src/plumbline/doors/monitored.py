"""Hosts, services and suspects of a plan for any monitoring system, and its options.

Options are named as in the roles nagios, icinga and nrpe, without the prefix of the role.
"""

from __future__ import annotations

from typing import (
    Annotated,
    Any,
    Callable,
    Iterator,
    Literal,
    Mapping,
    NamedTuple,
)

from jinja2 import Environment, PackageLoader, StrictUndefined
from pydantic import Field

from plumbline.model.codec import form, lenient, read_document
from plumbline.model.errors import DocumentError
from plumbline.model.service import PathService, Service, enclosing
from plumbline.topology.strict import Strict, parse

State = Literal["w", "u", "c", "r"]
"""Warning, unknown, critical, recovery."""

Minutes = Annotated[int, Field(ge=0, le=525_600)]
Period = Annotated[int, Field(ge=1, le=525_600)]


class ObjectOptions(Strict):
    """The options with their defaults; intervals and delays are minutes, ``_s`` is seconds."""

    addresses: dict[str, str] = {}
    """Addresses of hosts that differ from those in the topology."""
    check_interval_min: Period = 5
    check_timeout_s: Annotated[int, Field(ge=1, le=3600)] = 25
    notification_options: list[State] = ["w", "c", "r"]
    node_notification_options: list[State] = ["w", "u", "c", "r"]
    notification_interval_min: Minutes = 1440
    paths: bool = False
    """True adds services of check_path, which need a console that collects."""
    notification_delay_min: Minutes = 20
    notes_url: str = ""
    report_url: str = ""
    nrpe_port: Annotated[int, Field(ge=1, le=65535)] = 5666
    tls_directory: str = "/etc/plumbline-tls"
    python: str = "/usr/bin/python3"
    library: str = "/usr/lib/plumbline"
    contact_groups: list[str] = ["admins"]
    events: bool = False
    """True adds a passive service for the log of each host; Nagios only."""
    events_service: str = "Storage events"
    events_freshness_s: Annotated[int, Field(ge=1)] = 1800
    plugins: str = "/usr/lib/nagios/plugins"
    """Folder of Nagios's standard plug-ins; Icinga finds them by name."""
    user_groups: list[str] = ["icingaadmins"]
    host_notification: str = "mail-host-notification"
    service_notification: str = "mail-service-notification"

    @property
    def delay_min(self) -> int:
        """Minutes for which a component must have a problem before anybody is notified.

        Time to find a suspect that explains it; without suspects, time to find that its host is
        down, less than one check interval.
        """
        return self.notification_delay_min if self.paths else max(1, self.check_interval_min - 1)

    @property
    def delay_reason(self) -> str:
        """Reason for the delay."""
        suspect = "a suspect that this is behind would be known"
        return suspect if self.paths else "it would be known that the host is down"

    def report_place(self, anchor: str) -> str:
        """Return the address of a place in the report; empty without a report."""
        return f"{self.report_url}#{anchor}" if self.report_url else ""


def read_options(raw: object) -> ObjectOptions:
    """Return the options of a document.

    Raises:
        DocumentError: an option is wrong; the message names it.
    """
    return parse(ObjectOptions, raw, "options of the objects")


AGENT_SERVICE = "plumbline agent"
"""Description of the service that checks whether a node answers."""

COLLECTION_SERVICE = "PATH collection"
"""Description of the service that checks whether the console looks for suspects."""

_REMEDY = "write it with: plumbline plan -i INVENTORY --json"


@lenient
class Host(NamedTuple):
    """A host object."""

    name: str
    kind: str
    address: str


@lenient
@form(1, "plan", _REMEDY)
class Monitored(NamedTuple):
    """Monitored hosts and services; ``paths`` is empty if no console collects.

    ``members`` of a path and ``behind`` of a service are indices of ``services``.  ``parents`` has
    for each host those that every path to it crosses, nearest first.
    """

    site: str
    hosts: tuple[Host, ...]
    services: tuple[Service, ...]
    paths: tuple[PathService, ...]
    parents: Mapping[str, tuple[str, ...]]

    @property
    def address(self) -> Mapping[str, str]:
        """Address of each host."""
        return {host.name: host.address for host in self.hosts}

    @property
    def nodes(self) -> tuple[str, ...]:
        """Hosts whose agents run the checks."""
        return tuple(sorted({service.node for service in self.services}))

    @property
    def kinds(self) -> tuple[str, ...]:
        """Distinct kinds of hosts."""
        return tuple(dict.fromkeys(host.kind for host in self.hosts))

    @property
    def layers(self) -> tuple[str, ...]:
        """Layers that group the services."""
        paths = ("path",) if self.paths else ()
        return (*dict.fromkeys(service.layer for service in self.services), *paths)

    @property
    def shared_hosts(self) -> tuple[str, ...]:
        """Host objects without a machine, for components shared by several hosts."""
        own = {host.name for host in self.hosts}
        return tuple(dict.fromkeys(path.host for path in self.paths if path.host not in own))

    def members(self, path: PathService) -> tuple[Service, ...]:
        """Return the services whose bytes cross the component of ``path``; empty if it has none."""
        return tuple(self.services[place] for place in path.members if path.component)

    def crossings(self) -> Iterator[tuple[PathService, Service]]:
        """Yield each suspect with each service whose bytes cross its component."""
        return ((path, service) for path in self.paths for service in self.members(path))

    def enclosed(self) -> Iterator[tuple[PathService, PathService]]:
        """Yield pairs of components whose alarm may move from the first to the second."""
        return enclosing(self.paths)

    def dependencies(self) -> Iterator[tuple[Service, Service]]:
        """Yield pairs of services: one that raises the alarm of the other, and the other."""
        for service in self.services:
            for place in service.behind:
                yield self.services[place], service


def monitored(plan: Mapping[str, Any], options: ObjectOptions) -> Monitored:
    """Return the monitored objects of a plan, from its fields or from a printed document.

    Raises:
        DocumentError: the plan is damaged, or a service belongs to a host without an address.
    """
    objects = read_document(Monitored, plan)
    places = {place for service in objects.services for place in service.behind}
    places.update(place for path in objects.paths for place in path.members)
    if invalid := places.difference(range(len(objects.services))):
        raise DocumentError(f"plan is damaged ({min(invalid)} is no place of a service); {_REMEDY}")
    named = {name for service in objects.services for name in (service.node, service.host)}
    if unknown := sorted(named.difference(objects.address)):
        raise DocumentError(
            f"the plan has services of {', '.join(unknown)}, whose address it does not give; "
            "add it to plumbline_topology"
        )
    hosts = (
        host._replace(address=options.addresses.get(host.name, host.address))
        for host in objects.hosts
    )
    return objects._replace(hosts=tuple(hosts), paths=objects.paths if options.paths else ())


def templates(write: Callable[[object], str]) -> Environment:
    """Return the environment of the templates; ``write`` formats every value."""
    environment = Environment(  # noqa: S701 - the languages are not HTML
        loader=PackageLoader("plumbline.doors"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=write,
    )
    environment.globals.update(AGENT_SERVICE=AGENT_SERVICE, COLLECTION_SERVICE=COLLECTION_SERVICE)
    return environment
