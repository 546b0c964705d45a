"""Objects for Nagios Core 4, by file: templates, commands, groups, hosts, and what is judged."""

from __future__ import annotations

from typing import Iterator, Optional

from plumbline.model.path_service import PathService
from plumbline.model.service import Service
from plumbline.output.monitored import (
    AGENT_SERVICE,
    COLLECTION_SERVICE,
    ONE_COLLECTION_ALARM,
    ONE_LOST_PACKET,
    SILENT_BEHIND_A_SUSPECT,
    SILENT_BEHIND_A_TARGET,
    Monitored,
)
from plumbline.output.nagios_templates import commands, templates
from plumbline.output.nagios_text import Line, argument, define, one_line, states_text
from plumbline.output.object_options import ObjectOptions

_STALE_CHECKS = 3
"""Missed checks after which a result is stale."""


def nagios_objects(watched: Monitored, options: ObjectOptions) -> dict[str, str]:
    """Return the text of each file by its name, in the order in which they are read best.

    Raises:
        DocumentError: a value cannot be written as one line.
    """
    parts = {
        "templates": templates(options),
        "commands": commands(watched, options),
        "groups": _groups(watched, options),
        "hosts": _hosts(watched),
        "services": _services(watched, options),
        "dependencies": _dependencies(watched),
    }
    head = f"# Made from the plan of {one_line(watched.site)}.\n"
    return {f"{name}.cfg": head + "\n".join(blocks) for name, blocks in parts.items()}


def _groups(watched: Monitored, options: ObjectOptions) -> Iterator[str]:
    site = watched.site
    for kind in watched.kinds:
        name, alias = f"plumbline-{kind}", f"{site}: every {kind}"
        yield define("hostgroup", [("hostgroup_name", name), ("alias", alias)])
    layers = [*watched.layers, *(("events",) if options.events else ())]
    named = [
        ("plumbline", f"{site}: all that plumbline judges"),
        *((f"plumbline-{layer}", f"{site}: layer {layer}") for layer in layers),
    ]
    for name, alias in named:
        yield define("servicegroup", [("servicegroup_name", name), ("alias", alias)])


def _hosts(watched: Monitored) -> Iterator[str]:
    for host in watched.hosts:
        yield define(
            "host",
            [
                ("use", "plumbline-host"),
                ("host_name", host.name),
                ("alias", f"{host.kind} {host.name}"),
                ("address", host.address),
                ("hostgroups", f"plumbline-{host.kind}"),
                ("parents", ",".join(host.parents)),
            ],
        )
    for name in watched.shared_hosts:
        yield define(
            "host",
            [
                ("use", "plumbline-host"),
                ("host_name", name),
                ("alias", f"{watched.site}: what hosts share"),
                ("address", "127.0.0.1"),
                ("check_command", "plumbline_site"),
            ],
            "What no host has alone: file systems, switches, enclosures of several servers.",
        )


def _services(watched: Monitored, options: ObjectOptions) -> Iterator[str]:
    address = watched.address
    for node in watched.nodes:
        yield _agent(node, address[node], options)
    for service in watched.services:
        yield _measured(service, address[service.node], options)
    if watched.paths:
        yield _collection(watched.paths[0].host, options)
    for path in watched.paths:
        yield _path(path, options)
    for host in watched.hosts if options.events else ():
        yield define(
            "service",
            [
                ("use", "plumbline-events"),
                ("host_name", host.name),
                ("service_description", options.events_service),
                ("servicegroups", "plumbline,plumbline-events"),
            ],
        )


def _service(host: str, description: str, group: Optional[str]) -> list[Line]:
    """Return what every active service begins with."""
    return [
        ("use", "plumbline-service"),
        ("host_name", host),
        ("service_description", description),
        ("servicegroups", f"plumbline,plumbline-{group}" if group else ""),
    ]


def _stale(options: ObjectOptions) -> Line:
    return "freshness_threshold", str(options.check_interval_min * 60 * _STALE_CHECKS)


def _node_states(options: ObjectOptions) -> Line:
    return "notification_options", states_text(options.node_notification_options)


def _links(options: ObjectOptions, anchor: str) -> list[Line]:
    place = options.report_place(anchor)
    return [("action_url", place), ("notes_url", "" if options.notes_url else place)]


def _agent(node: str, address: str, options: ObjectOptions) -> str:
    return define(
        "service",
        [
            *_service(node, AGENT_SERVICE, None),
            ("check_command", f"plumbline_agent!{argument(address)}"),
            ("#", ONE_LOST_PACKET),
            ("max_check_attempts", "3"),
            ("retry_interval", "1"),
            _stale(options),
            _node_states(options),
        ],
    )


def _measured(service: Service, address: str, options: ObjectOptions) -> str:
    asked = f"plumbline_nrpe!{argument(address)}!{argument(service.command)}"
    return define(
        "service",
        [
            *_service(service.host, service.description, service.layer),
            ("check_command", asked),
            ("freshness_threshold", str(int(service.freshness_s))),
            *([_node_states(options)] if service.misses else []),
            *_links(options, service.anchor or "targets"),
            ("#", f"Until {options.delay_reason}."),
            ("first_notification_delay", str(options.delay_min)),
        ],
    )


def _collection(host: str, options: ObjectOptions) -> str:
    return define(
        "service",
        [
            *_service(host, COLLECTION_SERVICE, "path"),
            ("check_command", "plumbline_path!collection"),
            _stale(options),
            _node_states(options),
        ],
        ONE_COLLECTION_ALARM,
    )


def _path(path: PathService, options: ObjectOptions) -> str:
    critical = [state for state in ("c", "r") if state in options.notification_options]
    of_system = [
        (
            "#",
            "WARNING here has an alarm of its own; only CRITICAL is news.",
        ),
        ("notification_options", states_text(critical)),
    ]
    return define(
        "service",
        [
            *_service(path.host, path.description, "path"),
            ("check_command", f"plumbline_path!{argument(path.name)}"),
            _stale(options),
            *_links(options, "suspects"),
            *(of_system if path.file_system else []),
        ],
    )


def _dependencies(watched: Monitored) -> Iterator[str]:
    why = (
        "A node that does not answer is one alarm, not one for each of its services. They are "
        "checked all the same, and show\nUNKNOWN: a dependency that stopped the checks would leave "
        "the last good result standing."
    )
    for service in watched.services:
        yield _dependency((service.node, AGENT_SERVICE), service, "w,u,c", why)
        why = ""
    why = SILENT_BEHIND_A_TARGET
    for bearer, service in watched.bearers():
        yield _dependency((bearer.host, bearer.description), service, "w,c", why)
        why = ""
    why = SILENT_BEHIND_A_SUSPECT
    for path in watched.paths:
        for service in watched.members(path):
            yield _dependency((path.host, path.description), service, "w,c", why)
            why = ""


def _dependency(cause: tuple[str, str], service: Service, states: str, why: str) -> str:
    """Return that ``service`` notifies nobody while ``cause`` is in one of ``states``."""
    return define(
        "servicedependency",
        [
            ("host_name", cause[0]),
            ("service_description", cause[1]),
            ("dependent_host_name", service.host),
            ("dependent_service_description", service.description),
            ("execution_failure_criteria", "n"),
            ("notification_failure_criteria", states),
        ],
        why,
    )
