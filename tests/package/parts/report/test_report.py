"""``plumbline report``, ``note`` and ``status`` on a site with a slow disk."""

from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Iterator

import pytest

from plumbline.model.profile import pack
from plumbline.store.collection import ConsoleHistory as Collection
from tests.package.cli.driver import Run, call
from tests.package.parts.locate.scenes import lab
from tests.package.parts.report.sites import SICK, look, save_report
from tests.package.parts.report.test_calls import profile
from tests.package.parts.report.test_drawn_figures import IDS
from tests.package.parts.report.years import DAY_S, document, plan_of, records, write


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """Return the options for plan and history of a site with a slow disk."""
    plan = plan_of(lab())
    folder = tmp_path_factory.mktemp("site")
    paths = write(folder, document(plan), records(plan, SICK, time.time()))
    save_report(folder, "oss1", time.time(), look("md"))
    return "--plan", str(paths[0]), "--history", str(paths[1])


def draw(run: Run, *argv: str) -> dict[str, Any]:
    result: dict[str, Any] = run("report", "--json", *argv).document
    return result


@pytest.mark.slow
def test_a_report_is_a_set_of_self_contained_files(
    tmp_path: Path, site: tuple[str, ...], run: Run
) -> None:
    call_profile = tmp_path / "calls"
    call_profile.write_bytes(pack({}, profile(10, 10, 25).blocks))
    output = tmp_path / "new" / "report"
    result = draw(run, *site, "-o", str(output), "--profile", str(call_profile))
    assert result["page"] == str(output / "index.html")
    # nobody has read the space of this site
    assert result["absent"].pop("space").startswith("the space of no file system is read")
    assert result["absent"].pop("rounds").startswith("no round of pairs was tested")
    assert result["absent"] == dict.fromkeys([name for name in IDS[:-1] if name != "rounds"], "")
    assert (output / "plotly.min.js").stat().st_size > 1e6
    assert {path.name for path in output.iterdir()} == {
        "index.html",
        "data",
        "plotly.min.js",
        "report.css",
        "report.js",
    }
    assert "Suspect: disk oss2-disk1" in (output / "index.html").read_text(encoding="utf-8")


def test_a_report_replaces_the_previous_one(
    tmp_path: Path, site: tuple[str, ...], run: Run
) -> None:
    (tmp_path / "index.html").write_text("old", encoding="utf-8")
    assert (
        run("report", *site, "-o", str(tmp_path), "--days", "3").out
        == f"{tmp_path / 'index.html'}\n"
    )
    assert "old" not in (tmp_path / "index.html").read_text(encoding="utf-8")[:3]


@pytest.fixture
def tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize(
    ("against", "day"), [("", ""), ("T23:00", ""), ("T01:00", "the day before")], ids=repr
)
@pytest.mark.usefixtures("tokyo")
def test_the_day_to_compare_with_is_in_the_report_in_any_time_zone(
    tmp_path: Path, site: tuple[str, ...], against: str, day: str
) -> None:
    date = datetime.now(timezone.utc).date() - timedelta(days=3)
    argv = ("--against", f"{date}{against}", "-o", str(tmp_path))
    assert call("report", *site, *argv) == 0
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    shown = date - timedelta(days=1) if day else date
    assert f"Change against {shown}<" in page


@pytest.mark.slow
def test_a_change_of_version_in_the_records_is_marked(tmp_path: Path) -> None:
    plan, now = plan_of(lab()), time.time()
    upgraded = [
        record._replace(
            versions={"client": "2.3.0" if record.started_at < now - DAY_S else "2.4.0"}
        )
        for record in records(plan, SICK, now)
    ]
    paths = write(tmp_path, document(plan), upgraded)
    output = tmp_path / "report"
    argv = ("--plan", str(paths[0]), "--history", str(paths[1]), "-o", str(output))
    assert call("report", *argv) == 0
    page = (output / "index.html").read_text(encoding="utf-8")
    assert ": client 2.3.0 -&gt; 2.4.0." in page


def test_status_of_a_site_is_one_screen(site: tuple[str, ...], run: Run) -> None:
    head, _, first, *_ = run("status", *site, code=2).out.splitlines()
    assert head.startswith("lab: 1 CRITICAL, ")
    assert first.split()[:3] == ["CRITICAL", "raw", "oss2-disk1"]
    assert "▄" in first


def test_status_names_unreachable_nodes_of_the_plan(tmp_path: Path, run: Run) -> None:
    plan = plan_of(lab())
    paths = write(tmp_path, document(plan), records(plan, SICK, time.time()))
    with Collection(paths[1]) as collection:
        for node in ("oss1", "of an earlier plan"):
            collection.failed(node, "no route to host", 1795241041.0)
    options = ("--plan", str(paths[0]), "--history", str(paths[1]))
    line = "oss1 did not answer at 2026-11-21 06:04 UTC (never): no route to host"
    assert run("status", *options, code=2).out.splitlines()[1] == line
    (unreachable,) = run("status", *options, "--json", code=2).document["unanswered"]
    assert unreachable == {
        "node": "oss1",
        "tried_at": 1795241041.0,
        "answered_at": None,
        "trouble": "no route to host",
    }
