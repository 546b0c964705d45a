"""``plumbline jobs`` combines counters of servers, Darshan logs and a scheduler."""

from __future__ import annotations

import json
import sys
from datetime import datetime, timezone
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Mapping, Optional

import pytest

from plumbline.cli.options import parse_span
from plumbline.model.errors import DocumentError, UsageError
from plumbline.parts.facts.jobs import COUNTERS, DARSHAN
from plumbline.store.history import History
from tests.package.cli.driver import Printed, Run
from tests.package.judgements import expectation
from tests.package.observe.servers import OST, counted
from tests.project.repository import ROOT

DATA = ROOT / "tests/data/darshan"
NIGHT = 1763604000.0
"""20 November 2025, 02:00 UTC."""
TIMES = f"job,start,end,name,user\n4711,{NIGHT},,climate,ada\n4713,{NIGHT},,idle,bob\n"
MDT = "scratch-MDT0000"
LUSTRE = {"kind": "lustre", "mount": "/scratch1/", "ost": "scratch-OST0003"}
GLUSTERFS = {"kind": "glusterfs", "mount": "/work", "brick": "oss1:/bricks/b1"}
REQUESTS = [
    [NIGHT + 10, NIGHT + 20, "4711", {"open": 500, "close": 400, "unlink": 90, "mknod": 10}],
    [NIGHT + 20, NIGHT + 30, "4711", {"open": 500}],
    [NIGHT + 10, NIGHT + 20, "\x1b[31mred\n", {"getattr": 5}],
]
with_pydarshan = pytest.mark.skipif(find_spec("darshan") is None, reason="no PyDarshan here")


class Console:
    """A console with a plan and the job counters of servers in its history."""

    def __init__(self, folder: Path, run: Run) -> None:
        self._run = run
        self.folder = folder
        self.history = folder / "history.sqlite"
        with History(self.history) as history:
            rows = [
                [NIGHT + 10, NIGHT + 20, "4711", 10**9, 38 * 10**9],
                [NIGHT + 10, NIGHT + 20, "\x1b[31mred\n", 5, 0],
                [NIGHT + 20, NIGHT + 30, "4711", 0, 2 * 10**9],
            ]
            for record in counted([1.0] * 60, start=NIGHT, jobs=rows):
                history.save(record)
            (mdt, _) = counted([0.0] * 60, start=NIGHT, host="mds1", requests=REQUESTS)
            history.save(mdt._replace(component=MDT))
        self.times = folder / "times.csv"
        self.times.write_text(TIMES, encoding="utf-8")

    def plan(self, target: Mapping[str, str] = LUSTRE, **changes: Any) -> str:
        entry = expectation(component=OST).to_json()
        entry["target"] = target
        entry["component"] = "slow one"
        node = {"schema": 1, "node": "client1", "site": "lab", "entries": [entry]}
        path = self.folder / "plan.json"
        plan = {"schema": 1, "nodes": {"client1": node}, "services": [], **changes}
        path.write_text(json.dumps(plan), encoding="utf-8")
        return str(path)

    def run(self, *argv: str, code: Optional[int] = 0) -> Printed:
        return self._run("jobs", "--history", str(self.history), *argv, code=code)

    def document(self, *argv: str) -> Any:
        return self.run("--json", *argv).document


@pytest.fixture
def console(tmp_path: Path, run: Run) -> Console:
    return Console(tmp_path, run)


def test_traffic_on_servers_is_shown_with_job_names(console: Console) -> None:
    output = console.run("--times", str(console.times)).out
    header, first, second, *requests, last = output.splitlines()
    assert "user" not in header
    # one line a job, with both directions
    assert first.split()[:7] == ["4711", "climate", OST, "1000.0", "MB", "40.0", "GB"]
    assert first.endswith("job_stats")
    assert second.startswith("\N{REPLACEMENT CHARACTER}[31mred")
    headers = "job name target requests rate from to most of them"
    assert " ".join(requests[0].split()) == headers
    assert requests[1].split()[:5] == ["4711", "climate", MDT, "1500", "75/s"]
    assert requests[1].endswith("open 1000, close 400, unlink 90")
    assert requests[2].startswith("\N{REPLACEMENT CHARACTER}[31mred")
    assert last == "Also ran, traffic unknown: 4713"
    assert "ada" not in output
    assert "\x1b" not in output


def test_users_are_shown_only_if_the_policy_allows_it(console: Console) -> None:
    times = ("--times", str(console.times))
    jobs = console.document("--plan", console.plan(), *times)["jobs"]
    assert [job.get("user") for job in jobs.values()] == [None, None]
    plan = console.plan(job_users=True)
    assert console.document("--plan", plan, *times)["jobs"]["4711"]["user"] == "ada"
    assert "ada" in console.run("--plan", plan, *times).out


