"""Traffic of jobs on a server's targets between two readings, at a bounded cost."""

from __future__ import annotations

from typing import Optional, Sequence

import pytest

from plumbline.measure.sample import LUSTRE_STATS as LUSTRE
from plumbline.observe.coverage import JobRow, RequestRow
from plumbline.observe.job_stats import MAX_BYTES, MAX_READING_S, PAUSE_S, Jobs, JobTraffic
from plumbline.observe.lustre_output import ROOTS
from tests.package.measure.units import FakeClock
from tests.project.repository import ROOT

OST, MDT = "lustre-OST0000", "lustre-MDT0000"
PATH = f"{LUSTRE[0]}/{OST}/job_stats"
REAL = (ROOT / "tests" / "data" / "lustre" / "lctl_job_stats_n.txt").read_text(encoding="utf-8")


class Lists:
    """Successive texts of a target's job_stats; a reading takes ``took_s``."""

    def __init__(
        self, clock: FakeClock, texts: Sequence[str], took_s: float = 0.0, path: str = PATH
    ) -> None:
        self._clock, self._texts, self._took_s, self._path = clock, list(texts), took_s, path

    def names(self, folder: str) -> tuple[str, ...]:
        raise AssertionError(folder)

    def read(self, path: str, most_bytes: int = 1 << 20) -> str:
        if path != self._path or not self._texts:
            return ""
        self._clock.sleep(self._took_s)
        return self._texts.pop(0)[:most_bytes]


def listed(**jobs: tuple[int, int]) -> str:
    lines = ["job_stats:"]
    for name, (read, written) in jobs.items():
        lines += [
            f"- job_id:          {name}",
            f"  read_bytes:      {{ samples: 1, unit: bytes, min: 1, max: 1, sum: {read} }}",
            f"  write_bytes:     {{ samples: 1, unit: bytes, min: 1, max: 1, sum: {written} }}",
            "  write:           { samples: 1, unit: usecs, min: 9, max: 9, sum: 9, sumsq: 81 }",
        ]
    return "\n".join(lines)


def looked(*texts: str, took_s: float = 0.0) -> tuple[Jobs, list[Optional[float]]]:
    """Read the texts ten seconds apart; return the jobs and the pauses."""
    clock = FakeClock()
    jobs = Jobs(Lists(clock, texts, took_s), [OST], clock)
    pauses = []
    for _ in texts:
        pauses.append(jobs.look())
        clock.sleep(PAUSE_S)
    return jobs, pauses


def test_a_job_has_its_bytes_between_two_readings() -> None:
    jobs, pauses = looked(listed(a=(100, 0), b=(5, 5)), listed(a=(100, 700), b=(5, 5)))
    assert jobs.drain() == [JobTraffic(OST, JobRow(1000.0, 1010.0, "a", 0, 700))]
    assert jobs.drain() == []
    assert pauses == [PAUSE_S, PAUSE_S]


def test_requests_to_a_metadata_target_are_counted_too() -> None:
    def requests(opens: int) -> str:
        line = f"  open: {{ samples: {opens}, unit: usecs, min: 1, max: 1, sum: 999 }}"
        return f"job_stats:\n- job_id:          a\n{line}\n"

    clock, path = FakeClock(), f"{ROOTS[1]}/mdt/{MDT}/job_stats"
    jobs = Jobs(Lists(clock, [requests(3), requests(10)], path=path), [MDT], clock)
    jobs.look()
    clock.sleep(PAUSE_S)
    jobs.look()
    assert jobs.drain() == [JobTraffic(MDT, RequestRow(1000.0, 1010.0, "a", {"open": 7}))]


def test_a_new_job_and_a_cleared_list_begin_at_zero() -> None:
    jobs, _ = looked(listed(a=(900, 0)), listed(a=(30, 0), new=(0, 50)))
    assert [traffic.row[2:] for traffic in jobs.drain()] == [("new", 0, 50), ("a", 30, 0)]


def test_the_busiest_jobs_are_kept() -> None:
    after = listed(a=(1, 0), b=(0, 4), c=(2, 0), d=(3, 3), e=(1, 1))
    jobs, _ = looked(listed(), after)
    assert [traffic.row.job for traffic in jobs.drain()] == ["d", "b", "c"]


def test_the_list_of_a_real_server_is_read() -> None:
    jobs, _ = looked("job_stats:", REAL)
    assert jobs.drain() == [JobTraffic(OST, JobRow(1000.0, 1010.0, "alpha.0", 0, 67108864))]


def test_reading_job_stats_takes_at_most_a_hundredth_of_the_time() -> None:
    _, pauses = looked(listed(a=(1, 1)), took_s=0.5)
    assert pauses == [50.0]


@pytest.mark.parametrize(
    ("text", "took_s", "reason"),
    [
        (listed(a=(1, 1)), MAX_READING_S + 1, "job_stats took 2 s"),
        ("job_stats:" + " " * MAX_BYTES, 0.0, "lower job_cleanup_interval"),
        ("what is this", 0.0, "is not understood"),
    ],
)
def test_a_slow_or_unknown_list_is_not_read_again(text: str, took_s: float, reason: str) -> None:
    jobs, pauses = looked(text, took_s=took_s)
    assert pauses == [None]
    assert reason in jobs.trouble


def test_a_server_without_a_list_is_not_read_again() -> None:
    jobs, pauses = looked("")
    assert (pauses, jobs.trouble) == ([None], "")
