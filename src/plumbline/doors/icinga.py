"""Icinga 2: the same hosts, services and dependencies as for Nagios.

It is a quoted string; a dollar sign in a custom variable begins a macro and is doubled.
"""

from __future__ import annotations

import json
from typing import Iterable, Iterator

from plumbline.doors.monitored import (
    AGENT_SERVICE,
    COLLECTION_SERVICE,
    ONE_COLLECTION_ALARM,
    ONE_LOST_PACKET,
    SILENT_BEHIND_A_SUSPECT,
    SILENT_BEHIND_A_TARGET,
    Host,
    Monitored,
    ObjectOptions,
)
from plumbline.model.errors import DocumentError
from plumbline.model.service import PathService, Service


def printable(text: str) -> str:
    """Return a text that is one line; raise DocumentError for another."""
    if not text.isprintable():
        raise DocumentError(
            f"{text!r:.80} cannot be written for Icinga; remove line breaks and control characters"
        )
    return text


def quoted(text: str) -> str:
    """Return a text as a string of the language."""
    return json.dumps(printable(text), ensure_ascii=False)


def literal(text: str) -> str:
    """Return a text that stands for itself where Icinga looks for macros."""
    return quoted(text.replace("$", "$$"))


def listed(words: Iterable[str]) -> str:
    """Return an array of what is written already."""
    return f"[ {', '.join(words)} ]"


def block(head: str, lines: Iterable[str], why: str = "") -> str:
    """Return an object with its lines, below the reason for it as a comment."""
    body = "".join(f"  {line}\n" for line in lines)
    comment = "".join(f"// {line}\n" for line in why.splitlines())
    return f"{comment}{head} {{\n{body}}}\n"


_STATES = {"w": "Warning", "u": "Unknown", "c": "Critical", "r": "OK"}
"""As Nagios names them, and as Icinga does."""

_MACROS = {"$HOSTNAME$": "$host.name$", "$SERVICEDESC$": "$service.name$"}
"""Of addresses of notes."""


def templates(watched: Monitored, options: ObjectOptions) -> Iterator[str]:
    """Yield what hosts and services of plumbline have in common."""
    if watched.paths:
        check = quoted(f"{options.library}/checks/check_path")
        yield block(
            'object CheckCommand "plumbline_path"',
            [
                f'command = [ {quoted(options.python)}, "-I", {check}, "-v" ]',
                "arguments = {",
                '  "--service" = "$plumbline_path$"',
                "}",
            ],
            "Reads a file of this host.",
        )
    yield block(
        'template Host "plumbline-host"',
        [
            'check_command = "tcp"',
            f"vars.tcp_port = {options.nrpe_port}",
            'vars.tcp_refuse = "ok"',
            "vars.tcp_timeout = 10",
            f"check_interval = {options.check_interval_min}m",
            "retry_interval = 1m",
            "max_check_attempts = 3",
            "enable_flapping = false",
        ],
        "A host is up when it answers at all, be it by refusing: needs no ICMP, and tells a dead "
        "host from a dead daemon.",
    )
    notes = options.notes_url
    for macro, name in _MACROS.items():
        notes = notes.replace(macro, name)
    yield block(
        'template Service "plumbline-service"',
        [
            f"check_interval = {options.check_interval_min}m",
            f"retry_interval = {options.check_interval_min}m",
            "max_check_attempts = 1",
            "enable_flapping = false",
            *([f"notes_url = {quoted(notes)}"] if notes else []),
        ],
        "A check reads the evidence of several runs, and asking again shows the same: a state is "
        "hard at once. An alarm stands until the\nevidence for health is as strong, so it does not "
        "flap; Icinga counts flaps in checks, and would mute a daily probe for weeks.",
    )
    yield _nrpe(options)


def _nrpe(options: ObjectOptions) -> str:
    files = {name: literal(f"{options.tls_directory}/{name}.pem") for name in ("ca", "cert", "key")}
    return block(
        'template Service "plumbline-nrpe"',
        [
            'import "plumbline-service"',
            'check_command = "nrpe"',
            f"vars.nrpe_port = {options.nrpe_port}",
            f'vars.nrpe_timeout = "{options.check_timeout_s}:3"',
            "vars.nrpe_timeout_unknown = true",
            *(f"vars.nrpe_{name} = {path}" for name, path in files.items()),
        ],
        "A node that does not answer is UNKNOWN: nothing was measured.",
    )


def notifications(options: ObjectOptions) -> Iterator[str]:
    """Yield who is notified of what, by kind of service."""
    groups, interval = (
        json.dumps(options.user_groups, ensure_ascii=False),
        options.notification_interval_min,
    )
    whom = [f"user_groups = {groups}", f"interval = {interval}m"]
    yield block(
        'apply Notification "plumbline" to Host',
        [
            f"import {quoted(options.host_notification)}",
            *whom,
            "states = [ Up, Down ]",
            "types = [ Problem, Recovery ]",
            'assign where "plumbline-host" in host.templates',
        ],
    )
    of_nodes = [_STATES[state] for state in options.node_notification_options]
    of_parts = [_STATES[state] for state in options.notification_options]
    kinds = {
        "node": of_nodes,
        "probes": of_nodes,
        "component": of_parts,
        "path": of_parts,
        # Warning here has an alarm of its own; Critical is what no other service notifies of
        "file system": [state for state in of_parts if state in ("Critical", "OK")],
    }
    for kind, states in kinds.items():
        if set(states) - {"OK"}:
            yield _notification(kind, states, whom, options)


def _notification(kind: str, states: list[str], whom: list[str], options: ObjectOptions) -> str:
    types = ["Problem", *(["Recovery"] if "OK" in states else [])]
    delayed = [
        f"// Until {options.delay_reason}.",
        f"times.begin = {options.delay_min}m",
    ]
    return block(
        f"apply Notification {quoted(f'plumbline {kind}')} to Service",
        [
            f"import {quoted(options.service_notification)}",
            *whom,
            f"states = {listed(states)}",
            f"types = {listed(types)}",
            *(delayed if kind in ("component", "probes") else []),
            f"assign where service.vars.plumbline_kind == {quoted(kind)}",
        ],
    )


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
