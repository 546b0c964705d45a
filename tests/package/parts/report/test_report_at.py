"""``plumbline report --at`` queries a real Prometheus for the hour around a moment."""

from __future__ import annotations

import csv
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Callable, Iterator, NamedTuple

import pytest

from plumbline.cli.options import parse_moment
from plumbline.model.errors import UsageError
from plumbline.parts.report.read import look_back
from plumbline.site.prometheus import Prometheus
from tests.package.cli.driver import Run
from tests.package.parts.facts.test_loads import answering, matrix
from tests.package.parts.locate.scenes import lab
from tests.package.parts.report.sites import SICK
from tests.package.parts.report.years import DAY_S, document, plan_of, records, write
from tests.package.prometheus import PROGRAM, Sample, holding, openmetrics

AT = (time.time() - 4 * DAY_S - 7200) // 60 * 60
SCRAPE_S = 30
BYTES = "plumbline_lustre_bytes_total"
OPERATIONS = "plumbline_lustre_operations_total"
SECONDS = "plumbline_lustre_operation_seconds_total"
RECOVERY = "plumbline_lustre_recovery_status"
BUCKETS = "plumbline_lustre_disk_io_seconds_bucket"
LNET = "plumbline_lnet_bytes_total"
OSTS = 40
SLOW, MOVED_AWAY, CLEARED = "scratch-OST0003", "scratch-OST0007", "scratch-OST0011"


def scraped() -> Iterator[Sample]:
    """Yield counters for Prometheus: 40 OSTs that write 1 to 40 MB/s in calls of 10 ms.

    One OST is slow from five minutes before the moment until five minutes after it; another fails
    over two minutes before it and recovers for four minutes; the counters of a third restart ten
    minutes after it.
    """
    for after in range(-2400, 2401, SCRAPE_S):
        at = AT + after
        for number in range(OSTS):
            yield from _ost(number, after, at)
        mdt = 'instance="mds1:9100",source="mdt",target="scratch-MDT0000"'
        yield Sample(OPERATIONS, f'{mdt},operation="open"', 500.0 * (after + 2400), at)
        yield Sample(SECONDS, f'{mdt},operation="open"', 0.1 * (after + 2400), at)
        yield Sample(RECOVERY, f'{mdt},status="inactive"', 1, at)
        yield Sample(LNET, 'instance="rtr1:9100",direction="route"', 9e8 * (after + 2400), at)
        client = 'instance="c1:9100",source="llite",target="scratch",mount="ff00"'
        yield Sample(BYTES, f'{client},operation="read"', 3e6 * (after + 2400), at)


def _ost(number: int, after: int, at: float) -> Iterator[Sample]:
    name, host, since = f"scratch-OST{number:04x}", "oss1:9100", -2400
    if name == MOVED_AWAY and after >= -120:
        host, since = "oss2:9100", -120
        if after < 120:
            labels = f'instance="{host}",source="obdfilter",target="{name}"'
            yield Sample(RECOVERY, f'{labels},status="recovering"', 1, at)
            return
    if name == CLEARED and after >= 600:
        since = 600
    labels = f'instance="{host}",source="obdfilter",target="{name}"'
    calls = (number + 1.0) * (after - since)
    slow_s = max(0, min(after, 300) + 300) if name == SLOW else 0
    yield Sample(BYTES, f'{labels},operation="write"', calls * 1e6, at)
    yield Sample(OPERATIONS, f'{labels},operation="write"', calls, at)
    yield Sample(SECONDS, f'{labels},operation="write"', calls * 0.01, at)
    disk = f'instance="{host}",source="osd-ldiskfs",target="{name}",operation="write"'
    fast = calls - slow_s * 4
    for limit, below in (("0.008", 0), ("0.016", fast), ("0.512", fast), ("+Inf", calls)):
        yield Sample(BUCKETS, f'{disk},le="{limit}"', below, at)
    yield Sample(BUCKETS, f'{disk},le="1.024"', calls, at)
    yield Sample(RECOVERY, f'{labels},status="complete"', 1, at)


