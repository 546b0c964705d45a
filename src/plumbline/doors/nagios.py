"""Nagios Core 4: objects of a plan, and passive results in one file.

A semicolon begins a comment, an exclamation mark parts the arguments of a check, a dollar sign
begins a macro: each is escaped where it stands.
"""

from __future__ import annotations

import shlex
from typing import Iterable, Iterator, Optional

from plumbline.doors.monitored import (
    AGENT_SERVICE,
    COLLECTION_SERVICE,
    ONE_COLLECTION_ALARM,
    ONE_LOST_PACKET,
    SILENT_BEHIND_A_SUSPECT,
    SILENT_BEHIND_A_TARGET,
    Monitored,
    ObjectOptions,
)
from plumbline.model.errors import DocumentError
from plumbline.model.service import PathService, Service

Line = tuple[str, str]
"""Name and value; of a comment the name is a hash, of what is left out the value is empty."""


def one_line(value: object) -> str:
    """Return a value as one line that Nagios reads back as it is."""
    text = str(value)
    if not text.isprintable() or text.endswith("\\"):
        raise DocumentError(
            f"{text!r:.80} cannot be written for Nagios, which reads one line; "
            "remove line breaks, control characters and a backslash at its end"
        )
    return text.replace(";", "\\;")


def argument(text: str) -> str:
    """Return one argument of a check command."""
    return text.replace("\\", "\\\\").replace("!", "\\!").replace("$", "$$")


def shell_word(path: str) -> str:
    """Return a path as one word of the shell that Nagios starts."""
    return shlex.quote(path).replace("$", "$$")


def define(kind: str, lines: Iterable[Line], why: str = "") -> str:
    """Return an object with its lines, below the reason for it as a comment."""
    kept = [(name, value) for name, value in lines if value]
    width = max(len(name) for name, _ in kept if name != "#") + 2
    body = [
        f"# {value}" if name == "#" else f"{name:{width}}{one_line(value)}" for name, value in kept
    ]
    inside = "".join(f"    {line}\n" for line in body)
    comment = "".join(f"# {line}\n" for line in why.splitlines())
    return f"{comment}define {kind} {{\n{inside}}}\n"


def states_text(states: Iterable[str]) -> str:
    """Return states of notifications as Nagios lists them; n for none."""
    return ",".join(states) or "n"


def templates(options: ObjectOptions) -> Iterator[str]:
    """Yield what hosts and services of plumbline have in common."""
    interval, contacts = str(options.check_interval_min), ",".join(options.contact_groups)
    notified = [
        ("contact_groups", contacts),
        ("notification_period", "24x7"),
        ("notification_interval", str(options.notification_interval_min)),
    ]
    yield define(
        "host",
        [
            ("name", "plumbline-host"),
            ("register", "0"),
            ("check_command", "plumbline_host"),
            ("check_period", "24x7"),
            ("check_interval", interval),
            ("retry_interval", "1"),
            ("max_check_attempts", "3"),
            ("flap_detection_enabled", "0"),
            ("process_perf_data", "1"),
            *notified,
            ("notification_options", "d,r"),
        ],
    )
    yield define(
        "service",
        [
            ("name", "plumbline-service"),
            ("register", "0"),
            ("check_period", "24x7"),
            ("check_interval", interval),
            ("retry_interval", interval),
            ("max_check_attempts", "1"),
            ("flap_detection_enabled", "0"),
            ("process_perf_data", "1"),
            ("check_freshness", "1"),
            *notified,
            ("notification_options", states_text(options.notification_options)),
            ("notes_url", options.notes_url),
        ],
        "A check reads the evidence of several runs, and asking again shows the same: a state is "
        "hard at once. An alarm stands until the\nevidence for health is as strong, so it does not "
        "flap; Nagios counts flaps in checks, and would mute a daily probe for weeks.",
    )
    if options.events:
        yield define(
            "service",
            [
                ("name", "plumbline-events"),
                ("use", "plumbline-service"),
                ("register", "0"),
                ("active_checks_enabled", "0"),
                ("passive_checks_enabled", "1"),
                ("check_command", "plumbline_events_silent"),
                ("notification_options", states_text(options.node_notification_options)),
                ("freshness_threshold", str(options.events_freshness_s)),
            ],
            "The correlator sends results and repeats them; its silence is UNKNOWN.",
        )


def commands(watched: Monitored, options: ObjectOptions) -> Iterator[str]:
    """Yield what Nagios starts to check hosts, nodes and suspects."""
    plugins, port = options.plugins, options.nrpe_port
    keys = (("-A", "ca"), ("-C", "cert"), ("-K", "key"))
    files = " ".join(
        f"{flag} {shell_word(f'{options.tls_directory}/{name}.pem')}" for flag, name in keys
    )
    nrpe = (
        f"{shell_word(f'{plugins}/check_nrpe')} -H $ARG1$ -p {port} -u "
        f"-t {options.check_timeout_s}:3 "
        f"{files}"
    )
    yield _command(
        "plumbline_nrpe",
        f"{nrpe} -c $ARG2$",
        "A node that does not answer is UNKNOWN: nothing was measured. ARG1 is the node's address, "
        "ARG2 the command there.",
    )
    yield _command("plumbline_agent", nrpe)
    yield _command(
        "plumbline_host",
        f"{shell_word(f'{plugins}/check_tcp')} -H $HOSTADDRESS$ -p {port} --refuse=ok -t 10",
        "A host is up when it answers at all, be it by refusing: needs no ICMP, and tells a dead "
        "host from a dead daemon.",
    )
    if watched.paths:
        check = shell_word(f"{options.library}/checks/check_path")
        yield _command(
            "plumbline_path",
            f'{shell_word(options.python)} -I {check} -v --service "$ARG1$"',
            "Reads a file of this host. ARG1 is kind and name.",
        )
        yield _command("plumbline_site", "/bin/true", "There is no machine that could be down.")
    if options.events:
        said = "EVENTS UNKNOWN - the correlator is silent, see systemctl status sec-plumbline"
        yield _command(
            "plumbline_events_silent", f'{shell_word(f"{plugins}/check_dummy")} 3 "{said}"'
        )


def _command(name: str, line: str, why: str = "") -> str:
    return define("command", [("command_name", name), ("command_line", line)], why)


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
