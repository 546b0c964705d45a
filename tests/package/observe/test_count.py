"""A look at all that Lustre counts, on files that lie, hang, vanish or may not be read."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from plumbline.observe.bounded_reads import BoundedReads
from plumbline.observe.command import SystemClock
from plumbline.observe.counters import Count
from plumbline.observe.counting import Counters
from tests.package.observe.lustre_server import make_server, put

# a child that reads files touches no lock of another thread
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")

OST1 = "sys/kernel/debug/lustre/obdfilter/lustre-OST0001"


def server(root: Path, deadline_s: float = 30.0) -> Counters:
    make_server(root, osts=3)
    clock = SystemClock()
    return Counters(BoundedReads(clock, deadline_s), clock, str(root))


def values(counts: tuple[Count, ...], name: str) -> dict[str, float]:
    """Return what a metric says, by the values of its labels."""
    return {
        " ".join(value for _, value in one.labels): one.value
        for one in counts
        if one.metric.name == name
    }


def moved(counts: tuple[Count, ...]) -> list[str]:
    """Return the targets whose bytes are known."""
    return sorted(values(counts, "plumbline_lustre_bytes_total"))


BOTH = ["obdfilter lustre-OST000{} read", "obdfilter lustre-OST000{} write"]


def of(*targets: int) -> list[str]:
    return [words.format(target) for target in targets for words in BOTH]


def test_a_server_tells_of_each_target_and_not_of_its_own_connections(tmp_path: Path) -> None:
    looked = server(tmp_path).look()
    assert looked.troubles == ()
    assert moved(looked.counts) == of(0, 1, 2)
    unreadable = values(looked.counts, "plumbline_lustre_unreadable_files")
    assert unreadable["denied"] == unreadable["hung"] == 0
    assert values(looked.counts, "plumbline_lustre_read_timeouts_total") == {}


@pytest.mark.slow
def test_a_target_that_hangs_blocks_no_other_and_comes_back(tmp_path: Path) -> None:
    # what is well answers within this on the slowest machine
    counters = server(tmp_path, deadline_s=5.0)
    (tmp_path / OST1 / "stats").unlink()
    # who opens it waits for somebody who writes
    os.mkfifo(tmp_path / OST1 / "stats")
    looked = counters.look()
    assert moved(looked.counts) == of(0, 2)
    words = "\n".join(looked.troubles)
    assert len(looked.troubles) == 2, words
    assert f"/{OST1}/stats gave no answer in time" in words
    assert f"/{OST1}/recovery_status is left out" in words
    timeouts = values(looked.counts, "plumbline_lustre_read_timeouts_total")
    assert timeouts == {f"/{OST1}/stats": 1}
    (tmp_path / OST1 / "stats").unlink()
    make_server(tmp_path, osts=3)
    again = counters.look()
    assert again.troubles == ()
    assert moved(again.counts) == of(0, 1, 2)
    assert values(again.counts, "plumbline_lustre_read_timeouts_total") == timeouts


def test_a_target_that_went_to_another_server_is_no_trouble(tmp_path: Path) -> None:
    counters = server(tmp_path)
    counters.look()
    shutil.rmtree(tmp_path / OST1)
    looked = counters.look()
    assert looked.troubles == ()
    assert moved(looked.counts) == of(0, 2)


def test_a_file_that_is_not_understood_leaves_the_others(tmp_path: Path) -> None:
    counters = server(tmp_path)
    put(tmp_path / OST1 / "stats", "snapshot_time 1\nread_bytes 1 samples [bytes] 1 1 9e99\n")
    looked = counters.look()
    assert moved(looked.counts) == of(0, 2)
    (sentence,) = looked.troubles
    assert f"/{OST1}/stats" in sentence
    unreadable = values(looked.counts, "plumbline_lustre_unreadable_files")
    assert unreadable["not_understood"] == 1


def test_a_host_without_lustre_tells_of_itself_alone(tmp_path: Path) -> None:
    clock = SystemClock()
    looked = Counters(BoundedReads(clock), clock, str(tmp_path)).look()
    assert looked.troubles == ()
    assert {one.metric.name for one in looked.counts} == {
        "plumbline_lustre_looked_timestamp_seconds",
        "plumbline_lustre_unreadable_files",
    }


def children() -> set[str]:
    """Return the processes that this one has begun and not waited for."""
    lists = Path("/proc/self/task").glob("*/children")
    return {pid for path in lists for pid in path.read_text().split()}


def test_no_child_is_left(tmp_path: Path) -> None:
    before = children()
    server(tmp_path).look()
    assert children() <= before


def test_a_file_without_an_end_is_cut(tmp_path: Path) -> None:
    (answer,) = BoundedReads(SystemClock(), 10).texts(["/dev/zero"])
    assert (len(answer.text), answer.trouble) == (1 << 20, "")
