"""Templates and commands for Nagios Core 4, used by its hosts and services."""

from __future__ import annotations

from typing import Iterator

from plumbline.output.monitored import Monitored
from plumbline.output.nagios_text import define, shell_word, states_text
from plumbline.output.object_options import ObjectOptions


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
