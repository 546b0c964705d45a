"""Lustre's counters as metrics, and rates between two looks."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline.cli.counters import _Live
from plumbline.model.errors import ToolError
from plumbline.model.record import Operation
from plumbline.observe.bounded_reads import BoundedReads
from plumbline.observe.command import SystemClock
from plumbline.observe.counters import (
    BYTES,
    OPERATIONS,
    RECOVERY,
    SECONDS,
    Count,
    Labels,
    Parse,
    Rates,
    buffers,
    disk_io,
    interfaces,
    lnet_stats,
    rates,
    recovery,
    stats,
)
from plumbline.observe.counting import Counters
from plumbline.observe.lustre_output import job_requests, job_stats, lustre_stats
from tests.package.observe.lustre_server import OST_STATS, make_server, put, text
from tests.project.repository import ROOT

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


# --- Rates between two looks; what is not known is no rate


def ost(name: str, read: float, write: float, number: float, took: float) -> list[Count]:
    device: Labels = (("source", "obdfilter"), ("target", name))
    of_read, of_write = (*device, ("operation", "read")), (*device, ("operation", "write"))
    return [
        Count(BYTES, of_read, read),
        Count(BYTES, of_write, write),
        Count(OPERATIONS, of_read, number),
        Count(OPERATIONS, (*device, ("operation", "statfs")), 7),
        Count(SECONDS, of_read, took),
    ]


BEFORE = [*ost("a", 100, 50, 10, 2), *ost("b", 0, 0, 0, 0)]


def test_the_busiest_comes_first_and_the_rest_follows() -> None:
    after = [*ost("b", 20, 0, 4, 1), *ost("a", 1100, 50, 20, 7)]
    assert rates(BEFORE, after, 10) == [
        Rates("obdfilter", "a", 100.0, 0.0, 1.0, 0.5, ""),
        Rates("obdfilter", "b", 2.0, 0.0, 0.4, 0.25, ""),
    ]


@pytest.mark.parametrize(
    ("after", "seconds", "expected"),
    [
        (ost("a", 100, 50, 10, 2), 5, Rates("obdfilter", "a", 0.0, 0.0, 0.0, None, "")),
        (ost("a", 5, 60, 1, 0.1), 10, Rates("obdfilter", "a", None, 1.0, None, None, "")),
        (ost("new", 5, 5, 1, 1), 10, Rates("obdfilter", "new", None, None, None, None, "")),
        (ost("a", 200, 60, 20, 3), 0, Rates("obdfilter", "a", None, None, None, 0.1, "")),
    ],
    ids=["idle", "began again", "came from another server", "no time"],
)
def test_a_rate_that_is_not_known_is_none(
    after: list[Count], seconds: float, expected: Rates
) -> None:
    assert rates(BEFORE, after, seconds) == [expected]


@pytest.mark.parametrize(
    ("table", "operations", "seconds", "timed"),
    [
        ("osc_stats.txt", 326, 13.309888, 326),
        ("mdc_stats.txt", 3337, 37.047254, 3337),
        ("md_stats_rename.txt", 5071, 3.792108, 5071),
        # an ioctl has a number without a time; 44 times from close to open are no operations
        ("llite_stats.txt", 7274, 61.97113, 6408),
    ],
)
def test_a_request_counts_once_though_lustre_has_several_lines_for_it(
    table: str, operations: int, seconds: float, timed: int
) -> None:
    device: Labels = (("source", "osc"), ("target", "a"))
    after = list(stats(text(table), device, table))
    (rate,) = rates([count._replace(value=0.0) for count in after], after, 1.0)
    assert rate.operations_per_s == operations
    assert rate.latency_s == pytest.approx(seconds / timed)


def test_a_client_names_its_mount_and_a_target_its_recovery() -> None:
    client: Labels = (("source", "osc"), ("target", "a"), ("mount", "ffff00"))
    server: Labels = (("source", "obdfilter"), ("target", "a"))
    found = rates(
        [],
        [
            Count(BYTES, (*client, ("operation", "read")), 1),
            Count(RECOVERY, (*server, ("status", "recovering")), 1),
        ],
        1,
    )
    assert [(one.name, one.recovery) for one in found] == [("a (ffff00)", ""), ("a", "recovering")]


def test_live_rates_of_a_server_are_shown_from_the_second_look_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_server(tmp_path, 2)
    clock = SystemClock()
    live = _Live(Counters(BoundedReads(clock), clock, str(tmp_path)), clock)
    assert live(()) == ()
    assert capsys.readouterr().out == ""
    line = next(one for one in OST_STATS.splitlines() if one.startswith("write_bytes"))
    words = line.split()
    words[6] = str(int(words[6]) + 10**9)
    stats = tmp_path / "sys/kernel/debug/lustre/obdfilter/lustre-OST0001/stats"
    put(stats, OST_STATS.replace(line, " ".join(words)))
    live(())
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].split()[:4] == ["source", "target", "read", "write"]
    assert shown[1].split()[:4] == ["obdfilter", "lustre-OST0001", "0", "B/s"]
    assert [row.split()[:2] for row in shown[2:4]] == [
        ["obdfilter", "lustre-OST0000"],
        ["mdt", "lustre-MDT0000"],
    ]


# --- What a Lustre server counts, as a 2.17 printed it: bytes of a target, and of its jobs


DATA = ROOT / "tests" / "data" / "lustre"
STATS = (DATA / "lctl_obdfilter_n_stats.txt").read_text(encoding="utf-8")
OST0 = "snapshot_time" + STATS.split("snapshot_time")[1]
JOBS = (DATA / "lctl_job_stats_n.txt").read_text(encoding="utf-8")
MDT = (DATA / "mdt_job_stats.txt").read_text(encoding="utf-8")
READ, WRITE = Operation.READ, Operation.WRITE


def test_a_target_has_the_sums_of_its_bytes() -> None:
    assert lustre_stats(OST0, "stats") == {READ: 478150656, WRITE: 747634688}


def test_a_target_that_has_moved_nothing_yet_stands_at_zero() -> None:
    fresh = "\n".join(line for line in OST0.splitlines() if "[bytes]" not in line)
    assert lustre_stats(fresh, "stats") == {READ: 0, WRITE: 0}


@pytest.mark.parametrize(
    "text",
    ["", "lctl: error", "snapshot_time 1\nread_bytes 2 samples [bytes] 1 2"],
    ids=["empty", "an error", "without a sum"],
)
def test_text_that_is_no_table_of_a_target_is_said(text: str) -> None:
    with pytest.raises(ToolError, match="stats is not understood"):
        lustre_stats(text, "stats")


def test_a_job_has_its_bytes_and_not_its_microseconds() -> None:
    assert job_stats(JOBS, "job_stats") == {
        "alpha.0": {READ: 0, WRITE: 67108864},
        "touch.33": {READ: 0, WRITE: 0},
    }


def test_odd_names_of_jobs_are_those_that_lustre_prints() -> None:
    text = (DATA / "lctl_job_stats_odd.txt").read_text(encoding="utf-8", errors="replace")
    ost, _, _ = text.partition("=\n")[2].partition("mdt.")
    found = job_stats(ost, "job_stats")
    assert len(found) == 9
    assert found[r"my\x20job.0"] == {READ: 0, WRITE: 262144}
    assert all('"' not in name and "{" not in name for name in found)


def test_a_target_without_jobs_has_none() -> None:
    assert job_stats("job_stats:", "job_stats") == {}


def test_releases_before_2_12_call_the_bytes_read_and_write() -> None:
    old = (
        "job_stats:\n- job_id:          4711\n  snapshot_time:   1487\n"
        "  read:            { samples: 2, unit: bytes, min: 4096, max: 4096, sum: 8192 }\n"
        "  write:           { samples: 0, unit: bytes, min: 0, max: 0, sum: 0 }\n"
        "  setattr:         { samples: 0, unit: reqs }\n"
    )
    assert job_stats(old, "job_stats") == {"4711": {READ: 8192, WRITE: 0}}


@pytest.mark.parametrize(
    "text",
    ["", "lctl: error", "job_stats:\n- job_id: a\n  read_bytes: { samples: 1, unit: bytes }"],
    ids=["empty", "an error", "without a sum"],
)
def test_text_that_is_no_list_of_jobs_is_said(text: str) -> None:
    with pytest.raises(ToolError, match="job_stats"):
        job_stats(text, "job_stats")


def test_a_job_has_its_requests_to_a_metadata_target() -> None:
    once = {"open": 1, "close": 1, "getxattr": 1, "sync": 1}
    assert job_requests(MDT, "job_stats") == {
        "alpha.0": once,
        "beta.33": {**once, "getattr": 1},
    }


def test_odd_names_of_jobs_and_of_requests_do_no_harm() -> None:
    text = (DATA / "lctl_job_stats_odd.txt").read_text(encoding="utf-8", errors="replace")
    _, _, mdt = text.partition("MDT0000.job_stats=\n")
    assert len(job_requests(mdt, "job_stats")) > 9
    hostile = (
        "job_stats:\n- job_id: a\n  x\x1b[31m: { samples: 7, unit: usecs }\n  y: { samples: 8 }"
    )
    assert job_requests(hostile, "job_stats") == {"a": {"y": 8}}


@pytest.mark.parametrize(
    "text", ["", "lctl: error", "job_stats:\n- job_id: a\n  open: { samples: many, unit: usecs }"]
)
def test_text_that_is_no_list_of_requests_is_said(text: str) -> None:
    with pytest.raises(ToolError, match="job_stats"):
        job_requests(text, "job_stats")
