"""Objects for Icinga 2: the same hosts, services and dependencies as those for Nagios."""

from __future__ import annotations

from typing import Iterable, Iterator

from plumbline.model.path_service import PathService
from plumbline.model.service import Service
from plumbline.output.icinga_templates import notifications, templates
from plumbline.output.icinga_text import block, listed, literal, printable, quoted
from plumbline.output.monitored import (
    AGENT_SERVICE,
    COLLECTION_SERVICE,
    ONE_COLLECTION_ALARM,
    ONE_LOST_PACKET,
    SILENT_BEHIND_A_SUSPECT,
    SILENT_BEHIND_A_TARGET,
    Host,
    Monitored,
)
from plumbline.output.object_options import ObjectOptions


def icinga_objects(watched: Monitored, options: ObjectOptions) -> dict[str, str]:
    """Return the text of each file by its name.

    Raises:
        DocumentError: a value holds a line break or another control character.
    """
    blocks = (
        *templates(watched, options),
        *_groups(watched),
        *_hosts(watched),
        *_services(watched, options),
        *_bearers(watched),
        *_paths(watched, options),
        *notifications(options),
    )
    head = f"// Made from the plan of {printable(watched.site)}.\n"
    return {"plumbline.conf": "\n".join((head, *blocks))}


def _groups(watched: Monitored) -> Iterator[str]:
    site = watched.site
    named = [
        *(("Host", f"plumbline-{kind}", f"{site}: every {kind}") for kind in watched.kinds),
        ("Service", "plumbline", f"{site}: all that plumbline judges"),
        *(("Service", f"plumbline-{one}", f"{site}: layer {one}") for one in watched.layers),
    ]
    for kind, name, shown in named:
        yield block(f"object {kind}Group {quoted(name)}", [f"display_name = {quoted(shown)}"])


def _hosts(watched: Monitored) -> Iterator[str]:
    for host in watched.hosts:
        yield block(
            f"object Host {quoted(host.name)}",
            [
                'import "plumbline-host"',
                f"display_name = {quoted(f'{host.kind} {host.name}')}",
                f"address = {quoted(host.address)}",
                f"groups = {listed([quoted(f'plumbline-{host.kind}')])}",
            ],
        )
        yield from _parents(host)
    for name in watched.shared_hosts:
        yield block(
            f"object Host {quoted(name)}",
            [
                'import "plumbline-host"',
                f"display_name = {quoted(f'{watched.site}: what hosts share')}",
                'check_command = "dummy"',
                'vars.dummy_text = "has no address"',
            ],
            "What no host has alone: file systems, switches, enclosures of several servers. There "
            "is no machine that could be down.",
        )


def _parents(host: Host) -> Iterator[str]:
    for parent in host.parents:
        yield block(
            f"object Dependency {quoted(f'plumbline parent {parent}')}",
            [
                f"parent_host_name = {quoted(parent)}",
                f"child_host_name = {quoted(host.name)}",
                "states = [ Up ]",
            ],
        )


def _services(watched: Monitored, options: ObjectOptions) -> Iterator[str]:
    address = watched.address
    for node in watched.nodes:
        yield block(
            f"object Service {quoted(AGENT_SERVICE)}",
            [
                'import "plumbline-nrpe"',
                f"host_name = {quoted(node)}",
                'vars.plumbline_kind = "node"',
                f"vars.nrpe_address = {literal(address[node])}",
                f"// {ONE_LOST_PACKET}",
                "max_check_attempts = 3",
                "retry_interval = 1m",
            ],
        )
    for service in watched.services:
        yield _measured(service, address[service.node], options)
        yield _dependency(
            f"plumbline node {service.node}",
            (service.node, AGENT_SERVICE),
            service,
            "A node that does not answer is one alarm, not one for each of its services, which are "
            "checked all the same.",
        )


def _bearers(watched: Monitored) -> Iterator[str]:
    why = SILENT_BEHIND_A_TARGET
    for bearer, service in watched.bearers():
        cause = bearer.host, bearer.description
        yield _dependency(f"plumbline {bearer.description}", cause, service, why)
        why = ""


def _measured(service: Service, address: str, options: ObjectOptions) -> str:
    kind = "probes" if service.misses else "component"
    return block(
        f"object Service {quoted(service.description)}",
        [
            'import "plumbline-nrpe"',
            f"host_name = {quoted(service.host)}",
            f"groups = {listed(map(quoted, ('plumbline', f'plumbline-{service.layer}')))}",
            f'vars.plumbline_kind = "{kind}"',
            f"vars.nrpe_address = {literal(address)}",
            f"vars.nrpe_command = {literal(service.command)}",
            *_links(options, service.anchor or "targets"),
        ],
    )


def _links(options: ObjectOptions, anchor: str) -> Iterator[str]:
    place = options.report_place(anchor)
    if place:
        yield f"action_url = {quoted(place)}"
    if place and not options.notes_url:
        yield f"notes_url = {quoted(place)}"


def _paths(watched: Monitored, options: ObjectOptions) -> Iterator[str]:
    if watched.paths:
        yield _path_service(
            (watched.paths[0].host, COLLECTION_SERVICE),
            ("collection", "node"),
            (),
            ONE_COLLECTION_ALARM,
        )
    for path in watched.paths:
        yield _path_service(
            (path.host, path.description),
            (path.name, "file system" if path.file_system else "path"),
            _links(options, "suspects"),
        )
        yield from _behind(watched, path)


def _behind(watched: Monitored, path: PathService) -> Iterator[str]:
    why = SILENT_BEHIND_A_SUSPECT
    for service in watched.members(path):
        yield _dependency(
            f"plumbline {path.description}",
            (path.host, path.description),
            service,
            why,
        )
        why = ""


def _path_service(
    service: tuple[str, str], asked: tuple[str, str], links: Iterable[str], why: str = ""
) -> str:
    """Return a service by host and description; ``asked`` is what for, and its kind."""
    return block(
        f"object Service {quoted(service[1])}",
        [
            'import "plumbline-service"',
            f"host_name = {quoted(service[0])}",
            'groups = [ "plumbline", "plumbline-path" ]',
            'check_command = "plumbline_path"',
            f"vars.plumbline_path = {literal(asked[0])}",
            f'vars.plumbline_kind = "{asked[1]}"',
            *links,
        ],
        why,
    )


def _dependency(name: str, cause: tuple[str, str], service: Service, why: str) -> str:
    """Return that ``service`` notifies nobody while ``cause`` has a problem.

    Of an agent that is any but OK; suspects that are UNKNOWN silence nothing.
    """
    healthy = "[ OK ]" if cause[1] == AGENT_SERVICE else "[ OK, Unknown ]"
    return block(
        f"object Dependency {quoted(name)}",
        [
            f"parent_host_name = {quoted(cause[0])}",
            f"parent_service_name = {quoted(cause[1])}",
            f"child_host_name = {quoted(service.host)}",
            f"child_service_name = {quoted(service.description)}",
            f"states = {healthy}",
            "disable_checks = false",
        ],
        why,
    )
