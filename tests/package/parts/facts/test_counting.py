"""A reading of all counters of a host, with files that hang or are refused."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Mapping, Optional

import pytest

from plumbline.model.command import Completed
from plumbline.observe.command import SystemClock, SystemRunner
from plumbline.parts.facts.counters import Count, CountersLook
from plumbline.parts.facts.counting import BoundedReads, Counters, LnetHealth
from tests.package.fakes import HANGING, Answer, FakeRunner, answer
from tests.package.observe.lustre_server import make_server, put
from tests.package.recorded import data

# a child that reads files touches no lock of another thread
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")

OST1 = "sys/kernel/debug/lustre/obdfilter/lustre-OST0001"


def server(root: Path, deadline_s: float = 30.0) -> Counters:
    make_server(root, osts=3)
    clock = SystemClock()
    return Counters(BoundedReads(deadline_s), clock, str(root))


def values(counts: tuple[Count, ...], name: str) -> dict[str, float]:
    """Return the values of a metric by its label values."""
    return {
        " ".join(value for _, value in count.labels): count.value
        for count in counts
        if count.metric.name == name
    }


def moved(counts: tuple[Count, ...]) -> list[str]:
    """Return the targets with counted bytes."""
    return sorted(values(counts, "plumbline_lustre_bytes_total"))


BOTH = ["obdfilter lustre-OST000{} read", "obdfilter lustre-OST000{} write"]


def of(*targets: int) -> list[str]:
    return [words.format(target) for target in targets for words in BOTH]


def test_a_server_counts_its_targets_and_not_its_own_connections(tmp_path: Path) -> None:
    looked = server(tmp_path).look()
    assert looked.troubles == ()
    assert moved(looked.counts) == of(0, 1, 2)
    unreadable = values(looked.counts, "plumbline_lustre_unreadable_files")
    assert unreadable["denied"] == unreadable["hung"] == 0
    assert values(looked.counts, "plumbline_lustre_read_timeouts_total") == {}


@pytest.mark.slow
def test_a_hung_target_blocks_no_other_and_comes_back(tmp_path: Path) -> None:
    # healthy files answer within this time on the slowest machine
    counters = server(tmp_path, deadline_s=5.0)
    (tmp_path / OST1 / "stats").unlink()
    # opening it blocks until a writer comes
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


def test_a_target_moved_to_another_server_is_no_trouble(tmp_path: Path) -> None:
    counters = server(tmp_path)
    counters.look()
    shutil.rmtree(tmp_path / OST1)
    looked = counters.look()
    assert looked.troubles == ()
    assert moved(looked.counts) == of(0, 2)


def test_a_file_of_unknown_form_does_not_hide_the_others(tmp_path: Path) -> None:
    counters = server(tmp_path)
    put(tmp_path / OST1 / "stats", "snapshot_time 1\nread_bytes 1 samples [bytes] 1 1 9e99\n")
    looked = counters.look()
    assert moved(looked.counts) == of(0, 2)
    (sentence,) = looked.troubles
    assert f"/{OST1}/stats" in sentence
    unreadable = values(looked.counts, "plumbline_lustre_unreadable_files")
    assert unreadable["not_understood"] == 1


def test_a_host_without_lustre_counts_only_itself(tmp_path: Path) -> None:
    clock = SystemClock()
    looked = Counters(BoundedReads(), clock, str(tmp_path)).look()
    assert looked.troubles == ()
    assert {count.metric.name for count in looked.counts} == {
        "plumbline_lustre_looked_timestamp_seconds",
        "plumbline_lustre_unreadable_files",
    }


def children() -> set[str]:
    """Return the child processes that were not waited for."""
    lists = Path("/proc/self/task").glob("*/children")
    return {pid for path in lists for pid in path.read_text().split()}


def test_no_child_process_is_left(tmp_path: Path) -> None:
    before = children()
    server(tmp_path).look()
    assert children() <= before


def test_an_endless_file_is_cut(tmp_path: Path) -> None:
    (answer,) = BoundedReads(10).texts(["/dev/zero"])
    assert (len(answer.text), answer.trouble) == (1 << 20, "")


# --- lnetctl runs once a minute, never while another hangs; a refusal is reported


HEALTHY: Mapping[str, Answer] = {
    "lnetctl net": data("lustre/lnetctl_net_show.txt"),
    "lnetctl peer": data("lustre/lnetctl_peer_show.txt"),
    "lnetctl route": data("lustre/lnetctl_route_show_2.15.txt"),
}
REFUSED = answer(stderr=data("lustre/lnetctl_net_show_nobody.err"), exit_code=234)
DOWN = answer(stderr=data("lustre/lnetctl_net_show_nonet.err"), exit_code=234)
HEALTH = "plumbline_lnet_interface_health"


class Clock(SystemClock):
    """A clock whose seconds pass when a test says so."""

    passed_s = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.passed_s


class Host:
    """A host with LNet, or without."""

    def __init__(self, root: Path, answers: Mapping[str, Answer], *, module: bool = True) -> None:
        if module:
            put(root / "sys/module/lnet/refcnt", "1\n")
        self.clock = Clock()
        self.runner = FakeRunner(answers)
        self.hangs = False
        lnet = LnetHealth(self.runner, self.clock, lambda: self.hangs)
        self._counters = Counters(BoundedReads(30), self.clock, str(root), lnet)

    def look(self, after_s: float = 0.0) -> CountersLook:
        self.clock.passed_s += after_s
        return self._counters.look()


def test_health_is_read_once_a_minute_and_kept_in_between(tmp_path: Path) -> None:
    host = Host(tmp_path, HEALTHY)
    for after_s in (0, 15, 15, 15):
        looked = host.look(after_s)
        assert values(looked.counts, HEALTH) == {"10.0.2.15@tcp": 1000}
        assert looked.troubles == ()
    assert len(host.runner.calls) == 3
    host.look(16)
    assert len(host.runner.calls) == 6


def test_nothing_runs_if_lnet_is_not_loaded(tmp_path: Path) -> None:
    host = Host(tmp_path, {}, module=False)
    assert host.look().troubles == ()
    assert host.runner.calls == []


@pytest.mark.parametrize(
    ("result", "reason", "words"),
    [
        (REFUSED, "denied", "is refused to this user; set counters_lnet_health"),
        (answer("", "opening /dev/lnet failed: Permission denied", 243), "denied", "is refused"),
        (HANGING._replace(hung=False), "timeout", "gave no answer in time"),
        (HANGING, "timeout", "gave no answer in time"),
        (answer("", "no such option", 1), "failed", "no such option"),
        (answer("net:\n"), "not_understood", "it names no interface"),
        (DOWN, None, ""),
    ],
    ids=["refused", "refused by 2.15", "slow", "stuck", "failed", "odd", "not configured"],
)
def test_unreadable_health_is_counted_and_the_other_counters_stay(
    tmp_path: Path, result: Completed, reason: Optional[str], words: str
) -> None:
    looked = Host(tmp_path, {**HEALTHY, "lnetctl net": result}).look()
    assert values(looked.counts, HEALTH) == {}
    assert values(looked.counts, "plumbline_lnet_peers") == {"": 3}
    unreadable = values(looked.counts, "plumbline_lustre_unreadable_files")
    assert {label for label, number in unreadable.items() if number} == (
        {reason} if reason else set()
    )
    assert len(looked.troubles) == (1 if reason else 0)
    assert words in "".join(looked.troubles)


def test_a_timeout_is_counted_once_and_tried_again_a_minute_later(tmp_path: Path) -> None:
    healthy = answer(data("lustre/lnetctl_net_show.txt"))
    host = Host(tmp_path, {**HEALTHY, "lnetctl net": [HANGING._replace(hung=False), healthy]})
    counts = [host.look(after_s).counts for after_s in (0, 15, 15, 40)]
    name = "plumbline_lustre_read_timeouts_total"
    assert [values(count, name) for count in counts] == [{"lnetctl net show -v 2": 1}] * 4
    assert [len(values(count, HEALTH)) for count in counts] == [0, 0, 0, 1]


def test_no_second_command_starts_while_one_cannot_be_ended(tmp_path: Path) -> None:
    host = Host(
        tmp_path, {**HEALTHY, "lnetctl net": [HANGING, answer(data("lustre/lnetctl_net_show.txt"))]}
    )
    host.look()
    host.hangs = True
    looked = host.look(60)
    assert len(host.runner.calls) == 3
    assert "has given no answer yet" in looked.troubles[0]
    host.hangs = False
    assert values(host.look(60).counts, HEALTH) == {"10.0.2.15@tcp": 1000}


def test_a_missing_lnetctl_names_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "sys/module/lnet/refcnt", "1\n")
    monkeypatch.setattr("plumbline.observe.command.SYSTEM_FOLDERS", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    clock = SystemClock()
    counters = Counters(BoundedReads(30), clock, str(tmp_path), LnetHealth(SystemRunner(), clock))
    looked = counters.look()
    assert set(looked.troubles) == {
        "lnetctl is not installed on this host; install the package lustre-client"
    }
    assert values(looked.counts, "plumbline_lustre_unreadable_files")["failed"] == 3
