"""Commands for Nagios, one per line."""

from __future__ import annotations

from ansible_collections.hpcops.plumbline.plugins.filter.forced_checks import forced_checks


def test_each_service_has_a_command_with_the_time() -> None:
    checks = [("oss2", "OST scratch-OST0003 write read"), ("client1", "plumbline agent")]
    assert forced_checks(checks, "1700000000") == [
        "[1700000000] SCHEDULE_FORCED_SVC_CHECK;oss2;OST scratch-OST0003 write read;1700000000",
        "[1700000000] SCHEDULE_FORCED_SVC_CHECK;client1;plumbline agent;1700000000",
    ]
