"""Each kind of object for Nagios, and what its language would misread."""

from __future__ import annotations

import re
from typing import Any

import pytest

from plumbline.doors.nagios import nagios_objects
from plumbline.model.errors import DocumentError
from tests.package.doors.objects_site import LYING, NODE, OST, RAW, SITE, SYSTEM, options


def blocks(kind: str, site: Any = SITE, **given: Any) -> list[dict[str, str]]:
    """Return the objects of a kind from all files."""
    text = "".join(nagios_objects(site, options(**given)).values())
    found = re.findall(rf"^define {kind} \{{\n(.*?)^\}}$", text, re.MULTILINE | re.DOTALL)
    return [
        dict(
            line.split(maxsplit=1)
            for line in body.splitlines()
            if not line.lstrip().startswith("#")
        )
        for body in found
    ]


def service(description: str, **given: Any) -> dict[str, str]:
    return next(
        one for one in blocks("service", **given) if one.get("service_description") == description
    )


def test_a_host_has_its_address_group_and_parents() -> None:
    first, second, shared = (one for one in blocks("host") if "register" not in one)
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


def test_a_service_asks_the_node_that_measured_and_is_stale_by_its_schedule() -> None:
    found = service(OST.description)
    assert found["host_name"] == "oss1"
    assert found["check_command"] == "plumbline_nrpe!fe80::2%eth0!plumbline_ost_OST1"
    assert found["freshness_threshold"] == "129600"
    assert found["first_notification_delay"] == "20"
    assert "notification_options" not in found
    assert service(NODE.description)["notification_options"] == "w,u,c,r"
    assert service("plumbline agent")["freshness_threshold"] == "900"


def test_without_suspects_the_delay_is_that_of_a_dead_host() -> None:
    found = service(OST.description, paths=False, check_interval_min=7)
    assert found["first_notification_delay"] == "6"
    alone = blocks("service", SITE._replace(paths=()), paths=False)
    assert alone[-1]["service_description"] == NODE.description


@pytest.mark.parametrize(
    ("given", "action", "notes"),
    [
        ({}, None, None),
        ({"report_url": "/r.html"}, "/r.html#ost-OST1", "/r.html#ost-OST1"),
        ({"report_url": "/r.html", "notes_url": "/wiki"}, "/r.html#ost-OST1", None),
    ],
)
def test_notes_lead_to_the_report_unless_the_site_has_its_own(
    given: dict[str, str], action: str, notes: str
) -> None:
    found = service(OST.description, **given)
    assert (found.get("action_url"), found.get("notes_url")) == (action, notes)


def test_notes_of_the_site_are_in_the_template() -> None:
    (template,) = [one for one in blocks("service", notes_url="/w/$HOSTNAME$;a") if "name" in one]
    assert template["notes_url"] == r"/w/$HOSTNAME$\;a"


@pytest.mark.parametrize(
    ("states", "expected"), [(["w", "c", "r"], "c,r"), (["w", "c"], "c"), (["w"], "n"), ([], "n")]
)
def test_a_file_system_notifies_of_critical_alone(states: list[str], expected: str) -> None:
    found = service(SYSTEM.description, notification_options=states)
    assert found["notification_options"] == expected


def test_services_depend_on_their_node_and_on_the_part_that_they_share() -> None:
    found = [
        (
            one["service_description"],
            one["dependent_service_description"],
            one["notification_failure_criteria"],
        )
        for one in blocks("servicedependency")
    ]
    assert found == [
        ("plumbline agent", OST.description, "w,u,c"),
        ("plumbline agent", NODE.description, "w,u,c"),
        ("PATH switch sw1", OST.description, "w,c"),
    ]


def test_a_device_is_silent_while_a_target_on_it_alarms_with_or_without_suspects() -> None:
    for site in (LYING, LYING._replace(paths=())):
        found = [
            (one["service_description"], one["dependent_service_description"], *_criteria(one))
            for one in blocks("servicedependency", site)
            if one["service_description"] == OST.description
        ]
        assert found == [(OST.description, RAW.description, "n", "w,c")]


def _criteria(one: dict[str, str]) -> tuple[str, str]:
    return one["execution_failure_criteria"], one["notification_failure_criteria"]


def test_events_are_passive_and_stale_without_heartbeats() -> None:
    given = {"events": True, "events_service": "Log", "events_freshness_s": 60}
    assert [one["host_name"] for one in blocks("service", **given)[-2:]] == ["oss1", "client1"]
    template = next(
        one for one in blocks("service", **given) if one.get("name") == "plumbline-events"
    )
    assert (template["active_checks_enabled"], template["freshness_threshold"]) == ("0", "60")


def test_a_path_with_a_space_is_one_word_and_a_dollar_sign_no_macro() -> None:
    found = {
        one["command_name"]: one["command_line"] for one in blocks("command", library="/opt/a $b")
    }
    assert "'/opt/a $$b/checks/check_path'" in found["plumbline_path"]


def test_names_that_nagios_would_misread_are_escaped() -> None:
    odd = OST._replace(description="OST a;b", command="x!$USER1$;")
    found = blocks("service", SITE._replace(services=(odd, NODE)))
    one = next(one for one in found if one.get("service_description") == r"OST a\;b")
    assert one["check_command"] == r"plumbline_nrpe!fe80::2%eth0!x\!$$USER1$$\;"


@pytest.mark.parametrize("text", ["a\nb", "a\tb", "a\x1bb", "a\\"])
def test_what_is_not_one_line_is_refused(text: str) -> None:
    with pytest.raises(DocumentError, match="cannot be written for Nagios"):
        nagios_objects(SITE._replace(services=(OST._replace(description=text), NODE)), options())