class Page(NamedTuple):
    """A report: the page, the CSV rows by figure, and standard error."""

    text: str
    rows: dict[str, list[dict[str, str]]]
    err: str


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    plan = plan_of(lab())
    folder = tmp_path_factory.mktemp("site")
    # a disk is slow in the four nights after the moment; years.py measures two hours before now
    year = SICK._replace(since=4)
    paths = write(folder, document(plan), records(plan, year, AT - 300 + 4 * DAY_S + 7200))
    return "--plan", str(paths[0]), "--history", str(paths[1])


Draw = Callable[[str], Page]


@pytest.fixture
def draw(tmp_path: Path, site: tuple[str, ...], run: Run) -> Draw:
    """Return a function that draws the hour around the moment from a Prometheus."""

    def page(url: str) -> Page:
        moment = datetime.fromtimestamp(AT, timezone.utc).astimezone().replace(tzinfo=None)
        argv = ("--at", moment.isoformat(" ", "minutes"), "--prometheus", url)
        output = tmp_path / "report"
        err = run("report", *site, *argv, "-o", str(output)).err
        rows = {
            path.stem: list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
            for path in (output / "data").iterdir()
        }
        return Page((output / "index.html").read_text(encoding="utf-8"), rows, err)

    return page


@pytest.mark.long
@pytest.mark.skipif(PROGRAM is None, reason="prometheus is not installed")
def test_the_hour_around_a_moment_is_drawn_with_the_probes(tmp_path: Path, draw: Draw) -> None:
    with holding(tmp_path, openmetrics(scraped())) as prometheus:
        page = draw(prometheus.address)
    rows = page.rows["moment"]
    now = {
        (row["kind"], row["name"], row["figure"]): float(row["value"])
        for row in rows
        if float(row["at"]) == AT and row["figure"] != "recovery"
    }
    # the busiest at the moment or in the hour, and the sum of all others
    assert now["OST", "scratch-OST0027", "write"] == pytest.approx(40e6)
    # Prometheus interpolates within a bucket
    disk_writes = "time of 90 % of disk writes"
    assert now["OST", SLOW, disk_writes] == pytest.approx(0.512 + 0.9 * 0.512)
    assert now["OST", "scratch-OST0027", disk_writes] == pytest.approx(0.008 + 0.9 * 0.008)
    assert now["MDT", "scratch-MDT0000", "operations"] == pytest.approx(500)
    assert now["router", "rtr1:9100", "moved"] == pytest.approx(9e8)
    assert now["client", "c1:9100", "read"] == pytest.approx(3e6)
    writes = [
        value for (kind, _, figure), value in now.items() if (kind, figure) == ("OST", "write")
    ]
    assert len(writes) <= 31
    assert sum(writes) == pytest.approx(1e6 * (sum(range(1, OSTS + 1)) - 8))
    recovering = {row["name"] for row in rows if row["figure"] == "recovery"}
    assert recovering == {MOVED_AWAY}
    assert f"Not counted at this moment, though in this hour: {MOVED_AWAY}" in page.err
    assert f"Counted by several servers in this hour (failed over): {MOVED_AWAY}" in page.err
    assert f"restarted): {CLEARED}" in page.err
    assert (
        "No figure above 0 in this hour of: OST read, OST mean latency of reads, client write\n"
        in page.err
    )
    for line in page.err.splitlines():
        assert line.removeprefix("plumbline: ") in page.text


@pytest.mark.slow
def test_verdicts_are_from_the_moment(draw: Draw) -> None:
    with answering(matrix()) as server:
        page = draw(server.url)
    runs = page.rows["moment-probes"]
    assert {run["component"] for run in runs} >= {"oss2-disk1", "oss1-disk1", "scratch-OST0000"}
    assert all(AT - 300 <= float(run["at"]) <= AT + 1800 for run in runs)
    # the page names it as suspect only four nights later
    assert {run["state"] for run in runs if run["component"] == "oss2-disk1"} == {"OK"}
    assert "Suspect: disk oss2-disk1" in page.text
    assert "holds no counters of the hour around" in page.err


