"""What a Lustre server counts, as a 2.17 printed it: bytes of a target, and of its jobs."""

from __future__ import annotations

import pytest

from plumbline.model.errors import ToolError
from plumbline.model.record import Operation
from plumbline.observe.lustre_output import job_requests, job_stats, lustre_stats
from tests.project.repository import ROOT

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
