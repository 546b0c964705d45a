"""Each kind of object for Icinga 2, and what its language would misread."""

from __future__ import annotations

import re
from typing import Any

import pytest

from plumbline.doors.icinga import icinga_objects
from plumbline.model.errors import DocumentError
from tests.package.doors.objects_site import LYING, NODE, OST, RAW, SITE, options


def text(site: Any = SITE, **given: Any) -> str:
    return icinga_objects(site, options(**given))["plumbline.conf"]


def block(head: str, site: Any = SITE, **given: Any) -> str:
    """Return what one object sets."""
    found = re.search(rf"^{re.escape(head)} \{{\n(.*?)^\}}$", text(site, **given), re.M | re.S)
    assert found, head
    return found[1]


def test_a_host_has_its_address_and_its_parents_are_dependencies() -> None:
    assert 'address = "10.0.0.1"' in block('object Host "oss1"')
    assert 'parent_host_name = "router1"' in block('object Dependency "plumbline parent router1"')
    assert 'check_command = "dummy"' in block('object Host "lab"')


def test_dependencies_stop_no_check_and_unknown_suspects_silence_nothing() -> None:
    assert "states = [ OK ]" in block('object Dependency "plumbline node client1"')
    path = block('object Dependency "plumbline PATH switch sw1"')
    assert "states = [ OK, Unknown ]" in path
    assert "disable_checks = false" in path


def test_a_device_is_silent_while_a_target_on_it_alarms() -> None:
    found = block(f'object Dependency "plumbline {OST.description}"', LYING)
    assert f'parent_service_name = "{OST.description}"' in found
    assert f'child_service_name = "{RAW.description}"' in found
    assert "states = [ OK, Unknown ]" in found
    assert "disable_checks = false" in found


def test_notes_of_the_site_have_the_macros_of_icinga() -> None:
    found = block('template Service "plumbline-service"', notes_url="/w/$HOSTNAME$/$SERVICEDESC$")
    assert 'notes_url = "/w/$host.name$/$service.name$"' in found


def test_links_lead_to_the_report() -> None:
    found = block(f'object Service "{OST.description}"', report_url="/r.html")
    assert 'action_url = "/r.html#ost-OST1"' in found
    assert 'notes_url = "/r.html#ost-OST1"' in found


@pytest.mark.parametrize(
    ("states", "expected"),
    [(["w", "c", "r"], "[ Critical, OK ]"), (["c"], "[ Critical ]")],
)
def test_a_file_system_notifies_of_critical_alone(states: list[str], expected: str) -> None:
    found = block(
        'apply Notification "plumbline file system" to Service', notification_options=states
    )
    assert f"states = {expected}" in found


def test_what_notifies_of_nothing_has_no_notification() -> None:
    found = text(notification_options=["r"], node_notification_options=["c"])
    assert re.findall(r'Notification "plumbline (.*?)" to Service', found) == ["node", "probes"]


def test_text_is_quoted_and_a_dollar_sign_is_no_macro() -> None:
    odd = OST._replace(description='OST "a"\\', command="$x$")
    found = block(r'object Service "OST \"a\"\\"', SITE._replace(services=(odd, NODE)))
    assert 'vars.nrpe_command = "$$x$$"' in found


def test_a_line_break_is_refused() -> None:
    odd = OST._replace(description="a\nb")
    with pytest.raises(DocumentError, match="cannot be written for Icinga"):
        text(SITE._replace(services=(odd, NODE)))