def test_a_prometheus_without_counters_is_reported(draw: Draw) -> None:
    with answering(matrix({"metric": {}, "values": [[AT, "1"]]})) as server:
        page = draw(server.url)
    assert "in this hour of: OST read, OST write" in page.err


@pytest.mark.long
@pytest.mark.skipif(PROGRAM is None, reason="prometheus is not installed")
def test_counters_of_another_exporter_are_reported(tmp_path: Path, draw: Draw) -> None:
    other = f'# TYPE lustre_read_bytes unknown\nlustre_read_bytes{{component="ost"}} 5 {AT}'
    with holding(tmp_path, other) as prometheus:
        page = draw(prometheus.address)
    assert "holds counters of another exporter (lustre_read_bytes)" in page.err


def test_hostile_names_of_targets_are_text(draw: Draw) -> None:
    labels = {"target": "<script>\x1b[31m\n", "instance": '"}) or up({"', "status": "<b>"}
    with answering(matrix({"metric": labels, "values": [[AT, "1"], [AT + 60, "2"]]})) as server:
        page = draw(server.url)
    assert "Not counted at this moment, though in this hour: <script>" in page.err
    assert "\x1b" not in page.err
    assert "<script>\\" not in page.text
    queries = "".join(request.body for request in server.queries)
    # names are escaped in matchers
    assert "%5C%22%5C%5C%7D%5C%5C%29%5C%5C+or" in queries


def test_warnings_of_prometheus_are_shown(draw: Draw) -> None:
    curve = {"metric": {"target": "scratch-OST0000"}, "values": [[AT, "1"], [AT + 60, "2"]]}
    with answering(matrix(curve, warnings=["store oss2 is\x1b[31m away"])) as server:
        page = draw(server.url)
    assert page.err.count(f"plumbline: {server.url} warns: store oss2 is") == 1
    assert "\x1b" not in page.err
    assert "warns: store oss2 is" in page.text


def test_a_slow_prometheus_is_queried_for_two_minutes_at_most() -> None:
    seconds = iter(range(0, 10_000, 50))
    with answering(matrix()) as server:
        past = look_back(Prometheus(server.url), AT, AT + 9e5, lambda: next(seconds))
    assert len(server.queries) == 2
    assert past.remarks == (
        f"{server.url} took more than 120 s to answer; what is missing here is not drawn",
    )


def test_a_prometheus_that_does_not_answer_is_reported(draw: Draw) -> None:
    page = draw("http://127.0.0.1:1")
    assert page.err.startswith("plumbline: http://127.0.0.1:1 does not answer")
    assert len(page.err.splitlines()) == 1
    assert len(page.rows["moment-probes"]) > 10
    assert "does not answer" in page.text
    assert "Suspect: disk oss2-disk1" in page.text


@pytest.mark.parametrize(
    "text", ["", "yesterday", "2026-11-31 03:12", "2999-01-01", "1969-12-31", "0001-01-01", "25:00"]
)
def test_an_invalid_or_future_time_is_refused_with_the_accepted_formats(text: str) -> None:
    with pytest.raises(UsageError, match='write for example "2026-11-20 03:12", 2026-11-20T'):
        parse_moment(text, "--at", 1_790_000_000.0)


def test_an_hour_without_a_date_is_the_most_recent() -> None:
    now = parse_moment("2026-11-20 12:00", "--at", time.time() + 1e9)
    assert now - parse_moment("03:12", "--at", now) == 8 * 3600 + 48 * 60
    assert now - parse_moment("13:00", "--at", now) == 23 * 3600
    assert parse_moment("2026-11-18T03:12+00:00", "--at", now) == 1_794_971_520.0
