"""What is called is bounded, changes nothing it should not, and cannot be talked into more."""

from __future__ import annotations

from typing import Any, Optional

import pytest

from plumbline.measure.probes import probe_for
from plumbline.model.command import Within
from plumbline.model.errors import DocumentError
from plumbline.model.record import Operation
from tests.package.measure.jobs import job

WRITE = Operation.WRITE


def argv(tool: str, spec: Optional[dict[str, Any]] = None, **changes: Any) -> tuple[str, ...]:
    return probe_for(tool).command(job(tool, spec, **changes))


def test_fio_is_bounded_direct_and_never_makes_or_removes_a_file() -> None:
    write = argv("fio", operation=WRITE)
    assert {
        "--rw=write",
        "--size=67108864",
        "--bs=1048576",
        "--runtime=5",
        "--direct=1",
        "--ioengine=libaio",
        "--iodepth=8",
        "--end_fsync=1",
        "--fallocate=none",
        "--allow_file_create=0",
        "--create_on_open=1",
        "--unlink=0",
    } <= set(write)
    assert not [word for word in write if word.startswith("--rate=")]


@pytest.mark.parametrize("operation", [Operation.READ, Operation.REREAD])
def test_reading_never_writes(operation: Operation) -> None:
    read = argv("fio", operation=operation)
    assert "--rw=read" in read
    assert "--end_fsync=1" not in read


def test_one_call_at_a_time_needs_no_queue() -> None:
    assert "--ioengine=psync" in argv("fio", {"queue_depth": 1})


def test_the_rate_is_capped_when_asked() -> None:
    assert "--rate=50000000" in argv("fio", {"rate_cap_Bps": 5e7})


def test_bytes_are_rounded_down_to_whole_transfers() -> None:
    assert "--size=3145728" in argv("fio", {"bytes": 4_000_000})


@pytest.mark.parametrize("tool", ["fio", "sgp_dd"])
@pytest.mark.parametrize("spec", [{"bytes": 1000}, {"bytes": 0}, {"transfer_bytes": 0}])
def test_less_than_a_block_is_refused(tool: str, spec: dict[str, Any]) -> None:
    with pytest.raises(DocumentError, match="in transfers of"):
        argv(tool, spec)


def test_fio_works_on_the_file_that_was_opened_for_it_whatever_its_path() -> None:
    assert "--filename=/proc/self/fd/0" in argv("fio", subject="/mnt/a:b;c/$d/probe.dat")


@pytest.mark.parametrize("within", [None, Within("/mnt/a")])
def test_fio_measures_nothing_but_a_file_that_was_opened_for_it(within: Optional[Within]) -> None:
    """Its standard input is else /dev/null, which is fast."""
    with pytest.raises(DocumentError, match="is no probe file"):
        argv("fio", subject="/dev/sda", within=within)


def test_sgp_dd_reads_a_bounded_count_and_is_interrupted_in_time() -> None:
    assert argv("sgp_dd", {"queue_depth": 4}) == (
        *("timeout", "--foreground", "--signal=INT", "10", "sgp_dd", "if=/dev/sdb", "of=/dev/null"),
        *("bs=512", "bpt=2048", "count=262144", "thr=4", "iflag=direct", "time=1"),
    )
    assert "bs=4096" in argv("sgp_dd", block_size=4096)


@pytest.mark.parametrize(
    ("spec", "changes", "reason"),
    [
        ({}, {"operation": WRITE}, "only reads"),
        ({}, {"subject": "/etc/passwd"}, "not a device under /dev"),
        ({}, {"subject": "/dev/../etc/passwd"}, "not a device under /dev"),
        ({}, {"subject": "/dev/sdb of=/dev/sdc"}, "not a device under /dev"),
        ({}, {"subject": "/dev/sdb,/dev/sdc"}, "not a device under /dev"),
        ({"transfer_bytes": 1000}, {}, "no multiple of the logical block"),
        ({}, {"block_size": 0}, "no multiple of the logical block"),
        ({"rate_cap_Bps": 1e6}, {}, "cannot cap its rate"),
    ],
)
def test_there_is_no_way_to_make_sgp_dd_write(
    spec: dict[str, Any], changes: dict[str, Any], reason: str
) -> None:
    with pytest.raises(DocumentError, match=reason):
        argv("sgp_dd", spec, **changes)


def test_netperf_sends_from_the_storage_address_for_the_time_given() -> None:
    call = " ".join(argv("netperf"))
    assert call.startswith(
        "netperf -P 0 -t TCP_STREAM -H 10.77.0.11 -L 10.77.0.21 -p 12865 -l 3 -- -m 1048576 "
    )
    assert "-I" not in argv("netperf")
    assert "99,5" in argv("netperf", confidence_pct=5.0)
    assert "TCP_MAERTS" in argv("netperf", operation=Operation.RECEIVE)


def test_iperf3_has_streams_a_cap_for_each_and_both_directions() -> None:
    call = " ".join(argv("iperf3", {"queue_depth": 4, "rate_cap_Bps": 1e8}))
    assert "--parallel 4" in call
    assert "--bitrate 200000000" in call
    assert "--reverse" not in call
    assert "--reverse" in argv("iperf3", operation=Operation.RECEIVE)


@pytest.mark.parametrize("tool", ["netperf", "iperf3"])
@pytest.mark.parametrize(
    "changes",
    [
        {"subject": "-h"},
        {"subject": "10.0.0.1 -x"},
        {"subject": ""},
        {"own_address": "--"},
        {"port": 0},
        {"port": 65536},
    ],
)
def test_an_address_or_port_that_is_none_is_refused(tool: str, changes: dict[str, Any]) -> None:
    with pytest.raises(DocumentError, match="is not"):
        argv(tool, **changes)


@pytest.mark.parametrize(
    ("spec", "reason"), [({"queue_depth": 2}, "one stream"), ({"rate_cap_Bps": 1e6}, "cannot cap")]
)
def test_netperf_is_not_asked_for_what_it_cannot_do(spec: dict[str, Any], reason: str) -> None:
    with pytest.raises(DocumentError, match=reason):
        argv("netperf", spec)


@pytest.mark.parametrize("tool", ["fio", "sgp_dd", "netperf", "iperf3"])
def test_a_tool_is_given_more_time_than_it_needs_before_it_is_stuck(tool: str) -> None:
    sound = job(tool)
    assert probe_for(tool).limit_s(sound) > sound.spec.seconds
