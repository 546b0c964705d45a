"""Templates and notifications for Icinga 2, used by its hosts and services."""

from __future__ import annotations

import json
from typing import Iterator

from plumbline.output.icinga_text import block, listed, literal, quoted
from plumbline.output.monitored import Monitored
from plumbline.output.object_options import ObjectOptions

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
