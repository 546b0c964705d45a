"""How Nagios or Icinga asks nodes and whom it notifies: what the objects need beside the plan.

The names are those of the options of the roles nagios, icinga and nrpe, without the role.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from plumbline.topology.strict import Strict, parse

State = Literal["w", "u", "c", "r"]
"""Warning, unknown, critical, recovery."""

Minutes = Annotated[int, Field(ge=0, le=525_600)]
Period = Annotated[int, Field(ge=1, le=525_600)]


class ObjectOptions(Strict):
    """The options with their defaults; intervals and delays are minutes, ``_s`` is seconds."""

    addresses: dict[str, str] = {}
    """Where hosts are reached that the topology knows by another address."""
    check_interval_min: Period = 5
    check_timeout_s: Annotated[int, Field(ge=1, le=3600)] = 25
    notification_options: list[State] = ["w", "c", "r"]
    node_notification_options: list[State] = ["w", "u", "c", "r"]
    notification_interval_min: Minutes = 1440
    paths: bool = False
    """Whether there are services of check_path, which need what a console collects."""
    notification_delay_min: Minutes = 20
    notes_url: str = ""
    report_url: str = ""
    nrpe_port: Annotated[int, Field(ge=1, le=65535)] = 5666
    tls_directory: str = "/etc/plumbline-tls"
    python: str = "/usr/bin/python3"
    library: str = "/usr/lib/plumbline"
    contact_groups: list[str] = ["admins"]
    events: bool = False
    """Whether each host has a passive service for its log; in Nagios alone."""
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
        """What the delay waits for."""
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
