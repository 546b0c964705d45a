"""Times of a node's requests, from files of its counters at two times."""

from __future__ import annotations

from pathlib import Path
from typing import Callable, Optional, Union

import pytest

from plumbline.model.codec import read_document, write
from plumbline.parts.facts.request_times import (
    DiskTime,
    RequestTimes,
    TargetTimes,
    Timed,
    request_times,
)
from tests.package.observe.lustre_server import put
from tests.package.parts.facts.request_counters import (
    HEAD,
    OST,
    Load,
    brw_stats,
    look,
    put_captured,
    put_client,
    put_server,
)

# a child that reads files touches no lock of another thread
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")

DEBUG = "sys/kernel/debug/lustre"


@pytest.fixture
def roots(tmp_path: Path) -> tuple[Path, Path]:
    """Return the folders of a host's files at two times."""
    return tmp_path / "before", tmp_path / "after"


def times_of(roots: tuple[Path, Path]) -> RequestTimes:
    return request_times("oss1", 10.0, *map(look, roots))


def of(times: RequestTimes, operation: str, target: str = OST) -> TargetTimes:
    (row,) = (row for row in times.targets if (row.target, row.operation) == (target, operation))
    return row


def mean_ms(times: Optional[Timed]) -> tuple[int, float]:
    """Return the requests and their mean in milliseconds."""
    assert isinstance(times, Timed)
    assert times.mean_s is not None
    return times.requests, round(times.mean_s * 1e3, 3)


def test_counters_of_a_real_server_and_client_give_the_times_of_their_requests(
    roots: tuple[Path, Path],
) -> None:
    put_captured(roots[0], empty=True)
    put_captured(roots[1])
    times = times_of(roots)
    read, written = of(times, "read"), of(times, "write")
    assert mean_ms(read.client) == (1816, 4.255)
    assert mean_ms(written.client) == (887, 12.724)
    assert mean_ms(read.served) == (1816, 1.862)
    # before the commit, so no time of the disk
    assert written.served == Timed(887, unknown="obdfilter counts writes before their commit")
    assert isinstance(read.disk, DiskTime)
    assert read.disk.ios == 1816
    assert read.disk.least_s < 3.380650 < read.disk.most_s
    (queue,) = times.queues
    assert queue.waited.requests == 2709
    assert queue.waited.mean_s == pytest.approx(0.001076, abs=1e-6)
    assert (queue.waiting, queue.active) == pytest.approx((17 / 2709, 4886 / 2709))
    assert queue.handled["read"].mean_s == pytest.approx(0.002302, abs=1e-6)
    assert queue.handled["write"].mean_s == pytest.approx(0.011303, abs=1e-6)


def test_times_survive_their_document(roots: tuple[Path, Path]) -> None:
    put_captured(roots[0], empty=True)
    put_captured(roots[1])
    times = times_of(roots)
    assert read_document(RequestTimes, write(times)) == times


def test_only_what_was_counted_in_between_counts(roots: tuple[Path, Path]) -> None:
    put_server(roots[0], {OST: Load(requests=100, queue=1, handled=2)})
    put_server(roots[1], {OST: Load(requests=400, queue=10, handled=20, disk=15)})
    times = times_of(roots)
    (queue,) = times.queues
    assert queue.waited.mean_s == pytest.approx((400 * 0.010 - 100 * 0.001) / 300)
    assert queue.handled["read"].mean_s == pytest.approx((400 * 0.020 - 100 * 0.002) / 300)
    # those in the bucket of 1 ms are gone
    assert of(times, "read").disk == DiskTime(unknown="its counters began again")


def test_an_idle_target_has_no_row(roots: tuple[Path, Path]) -> None:
    for root in roots:
        put_server(root, {OST: Load()})
        put_client(root, {OST: Load()})
    assert times_of(roots).targets == ()


@pytest.mark.parametrize(
    ("file", "part"),
    [
        (f"osc/{OST}-osc-ffff888126c79000/stats", lambda times: of(times, "read").client),
        (f"obdfilter/{OST}/stats", lambda times: of(times, "read").served),
        (f"osd-ldiskfs/{OST}/brw_stats", lambda times: of(times, "read").disk),
        ("ost/OSS/ost_io/stats", lambda times: times.queues[0].waited),
    ],
)
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("restarted", "its counters began again"),
        ("new", "its counters could not be read at the beginning"),
        ("gone", "its counters could not be read at the end"),
        ("damaged", "its counters could not be read at the end"),
    ],
)
def test_a_counter_that_began_again_or_cannot_be_read_is_not_known(
    roots: tuple[Path, Path],
    file: str,
    part: Callable[[RequestTimes], Union[Timed, DiskTime]],
    change: str,
    reason: str,
) -> None:
    put_captured(roots[0], empty=True)
    put_captured(roots[1])
    before, after = (root / DEBUG / file for root in roots)
    if change == "restarted":
        put(before, _grown(after.read_text(encoding="utf-8")))
    elif change == "new":
        before.unlink()
    elif change == "gone":
        after.unlink()
    else:
        put(after, "snapshot_time 1.2 secs.nsecs\nost_read x samples [usecs] 1 1 z 1\n")
    unknown = part(times_of(roots))
    assert unknown == type(unknown)(unknown=reason)


def _grown(text: str) -> str:
    """Return a file whose counts were higher than in ``text``."""
    return "".join(f"{_higher(line.split()) or line}\n" for line in text.splitlines())


def _higher(words: list[str]) -> str:
    if "samples" in words:
        return " ".join([words[0], f"9{words[1]}", *words[2:-2], f"9{words[-2]}", words[-1]])
    if "|" in words and words[0].endswith(":"):
        return f"{words[0]}\t 9{words[1]} 1 1 | 9{words[-3]} 1 1"
    return ""


def test_a_release_that_does_not_time_reads_leaves_them_unknown(roots: tuple[Path, Path]) -> None:
    # 2.12: obdfilter has lines of bytes alone
    for root, requests in zip(roots, (0, 50)):
        put_server(root, {OST: Load(requests=100 + requests)})
        line = f"read_bytes {100 + requests} samples [bytes] 4096 4096 {4096 * (100 + requests)}\n"
        put(root / f"{DEBUG}/obdfilter/{OST}/stats", HEAD + line)
        put(root / f"{DEBUG}/osc/{OST}-osc-ffff888126c79000/stats", HEAD + line)
    row = of(times_of(roots), "read")
    untimed = "this release does not time them"
    assert row.served == Timed(50, unknown=untimed)
    assert row.client == Timed(unknown=untimed)


def test_zfs_does_not_time_writes(roots: tuple[Path, Path]) -> None:
    for root, requests in zip(roots, (100, 200)):
        put_server(root, {OST: Load(requests=requests)}, "write")
        put(root / f"{DEBUG}/osd-zfs/{OST}/brw_stats", brw_stats(Load(requests=0), "write"))
        (root / f"{DEBUG}/osd-ldiskfs/{OST}/brw_stats").unlink()
    row = of(times_of(roots), "write")
    assert row.disk == DiskTime(unknown="ZFS does not time writes")


def test_all_services_of_a_metadata_server_are_one_queue(roots: tuple[Path, Path]) -> None:
    put_captured(roots[0], "lustre/lctl_mds_stats.txt", empty=True)
    put_captured(roots[1], "lustre/lctl_mds_stats.txt")
    (queue,) = times_of(roots).queues
    assert queue.kind == "mds"
    assert queue.waited.requests == 2345 + 1044
    assert queue.waited.mean_s == pytest.approx((2.186913 + 1.038950) / 3389)
    assert queue.handled == {}
