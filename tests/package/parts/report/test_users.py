"""First lines of the page: whether the machine is slow, or its users are many."""

from __future__ import annotations

from pathlib import Path

from plumbline.observe.coverage import Job, LastRun
from plumbline.parts.report.page import pages
from plumbline.parts.report.site import Site
from plumbline.parts.report.users import users_lines
from tests.package.parts.locate.scenes import lab
from tests.package.parts.report.sites import read
from tests.package.parts.report.years import NOW, Year, document, plan_of, records, write

TARGETS = [f"scratch-OST000{number}" for number in range(6)]
BUSY = Job("4711", 38 * 10**9, 40.0)


def lines(*runs: LastRun) -> list[str]:
    return list(users_lines(runs))


def test_what_others_disturbed_and_their_jobs_come_first() -> None:
    low, lower = (
        LastRun("ost", name, coverage, True, BUSY) for name, coverage in zip(TARGETS, (0.4, 0.25))
    )
    first, second = lines(low, lower, LastRun("ost", TARGETS[2], 1.0))
    assert first == (
        "Users: others moved too much during the last runs of 2 of 3 components; their rates say "
        f"nothing about the machine: ost {TARGETS[1]} (75 % by others), ost {TARGETS[0]} "
        "(60 % by others)."
    )
    assert second == "Most came from job 4711 (76.0 GB during the runs of 2)."


def test_a_site_in_a_quiet_hour_is_slow_by_itself() -> None:
    (only,) = lines(*(LastRun("ost", name, 1.0) for name in TARGETS))
    assert only == (
        "Nobody else moved much during the last runs of 6 components: what is slow below is slow "
        "by itself."
    )


def test_what_nobody_counted_is_not_called_quiet() -> None:
    (only,) = lines(*(LastRun("ost", name, None) for name in TARGETS))
    assert only.startswith("What others moved during the last runs of 6 of 6 components is not")


def test_a_day_without_runs_says_nothing() -> None:
    assert lines() == []


def test_the_page_begins_with_them(tmp_path: Path) -> None:
    plan = plan_of(lab())
    site: Site = read(*write(tmp_path, document(plan), records(plan, Year(1))))
    assert {run.layer for run in site.last_runs} == {"ost", "raw"}
    page = pages(site._replace(last_runs=[LastRun("ost", TARGETS[0], 0.1, True, BUSY)]), [], [])
    assert "<p>Users: others moved too much" in page["index.html"]
    assert site.now == NOW
