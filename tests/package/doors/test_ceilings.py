"""Tables of ceilings: equal rates are one line, different rates stay apart."""

from __future__ import annotations

from typing import Any

from plumbline.doors.ceilings import Table, tables
from plumbline.plan.assignments import assignments
from plumbline.plan.policy import load
from plumbline.plan.references import at_once, measurements
from plumbline.topology.graph import build
from tests.package.sites import part, site


def tables_of(document: dict[str, Any]) -> dict[str, Table]:
    """Return tables by their first two headers."""
    topology = build(document)
    measured = assignments(topology, load({}))
    lines = [*measurements(topology, measured), *at_once(topology)]
    return {" ".join(table.headers[:2]): table for table in tables(topology, lines)}


def test_incomplete_ranges_are_counted_and_single_names_shown() -> None:
    document = site()
    document["file_systems"][0]["retired"] = ["scratch-OST3"]
    by_headers = tables_of(document)
    assert by_headers["layer component"].rows[0][1] == "3 of scratch-OST[0-3]"
    assert [row[0] for row in by_headers["at once targets"].rows if row[0]] == [
        "oss1",
        "all of scratch",
    ]


def test_operations_are_merged_only_for_the_same_names() -> None:
    document = site()
    disks = part(document, "oss[1-2]-disk[1-2]")
    document["parts"].remove(disks)
    fast = {**disks, "name": "oss1-disk[1-2]", "feeds": "oss1"}
    odd = {
        **disks,
        "name": "oss2-disk[1-2]",
        "feeds": "oss2",
        "read": "70 MB/s",
        "write": "80 MB/s",
    }
    odd.pop("rate")
    document["parts"] += [fast, odd]
    document["file_systems"][0]["targets"] = [
        {"name": "scratch-OST[0-1]", "part": "oss1-disk[1-2]", "subvolume": "s-client-[0-1]"},
        {"name": "scratch-OST[2-3]", "part": "oss2-disk[1-2]", "subvolume": "s-client-[2-3]"},
    ]
    rows = [row for row in tables_of(document)["layer component"].rows if row[0] == "ost"]
    assert [row[1:4] for row in rows] == [
        ("scratch-OST[0-1]", "write, read", "80.0 MB/s"),
        ("scratch-OST[2-3]", "write", "80.0 MB/s"),
        ("scratch-OST[2-3]", "read", "70.0 MB/s"),
    ]


def test_a_range_of_rates_keeps_different_units() -> None:
    document = site()
    line = next(row for row in at_once(build(document)) if row.component == "scratch")
    for each_Bps, text in (
        ((20e6, 62.5e6), "20.0-62.5 MB/s"),
        ((800e6, 12e9), "800.0 MB/s-12.0 GB/s"),
        ((45e9, 45e9 + 1e-3), "45.0 GB/s"),
        (None, "unknown"),
    ):
        (table,) = tables(build(document), [line._replace(each_Bps=each_Bps)])
        assert table.rows[0][3] == text


def test_long_lists_of_names_continue_on_the_next_row() -> None:
    document = site()
    for letter in "abcdef":
        name = f"oss[1-2]-{letter * 24}"
        below = part(document, "oss[1-2]-disk[1-2]")["feeds"]
        document["parts"].append({"name": name, "kind": "link", "rate": "80 MB/s", "feeds": below})
        part(document, "oss[1-2]-disk[1-2]")["feeds"] = name
    rows = tables_of(document)["layer component"].rows
    assert all(sum(map(len, row)) <= 120 for row in rows)
    assert rows[0][-1].endswith(",")
    assert rows[1][:4] == ("", "", "", "")
    text = " ".join(row[-1] for row in rows)
    assert f"oss[1-2]-{'f' * 24}, oss[1-2]-disk[1-2]" in text
