"""The composite of a run: the clients' seconds, their sum, and the net rate."""

from __future__ import annotations

from typing import Any

from plumbline.model.record import Operation, Record
from plumbline.model.trend import Run
from plumbline.report.composite import added, composite_figure, curves
from plumbline.report.site import Site
from tests.package.records import failed, record

WRITE = {"operation": Operation.WRITE, "layer": "fs"}


def of(*records: Record) -> Site:
    return Site("lab", 0.0, (), {}, {}, {}, (), run=Run("fs", "run-1", records))


def one(component: str, *rates: float, **changes: Any) -> Record:
    rates_MB = tuple(1e6 * rate for rate in rates)
    return record(component=component, profile=rates_MB, **{**WRITE, **changes})


def test_seconds_of_components_add_up() -> None:
    run = Run("fs", "run-1", (one("a", 100, 100), one("b", 50, 60, 70)))
    first, total = added(curves(run, "write"))
    assert (first, list(total)) == (0, [150e6, 160e6, 70e6])


def test_who_begins_within_a_second_counts_by_share() -> None:
    run = Run("fs", "run-1", (one("a", 100, 100), one("b", 80, started_at=1001.5)))
    first, total = added(curves(run, "write"))
    assert (first, list(total)) == (0, [100e6, 140e6, 40e6])


def test_the_whole_is_not_counted_among_its_parts() -> None:
    parts = [one(name, 100, 100, details={"ranks": []}) for name in "ab"]
    whole = one("scratch", 200, 200, rate=180e6, details={"stragglers": []})
    figure = composite_figure(of(*parts, whole))
    (plot,) = figure.plots
    assert [trace["name"] for trace in plot.data] == ["sum of clients", "a", "b"]
    assert (plot.data[0]["x"], plot.data[0]["y"]) == ([0, 1, 2], [200.0] * 3)
    assert [one["text"] for one in plot.layout["annotations"]] == ["net 180.0 MB/s"]
    assert plot.layout["shapes"][0]["y0"] == 180.0


def test_each_operation_has_its_picture() -> None:
    figure = composite_figure(of(one("a", 100), one("a", 120, operation=Operation.READ)))
    assert [plot.title for plot in figure.plots] == ["write", "read"]
    assert list(figure.numbers)[1:] == [
        ("write", "a", "client1", 0.0, 100e6, "B/s"),
        ("read", "a", "client1", 0.0, 120e6, "B/s"),
    ]


def test_what_the_servers_counted_is_said_to_be_missing() -> None:
    assert "were not recorded" in composite_figure(of(one("a", 100))).finding


def test_what_the_servers_counted_is_drawn_beside_what_the_clients_saw() -> None:
    counter = one("disk1", 90, 110, layer="server", host="oss1", details={"source": "diskstats"})
    site = of(one("a", 100, 100), one("a", 70, operation=Operation.READ))
    assert site.run
    figure = composite_figure(site._replace(run=site.run._replace(servers=(counter,))))
    write, read = figure.plots
    assert [trace["name"] for trace in write.data] == [
        "disk1 on oss1",
        "sum of servers' devices",
        "a",
    ]
    assert [trace["name"] for trace in read.data] == ["a"]
    assert "1 counter of 1 server, all traffic included" in figure.finding
    assert ("write", "disk1", "oss1 devices", 1.0, 110e6, "B/s") in figure.numbers
    assert [row.cells[2] for row in figure.table.rows] == ["client1", "client1", "oss1 devices"]


def test_a_run_without_seconds_is_said() -> None:
    assert "recorded no rates of single seconds" in composite_figure(of(failed())).absent
    assert composite_figure(of()._replace(run=None)).absent
    whole = one("scratch", 200, details={"stragglers": []})
    parts = [one(name, details={"ranks": []}) for name in "ab"]
    assert "recorded no rates of single seconds" in composite_figure(of(*parts, whole)).absent


def test_a_clock_that_was_set_during_a_run_does_not_make_it_years_long() -> None:
    late = one("b", 100, started_at=1.7e9, finished_at=1.7e9 + 1)
    absent = composite_figure(of(one("a", 100), late)).absent
    assert absent == (
        "the latest run of layer fs, run-1, seems longer than a day: a clock was set meanwhile"
    )


def test_of_many_components_the_slowest_are_named() -> None:
    many = [one(f"t{number}", 100, rate=1e8 + number) for number in range(20)]
    slow = [one("slow", 40, rate=4e7)]
    (plot,) = composite_figure(of(*many, *slow)).plots
    named = [trace["name"] for trace in plot.data if trace.get("showlegend")]
    assert sorted(named) == ["slow", "t0", "t1", "t2", "t3"]
