"""What Lustre printed becomes metrics; what it never prints is refused."""

from __future__ import annotations

import pytest

from plumbline.model.errors import ToolError
from plumbline.observe.counters import (
    Count,
    Parse,
    buffers,
    disk_io,
    interfaces,
    lnet_stats,
    recovery,
    stats,
)
from tests.package.observe.lustre_server import OST_STATS, text

ROUTER = """\
pages count credits     min
    0  1024    1024    1000
    0  1024    1000     -12
  256   256     256     255
"""


def counted(parse: Parse, said: str) -> dict[tuple[str, ...], float]:
    """Return values by the name of the metric, without plumbline's, and the labels' values."""
    found: list[Count] = list(parse(said, (), "path"))
    named = {
        (one.metric.name.partition("_")[2], *(value for _, value in one.labels)): one.value
        for one in found
    }
    assert len(named) == len(found)
    return named


@pytest.mark.parametrize(
    ("parse", "said", "expected"),
    [
        (
            stats,
            OST_STATS,
            {
                ("lustre_bytes_total", "read"): 478150656,
                ("lustre_bytes_total", "write"): 747634688,
                ("lustre_operations_total", "write"): 179,
                ("lustre_operation_seconds_total", "read"): 6.682744,
                ("lustre_operations_total", "punch"): 3,
            },
        ),
        (
            stats,
            text("md_stats.txt"),
            {
                ("lustre_operations_total", "getattr"): 102,
                ("lustre_operation_seconds_total", "open"): 0.289598,
            },
        ),
        (stats, text("osc_stats.txt"), {("lustre_bytes_total", "write"): 749731840}),
        (
            stats,
            text("llite_stats.txt"),
            {("lustre_operations_total", "read"): 1824, ("lustre_operations_total", "ioctl"): 866},
        ),
        (
            stats,
            "snapshot_time 1.2 secs.nsecs\nread_bytes 3 samples [bytes] 1 2 5\n",
            {("lustre_operations_total", "read"): 3, ("lustre_bytes_total", "read"): 5},
        ),
        (
            disk_io,
            text("brw_stats.txt"),
            {
                ("lustre_disk_io_seconds", "read", "0.001"): 1663,
                ("lustre_disk_io_seconds", "read", "0.004"): 1663 + 77 + 51,
                ("lustre_disk_io_seconds", "write", "16.384"): 791 + 38 + 32 + 23 + 3,
                ("lustre_disk_io_seconds", "read"): 1663 + 77 + 51 + 23 + 1 + 1,
                ("lustre_disk_io_bytes", "write", "4096.0"): 1361,
                ("lustre_disk_io_bytes", "read", "+Inf"): 3189 + 24 + 28,
            },
        ),
        (
            recovery,
            text("recovery_status.txt"),
            {
                ("lustre_recovery_status", "recovering"): 1,
                ("lustre_recovery_remaining_seconds",): 150,
                ("lustre_recovery_evicted_clients",): 0,
            },
        ),
        (
            lnet_stats,
            text("lnet_stats.txt"),
            {
                ("lnet_messages_total", "send"): 174924,
                ("lnet_bytes_total", "receive"): 30219886680,
                ("lnet_bytes_total", "drop"): 0,
                ("lnet_errors_total",): 0,
            },
        ),
        (
            interfaces,
            text("lnet_nis.txt"),
            {
                ("lnet_interface_up", "10.0.2.15@tcp"): 1,
                ("lnet_interface_credits", "10.0.2.15@tcp"): 256,
                ("lnet_interface_credits_lowest", "10.0.2.15@tcp"): 248,
            },
        ),
        (
            buffers,
            ROUTER,
            {
                ("lnet_router_buffers", "0"): 2048,
                ("lnet_router_buffer_credits", "0"): 2024,
                ("lnet_router_buffer_credits_lowest", "0"): -12,
                ("lnet_router_buffers", "256"): 256,
            },
        ),
    ],
)
def test_what_lustre_counts_has_a_name(
    parse: Parse, said: str, expected: dict[tuple[str, ...], float]
) -> None:
    found = counted(parse, said)
    assert {key: found.get(key) for key in expected} == expected


def test_a_host_that_does_not_route_has_no_buffers() -> None:
    assert counted(buffers, text("lnet_buffers_off.txt")) == {}


def test_a_bucket_does_not_come_and_go() -> None:
    empty = "\n".join(line for line in text("brw_stats.txt").split("\n") if not line[:1].isdigit())
    assert counted(disk_io, empty).keys() == counted(disk_io, text("brw_stats.txt")).keys()


def test_requests_under_way_are_no_operations() -> None:
    assert ("lustre_operations_total", "req_active") not in counted(stats, text("osc_stats.txt"))


@pytest.mark.parametrize("parse", [stats, disk_io, recovery, lnet_stats, interfaces, buffers])
@pytest.mark.parametrize("said", ["", "Permission denied", "snapshot_time 1\nread_bytes what\n"])
def test_what_is_not_understood_is_refused_with_its_path(parse: Parse, said: str) -> None:
    with pytest.raises(ToolError, match="path is not understood"):
        list(parse(said, (), "path"))
