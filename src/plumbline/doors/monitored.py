"""Hosts, services and suspects of a plan for any monitoring system, and its options.

The names are those of the options of the roles nagios, icinga and nrpe, without the role.

The formats differ in their language alone.
"""

from __future__ import annotations

from collections import ChainMap
from typing import (
    Annotated,
    Any,
    Callable,
    Iterable,
    Iterator,
    Literal,
    Mapping,
    NamedTuple,
    Protocol,
)

from jinja2 import Environment, PackageLoader, StrictUndefined
from pydantic import Field

from plumbline.model.codec import read_all
from plumbline.model.errors import DocumentError
from plumbline.model.service import PathService, Service
from plumbline.model.validation import same_schema, texts
from plumbline.topology.strict import Strict, parse

State = Literal["w", "u", "c", "r"]
"""Warning, unknown, critical, recovery."""

Minutes = Annotated[int, Field(ge=0, le=525_600)]
Period = Annotated[int, Field(ge=1, le=525_600)]


class ObjectOptions(Strict):
    """The options with their defaults; intervals and delays are minutes, ``_s`` is seconds."""

    addresses: dict[str, str] = {}
    """Addresses of hosts that the topology knows by another address."""
    check_interval_min: Period = 5
    check_timeout_s: Annotated[int, Field(ge=1, le=3600)] = 25
    notification_options: list[State] = ["w", "c", "r"]
    node_notification_options: list[State] = ["w", "u", "c", "r"]
    notification_interval_min: Minutes = 1440
    paths: bool = False
    """True adds services of check_path, which need what a console collects."""
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
    """Folder of Nagios's own plug-ins; Icinga knows them by name."""
    user_groups: list[str] = ["icingaadmins"]
    host_notification: str = "mail-host-notification"
    service_notification: str = "mail-service-notification"

    @property
    def delay_min(self) -> int:
        """Minutes for which a component must have a problem before somebody is notified.

        Until a suspect is known that explains it; without suspects, until its host is known to be
        down, which is before the next check of its services.
        """
        return self.notification_delay_min if self.paths else max(1, self.check_interval_min - 1)

    @property
    def delay_reason(self) -> str:
        """Reason for the delay."""
        suspect = "a suspect that this is behind would be known"
        return suspect if self.paths else "it would be known that the host is down"

    def report_place(self, anchor: str) -> str:
        """Return the address of a place in the report; empty where there is no report."""
        return f"{self.report_url}#{anchor}" if self.report_url else ""


def read_options(raw: object) -> ObjectOptions:
    """Return the options of a document.

    Raises:
        DocumentError: naming the option that is wrong.
    """
    return parse(ObjectOptions, raw, "options of the objects")


AGENT_SERVICE = "plumbline agent"
"""Description of the service that shows whether a node answers."""

COLLECTION_SERVICE = "PATH collection"
"""Description of the service that shows whether the console still looks for suspects."""

PLAN_SCHEMA = 1
_REMEDY = "write it with: plumbline plan -i INVENTORY --json"


class Sited(Protocol):
    """Part of a compiled plan that objects are made from."""

    @property
    def site(self) -> str:
        """Name of the site."""

    @property
    def services(self) -> tuple[Service, ...]:
        """Services that show verdicts."""

    @property
    def hosts(self) -> tuple[dict[str, str], ...]:
        """Hosts of the topology."""

    @property
    def paths(self) -> tuple[PathService, ...]:
        """Services that say the suspects."""

    @property
    def parents(self) -> dict[str, list[str]]:
        """Hosts behind others."""


class Host(NamedTuple):
    """A host object: ``parents`` are the hosts that every way to it crosses, nearest first."""

    name: str
    kind: str
    address: str
    parents: tuple[str, ...] = ()


