"""The composite of a run: rates of clients by second, their sum, and the net rate."""

from __future__ import annotations

from typing import Any

import pytest

from plumbline.model.record import Operation, Outcome, Record
from plumbline.model.trend import NodeClock, Run
from plumbline.parts.report.composite import (
    added,
    composite_figure,
    curves,
    served,
    server_sentence,
    server_traces,
)
from plumbline.parts.report.site import Site
from tests.package.records import failed, record

WRITE = {"operation": Operation.WRITE, "layer": "fs"}


def site_of(*records: Record) -> Site:
    return Site("lab", 0.0, (), {}, {}, {}, (), run=Run("fs", "run-1", records))


def client(component: str, *rates: float, **changes: Any) -> Record:
    rates_MB = tuple(1e6 * rate for rate in rates)
    return record(component=component, profile=rates_MB, **{**WRITE, **changes})


def test_seconds_of_components_add_up() -> None:
    run = Run("fs", "run-1", (client("a", 100, 100), client("b", 50, 60, 70)))
    first, total = added(curves(run, "write"))
    assert (first, list(total)) == (0, [150e6, 160e6, 70e6])


def test_a_client_that_starts_within_a_second_counts_by_its_share() -> None:
    run = Run("fs", "run-1", (client("a", 100, 100), client("b", 80, started_at=1001.5)))
    first, total = added(curves(run, "write"))
    assert (first, list(total)) == (0, [100e6, 140e6, 40e6])


def test_the_total_of_the_file_system_is_not_added_to_its_targets() -> None:
    parts = [client(name, 100, 100, details={"ranks": []}) for name in "ab"]
    file_system = client("scratch", 200, 200, rate=180e6, details={"stragglers": []})
    figure = composite_figure(site_of(*parts, file_system))
    (plot,) = figure.plots
    assert [trace["name"] for trace in plot.data] == ["sum of clients", "a", "b"]
    assert (plot.data[0]["x"], plot.data[0]["y"]) == ([0, 1, 2], [200.0] * 3)
    assert [note["text"] for note in plot.layout["annotations"]] == ["net 180.0 MB/s"]
    assert plot.layout["shapes"][0]["y0"] == 180.0


def test_each_operation_has_its_own_picture() -> None:
    figure = composite_figure(site_of(client("a", 100), client("a", 120, operation=Operation.READ)))
    assert [plot.title for plot in figure.plots] == ["write", "read"]
    assert list(figure.numbers)[1:] == [
        ("write", "a", "client1", 0.0, 100e6, "B/s"),
        ("read", "a", "client1", 0.0, 120e6, "B/s"),
    ]


def test_missing_counters_of_servers_are_reported() -> None:
    assert "were not recorded" in composite_figure(site_of(client("a", 100))).finding


def test_counters_of_servers_are_drawn_with_the_clients() -> None:
    counter = client("disk1", 90, 110, layer="server", host="oss1", details={"source": "diskstats"})
    site = site_of(client("a", 100, 100), client("a", 70, operation=Operation.READ))
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


def test_a_run_without_rates_by_second_is_reported() -> None:
    assert "recorded no rates of single seconds" in composite_figure(site_of(failed())).absent
    assert composite_figure(site_of()._replace(run=None)).absent
    file_system = client("scratch", 200, details={"stragglers": []})
    parts = [client(name, details={"ranks": []}) for name in "ab"]
    assert (
        "recorded no rates of single seconds"
        in composite_figure(site_of(*parts, file_system)).absent
    )


def test_a_run_during_which_a_clock_was_set_is_not_drawn() -> None:
    late = client("b", 100, started_at=1.7e9, finished_at=1.7e9 + 1)
    absent = composite_figure(site_of(client("a", 100), late)).absent
    assert absent == (
        "the latest run of layer fs, run-1, seems longer than a day: a clock was set meanwhile"
    )


def test_only_the_slowest_of_many_components_are_named() -> None:
    many = [client(f"t{number}", 100, rate=1e8 + number) for number in range(20)]
    slow = [client("slow", 40, rate=4e7)]
    (plot,) = composite_figure(site_of(*many, *slow)).plots
    named = [trace["name"] for trace in plot.data if trace.get("showlegend")]
    assert sorted(named) == ["slow", "t0", "t1", "t2", "t3"]


# --- Counters of servers: on the clock of the clients, cut to the run, summed.


WINDOW = (1000.0, 1004.0)


def counter(component: str, *rates: float, **changes: Any) -> Record:
    values = {"layer": "server", "host": "oss1", "details": {"source": "diskstats"}, **changes}
    return record(component=component, profile=tuple(1e6 * rate for rate in rates), **values)


def run_of(*servers: Record, **changes: Any) -> Run:
    return Run("ost", "run-1", (record(component="a", **changes),), servers)


