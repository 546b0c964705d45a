"""Each kind of object for Nagios, and the escaping of its language."""

from __future__ import annotations

import re
from typing import Any

import pytest

from plumbline.doors.nagios import nagios_objects
from plumbline.model.errors import DocumentError
from tests.package.doors.objects_site import NODE, OST, SITE, SYSTEM, options


def blocks(kind: str, site: Any = SITE, **changes: Any) -> list[dict[str, str]]:
    """Return all objects of a kind."""
    text = "".join(nagios_objects(site, options(**changes)).values())
    bodies = re.findall(rf"^define {kind} \{{\n(.*?)^\}}$", text, re.MULTILINE | re.DOTALL)
    return [
        dict(
            line.split(maxsplit=1)
            for line in body.splitlines()
            if not line.lstrip().startswith("#")
        )
        for body in bodies
    ]


def service(description: str, **changes: Any) -> dict[str, str]:
    return next(
        row for row in blocks("service", **changes) if row.get("service_description") == description
    )


def test_a_host_has_its_address_group_and_parents() -> None:
    first, second, shared = (row for row in blocks("host") if "register" not in row)
    assert first == {
        "use": "plumbline-host",
        "host_name": "oss1",
        "alias": "server oss1",
        "address": "10.0.0.1",
        "hostgroups": "plumbline-server",
        "parents": "router1",
    }
    assert "parents" not in second
    assert (shared["host_name"], shared["check_command"]) == ("lab", "plumbline_site")


def test_without_suspects_the_notification_delay_only_covers_a_dead_host() -> None:
    row = service(OST.description)
    assert row["check_command"] == "plumbline_nrpe!fe80::2%eth0!plumbline_ost_OST1"
    assert row["first_notification_delay"] == "20"
    row = service(OST.description, paths=False, check_interval_min=7)
    assert row["first_notification_delay"] == "6"
    services = blocks("service", SITE._replace(paths=()), paths=False)
    assert services[-1]["service_description"] == NODE.description


@pytest.mark.parametrize(
    ("changes", "action", "notes"),
    [
        ({}, None, None),
        ({"report_url": "/r.html"}, "/r.html#ost-OST1", "/r.html#ost-OST1"),
        ({"report_url": "/r.html", "notes_url": "/wiki"}, "/r.html#ost-OST1", None),
    ],
)
def test_notes_link_to_the_report_unless_the_site_has_its_own(
    changes: dict[str, str], action: str, notes: str
) -> None:
    row = service(OST.description, **changes)
    assert (row.get("action_url"), row.get("notes_url")) == (action, notes)


def test_notes_of_the_site_are_in_the_template() -> None:
    services = blocks("service", notes_url="/w/$HOSTNAME$;a")
    (template,) = [row for row in services if "name" in row]
    assert template["notes_url"] == r"/w/$HOSTNAME$\;a"


@pytest.mark.parametrize(
    ("states", "expected"), [(["w", "c", "r"], "c,r"), (["w", "c"], "c"), (["w"], "n"), ([], "n")]
)
def test_a_file_system_notifies_only_of_critical(states: list[str], expected: str) -> None:
    row = service(SYSTEM.description, notification_options=states)
    assert row["notification_options"] == expected


def test_services_depend_on_their_node_and_their_shared_part() -> None:
    dependencies = [
        (
            row["service_description"],
            row["dependent_service_description"],
            row["notification_failure_criteria"],
        )
        for row in blocks("servicedependency")
    ]
    assert dependencies == [
        ("plumbline agent", OST.description, "w,u,c"),
        ("plumbline agent", NODE.description, "w,u,c"),
        ("PATH switch sw1", OST.description, "w,c"),
    ]


def test_events_are_passive_and_stale_without_heartbeats() -> None:
    options = {"events": True, "events_service": "Log", "events_freshness_s": 60}
    assert [row["host_name"] for row in blocks("service", **options)[-2:]] == ["oss1", "client1"]
    template = next(
        row for row in blocks("service", **options) if row.get("name") == "plumbline-events"
    )
    assert (template["active_checks_enabled"], template["freshness_threshold"]) == ("0", "60")


def test_a_path_is_quoted_and_its_dollar_signs_are_escaped() -> None:
    commands = {
        row["command_name"]: row["command_line"] for row in blocks("command", library="/opt/a $b")
    }
    assert "'/opt/a $$b/checks/check_path'" in commands["plumbline_path"]


def test_special_characters_of_nagios_are_escaped() -> None:
    odd = OST._replace(description="OST a;b", command="x!$USER1$;")
    services = blocks("service", SITE._replace(services=(odd, NODE)))
    row = next(row for row in services if row.get("service_description") == r"OST a\;b")
    assert row["check_command"] == r"plumbline_nrpe!fe80::2%eth0!x\!$$USER1$$\;"


@pytest.mark.parametrize("text", ["a\nb", "a\tb", "a\x1bb", "a\\"])
def test_names_of_several_lines_are_refused(text: str) -> None:
    with pytest.raises(DocumentError, match="cannot be written for Nagios"):
        nagios_objects(SITE._replace(services=(OST._replace(description=text), NODE)), options())
