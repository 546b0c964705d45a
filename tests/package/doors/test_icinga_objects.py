"""Each kind of object for Icinga 2, and the escaping of its language."""

from __future__ import annotations

import re
from typing import Any

import pytest

from plumbline.doors.icinga import icinga_objects
from plumbline.model.errors import DocumentError
from tests.package.doors.objects_site import NODE, OST, SITE, options


def text(site: Any = SITE, **changes: Any) -> str:
    return icinga_objects(site, options(**changes))["plumbline.conf"]


def block(head: str, site: Any = SITE, **changes: Any) -> str:
    """Return the body of one object."""
    match = re.search(rf"^{re.escape(head)} \{{\n(.*?)^\}}$", text(site, **changes), re.M | re.S)
    assert match, head
    return match[1]


def test_a_host_has_its_address_and_its_parents_are_dependencies() -> None:
    assert 'address = "10.0.0.1"' in block('object Host "oss1"')
    assert 'parent_host_name = "router1"' in block('object Dependency "plumbline parent router1"')
    assert 'check_command = "dummy"' in block('object Host "lab"')


def test_a_suspect_disables_no_checks_and_silences_nothing_while_it_is_unknown() -> None:
    path = block('object Dependency "plumbline PATH switch sw1"')
    assert "states = [ OK, Unknown ]" in path
    assert "disable_checks = false" in path


def test_site_notes_use_icinga_macros() -> None:
    body = block('template Service "plumbline-service"', notes_url="/w/$HOSTNAME$/$SERVICEDESC$")
    assert 'notes_url = "/w/$host.name$/$service.name$"' in body


def test_links_lead_to_the_report() -> None:
    body = block(f'object Service "{OST.description}"', report_url="/r.html")
    assert 'action_url = "/r.html#ost-OST1"' in body
    assert 'notes_url = "/r.html#ost-OST1"' in body


@pytest.mark.parametrize(
    ("states", "expected"),
    [(["w", "c", "r"], "[ Critical, OK ]"), (["c"], "[ Critical ]")],
)
def test_a_file_system_notifies_only_of_critical(states: list[str], expected: str) -> None:
    body = block(
        'apply Notification "plumbline file system" to Service', notification_options=states
    )
    assert f"states = {expected}" in body


def test_a_service_without_notification_states_has_no_notification() -> None:
    output = text(notification_options=["r"], node_notification_options=["c"])
    assert re.findall(r'Notification "plumbline (.*?)" to Service', output) == ["node", "probes"]


def test_text_is_quoted_and_dollar_signs_are_escaped() -> None:
    odd = OST._replace(description='OST "a"\\', command="$x$")
    body = block(r'object Service "OST \"a\"\\"', SITE._replace(services=(odd, NODE)))
    assert 'vars.nrpe_command = "$$x$$"' in body


def test_a_line_break_is_refused() -> None:
    odd = OST._replace(description="a\nb")
    with pytest.raises(DocumentError, match="cannot be written for Icinga"):
        text(SITE._replace(services=(odd, NODE)))