def test_jobs_are_selected_by_time_and_target(console: Console) -> None:
    begin, end = (datetime.fromtimestamp(NIGHT + at, timezone.utc).isoformat() for at in (15, 20))
    during = ("--during", f"{begin} to {end}")
    used = console.document(*during, "--target", OST)["used"]
    assert [(row["job"], row["bytes"], row["source"]) for row in used[:2]] == [
        ("4711", 19e9, COUNTERS),
        ("4711", 5e8, COUNTERS),
    ]
    (row,) = console.document(*during, "--target", MDT)["requests"][:1]
    assert (row["job"], row["requests"]["open"]) == ("4711", 250.0)
    later = ("--during", "2025-11-21 to 2025-11-22")
    assert "No job is known" in console.run(*later).out


@pytest.mark.parametrize(
    "requests",
    [
        5,
        [5],
        [[1.0, 2.0, "j", 5]],
        [[1.0, 2.0, "j", {"open": "x"}]],
        [["x", 2.0, "j", {"open": 1}]],
    ],
)
def test_damaged_requests_are_named(console: Console, requests: object) -> None:
    with History(console.history) as history:
        (mdt, _) = counted([0.0] * 60, start=NIGHT, host="mds1", requests=requests)
        history.save(mdt._replace(id="damaged", component=MDT))
    with pytest.raises(DocumentError, match="what mds1 counted of jobs is damaged"):
        console.run()


def test_an_unknown_target_is_refused(console: Console) -> None:
    with pytest.raises(UsageError, match="'OST9' is no target"):
        console.run("--target", "OST9")


def test_a_target_that_is_not_an_ost_has_no_job_counters(console: Console) -> None:
    with pytest.raises(UsageError, match="slow one is no OST of Lustre, and of jobs on other"):
        console.run("--plan", console.plan(GLUSTERFS), "--target", "slow one")


def test_a_target_has_the_name_that_the_site_uses(console: Console) -> None:
    plan = ("--plan", console.plan())
    for name in ("slow one", OST):
        used = console.document(*plan, "--target", name)["used"]
        assert {row["target"] for row in used} == {"slow one"}


@pytest.mark.slow
@with_pydarshan
def test_darshan_logs_are_shown_with_target_names_of_the_plan_and_saved(console: Console) -> None:
    plan = ("--plan", console.plan())
    logs = ("--darshan", str(DATA), "--python", sys.executable)
    used = console.document(*plan, *logs, "--target", "slow one")["used"]
    (log,) = [row for row in used if row["source"] == DARSHAN]
    assert (log["job"], log["bytes"], log["unaligned"]) == ("6909118", 2 << 30, 0)
    assert console.document(*plan, *logs)["left_out"] == []


@pytest.mark.slow
@with_pydarshan
def test_saved_traffic_is_shown_without_the_logs(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    # the log is from 2017, longer ago than traffic is kept by default
    monkeypatch.setattr("plumbline.parts.facts.job_traffic.KEEP_DAYS", 1e5)
    logs = ("--darshan", str(DATA / "one-ost-a-file.darshan"), "--python", sys.executable)
    first = console.document(*logs, "--keep")["used"]
    second = console.document(*logs, "--keep")["used"]
    assert second == first
    assert console.document()["used"] == first


@pytest.mark.slow
@with_pydarshan
def test_damaged_logs_are_reported_and_set_the_exit_code(console: Console) -> None:
    bad = console.folder / "bad.darshan"
    bad.write_bytes(b"foreign")
    good = str(DATA / "shared-file.darshan")
    output = console.run("--darshan", str(bad), good, "--python", sys.executable, code=65)
    (row,) = [line for line in output.out.splitlines() if line.startswith("4478544")]
    # one line for 24 OSTs
    assert row.split()[:5] == ["4478544", "vpicio_uni", "24", "24", "2199.0"]
    assert output.err.startswith(f"plumbline: {bad} is left out: Error: ")


@pytest.mark.slow
@with_pydarshan
def test_slow_targets_of_jobs_are_counted(console: Console) -> None:
    logs = ("--darshan", str(DATA), "--python", sys.executable, "--slow-targets")
    assert console.run(*logs).out.splitlines()[-1] == (
        "1 job measured 24 targets, none of them slow"
    )
    assert console.document(*logs)["targets"] == 24


NOON = datetime(2026, 11, 20, 12, 0).astimezone()


@pytest.mark.parametrize(
    ("text", "begin", "end"),
    [
        ("02:00 to 03:00", (20, 2), (20, 3)),
        ("22:00 to 03:00", (19, 22), (20, 3)),
        ("13:00 to 14:00", (19, 13), (19, 14)),
        ("23:00 to 24:00", (19, 23), (20, 0)),
        ("2026-11-18T02:00 to 05:00", (18, 2), (18, 5)),
        ("2026-11-18 to 2026-11-19", (18, 0), (19, 0)),
    ],
)
def test_hours_without_a_date_are_the_most_recent(
    text: str, begin: tuple[int, int], end: tuple[int, int]
) -> None:
    expected = tuple(
        datetime(2026, 11, day, hour).astimezone().timestamp() for day, hour in (begin, end)
    )
    assert parse_span(text, "--during", NOON.timestamp()) == expected


@pytest.mark.parametrize(
    "text", ["", "02:00", "02:00 to", "25:00 to 26:00", "2026-11-19 to 2026-11-18", "a to b"]
)
def test_an_invalid_time_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--during"):
        parse_span(text, "--during", NOON.timestamp())