class Monitored(NamedTuple):
    """Hosts and services that are watched; ``paths`` are empty if no console collects.

    ``members`` of a path and what a service is ``behind`` are places in ``services``.
    """

    site: str
    hosts: tuple[Host, ...]
    services: tuple[Service, ...]
    paths: tuple[PathService, ...]

    @property
    def address(self) -> Mapping[str, str]:
        """Address of each host."""
        return {host.name: host.address for host in self.hosts}

    @property
    def nodes(self) -> tuple[str, ...]:
        """The hosts that are asked."""
        return tuple(sorted({service.node for service in self.services}))

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of hosts, each once."""
        return tuple(dict.fromkeys(host.kind for host in self.hosts))

    @property
    def layers(self) -> tuple[str, ...]:
        """Layers that group the services."""
        paths = ("path",) if self.paths else ()
        return (*dict.fromkeys(service.layer for service in self.services), *paths)

    @property
    def shared_hosts(self) -> tuple[str, ...]:
        """Host objects without a machine, for what no host has alone."""
        own = {host.name for host in self.hosts}
        return tuple(dict.fromkeys(path.host for path in self.paths if path.host not in own))

    def members(self, path: PathService) -> tuple[Service, ...]:
        """Return the services whose bytes cross the component of ``path``; none of a system."""
        return tuple(self.services[place] for place in path.members if path.component)

    def crossings(self) -> Iterator[tuple[PathService, Service]]:
        """Yield each suspect with each service whose bytes cross its component."""
        return ((path, service) for path in self.paths for service in self.members(path))

    def bearers(self) -> Iterator[tuple[Service, Service]]:
        """Yield each service that bears the alarm of another one, and that one."""
        for service in self.services:
            for place in service.behind:
                yield self.services[place], service


def monitored(plan: Sited, options: ObjectOptions) -> Monitored:
    """Return what is watched of a compiled plan.

    Raises:
        DocumentError: a service belongs to a host that the plan does not have.
    """
    addresses = ChainMap(options.addresses, {host["name"]: host["address"] for host in plan.hosts})
    return _whole(
        Monitored(
            plan.site,
            tuple(
                Host(
                    host["name"],
                    host["kind"],
                    addresses[host["name"]],
                    tuple(plan.parents.get(host["name"], ())),
                )
                for host in plan.hosts
            ),
            plan.services,
            plan.paths if options.paths else (),
        )
    )


class _Document(NamedTuple):
    """A plan that was printed as JSON, as far as it is needed."""

    site: str
    services: tuple[Service, ...]
    hosts: tuple[dict[str, str], ...]
    paths: tuple[PathService, ...]
    parents: dict[str, list[str]]


def printed_plan(raw: Mapping[str, Any]) -> Sited:
    """Return what ``plumbline plan --json`` printed.

    Raises:
        DocumentError: it is no such document.
    """
    try:
        same_schema(raw, PLAN_SCHEMA, "plan", _REMEDY)
        hosts = tuple({key: host[key] for key in Host._fields[:3]} for host in raw["hosts"])
        parents = {name: list(near) for name, near in raw["parents"].items()}
        texts("plan", (raw["site"], *(text for host in hosts for text in host.values())))
        texts("parents", (name for near in parents.values() for name in near))
        services = read_all(Service, raw["services"])
        paths = read_all(PathService, raw["paths"])
        named = (*(service.members for service in paths), *(service.behind for service in services))
        _refuse_places((place for places in named for place in places), len(services))
        return _Document(raw["site"], services, hosts, paths, parents)
    except (KeyError, TypeError, AttributeError) as error:
        raise DocumentError(f"plan is damaged ({error!r}); {_REMEDY}") from error


def _refuse_places(places: Iterable[int], services: int) -> None:
    for place in places:
        if type(place) is not int or not 0 <= place < services:
            raise TypeError(f"{place!r:.60} is no place of a service")


def templates(write: Callable[[object], str]) -> Environment:
    """Return the templates of objects, in which every value is written by ``write``."""
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


def _whole(objects: Monitored) -> Monitored:
    named = [name for service in objects.services for name in (service.node, service.host)]
    strange = sorted(set(named).difference(objects.address))
    if strange:
        raise DocumentError(
            f"the plan has services of {', '.join(strange)}, whose address it does not give; "
            "add it to plumbline_topology"
        )
    return objects