def test_counters_before_and_long_after_a_run_are_excluded() -> None:
    (curve,) = served(run_of(counter("d", *range(40), started_at=990.0)), "read", WINDOW)
    assert curve.begin_s == -1
    assert curve.rates == tuple(1e6 * second for second in range(9, 19))


def test_servers_count_rereads_as_reads() -> None:
    assert len(served(run_of(counter("d", 1, 2)), "reread", WINDOW)) == 1


def test_counters_of_parts_outside_the_path_of_a_run_are_excluded() -> None:
    run = run_of(counter("d", 1), counter("e", 1), path=("oss1", "d"))
    assert [curve.record.component for curve in served(run, "read", WINDOW)] == ["d"]
    assert len(served(run_of(counter("d", 1), counter("e", 1)), "read", WINDOW)) == 2


def test_counters_of_a_target_are_shown_only_during_its_own_measurement() -> None:
    targets = [
        record(component=name, started_at=1000.0 + begin, finished_at=1010.0 + begin)
        for name, begin in (("OST0", 0), ("OST1", 100))
    ]
    busy = [counter(name, *[1] * 300, started_at=900.0) for name in ("OST0", "OST1")]
    run = Run("ost", "run-1", tuple(targets), tuple(busy))
    first, second = served(run, "read", (1000.0, 1110.0))
    assert (first.begin_s, len(first.rates)) == (-1, 1 + 10 + 5)
    assert (second.begin_s, len(second.rates)) == (99, 1 + 10 + 5)


def test_a_known_clock_offset_is_corrected_and_reported() -> None:
    clocks = (NodeClock("oss1", 0.0, 3.5, 0.1), NodeClock("client1", 0.0, 0.5, 0.2))
    run = run_of(counter("d", 1, started_at=1004.0))._replace(clocks=clocks)
    counted = served(run, "read", WINDOW)
    assert counted[0].begin_s == pytest.approx(1.0)
    sentence = server_sentence(run, counted)
    assert "oss1, the farthest, was +3.00 s off, known to within 0.30 s" in sentence
    assert "(compared 1970-01-01 00:00 UTC)" in sentence


def test_clocks_that_agree_are_no_news() -> None:
    clocks = (NodeClock("oss1", 0.0, 0.504, 0.1), NodeClock("client1", 0.0, 0.5, 0.2))
    run = run_of(counter("d", 1, started_at=1001.0))._replace(clocks=clocks)
    sentence = server_sentence(run, served(run, "read", WINDOW))
    assert "none was off by more than could be known, within 0.30 s (compared" in sentence
    assert "farthest" not in sentence


@pytest.mark.parametrize("node", ["oss1", "client1"])
def test_an_unknown_clock_offset_is_reported(node: str) -> None:
    clocks = (NodeClock(node, 0.0, 3.5, 0.1),)
    run = run_of(counter("d", 1, started_at=1001.0))._replace(clocks=clocks)
    counted = served(run, "read", WINDOW)
    assert counted[0].begin_s == 1.0
    sentence = server_sentence(run, counted)
    assert "the clocks of 1 server (oss1) differ from the clients' is not known" in sentence
    assert "farthest" not in sentence


def test_counters_that_a_server_cannot_read_are_reported() -> None:
    closed = {"outcome": Outcome.FAILED, "reason": "root alone may read it", "rate": None}
    failed = [
        counter(name, operation=operation, **closed)
        for name in ("OST1", "OST0", "elsewhere")
        for operation in (Operation.READ, Operation.WRITE)
    ]
    run = run_of(counter("d", 1), *failed, path=("OST0", "OST1", "d"))
    words = " Not watched: OST0 and 1 more on oss1: root alone may read it."
    assert server_sentence(run, served(run, "read", WINDOW)).endswith(words)
    nothing = run_of(*failed[2:4], path=("OST0",))
    assert server_sentence(nothing, []).endswith(words.replace(" and 1 more", ""))


def test_missing_samples_are_reported() -> None:
    assert "were not recorded" in server_sentence(run_of(), [])


def test_devices_and_targets_are_never_added_up() -> None:
    lustre = {"details": {"source": "lustre"}}
    run = run_of(counter("d", 100), counter("scratch-OST0000", 90, **lustre))
    traces = server_traces(served(run, "read", WINDOW))
    assert {trace["name"]: trace["y"] for trace in traces if trace["name"].startswith("sum")} == {
        "sum of servers' devices": [100.0, 100.0],
        "sum of servers' targets": [90.0, 90.0],
    }


def test_only_the_sum_of_many_counters_is_drawn() -> None:
    run = run_of(*(counter(f"d{number}", 10) for number in range(336)))
    (only,) = server_traces(served(run, "read", WINDOW))
    assert only["y"] == [3360.0, 3360.0]


def test_other_operations_and_times_are_excluded() -> None:
    run = run_of(
        counter("d", 1, 2, operation=Operation.WRITE), counter("e", 1, 2, started_at=500.0)
    )
    assert served(run, "read", WINDOW) == []
    assert "none of them moved during this run" in server_sentence(run, [])
