"""``plumbline topology check --measured``: the wiring by the records of a history."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Sequence

import pytest

from plumbline.model.errors import StoreError
from plumbline.model.record import Flag, Record, Scenario
from plumbline.store.history import History
from tests.package.cli.driver import Run, call, inventory
from tests.package.cli.test_topology import lustre
from tests.package.plan.test_exposure import array
from tests.package.records import record
from tests.package.sites import parts

DISKS = ("oss1-disk1", "oss2-disk1", "oss1-disk2")
"""Those that read the controller together: 600 MB/s of 545."""


def device_reads(component: str, rate: float, scenario: Scenario = Scenario.SINGLE) -> list[Record]:
    return [
        record(layer="raw", component=component, scenario=scenario, rate=rate) for _ in range(3)
    ]


def sums(*rates: float, **details: Any) -> list[Record]:
    flows = [
        {"node": name[:4], "layer": "raw", "component": name, "rate_Bps": rate, "reason": ""}
        for name, rate in zip(DISKS, rates)
    ]
    row = {"details": {"flows": flows}, **details}
    return [
        record(layer="shared", component="ctl", scenario=Scenario.TOGETHER, rate=sum(rates), **row)
        for _ in range(3)
    ]


def site(folder: Path, records: Sequence[Record]) -> tuple[str, ...]:
    topology = parts(*array(rate="545 MB/s"))
    path = folder / "history.sqlite"
    with History(path) as history:
        for item in records:
            history.save(item)
    names = inventory(folder / "site", topology, {"layers": {"shared": {}}})
    return "topology", "check", "-i", names, "--measured", str(path)


def alone() -> list[Record]:
    names = ("oss1-disk1", "oss1-disk2", "oss2-disk1", "oss2-disk2")
    return [item for name in names for item in device_reads(name, 200e6)]


def measured(run: Run, words: tuple[str, ...], code: int = 0) -> list[str]:
    lines = run(*words, code=code).out.splitlines()
    return [line for line in lines if line.startswith("measured: ")]


def test_a_part_that_limits_the_sum_of_its_reads_is_wired_as_drawn(
    tmp_path: Path, run: Run
) -> None:
    lines = measured(run, site(tmp_path, [*alone(), *sums(180e6, 180e6, 180e6)]))
    assert lines[-1] == "measured: wired as drawn: ctl"
    assert lines[0].startswith("measured: not yet 3 runs of the devices of oss1, the devices of")


def test_reads_that_exceed_a_part_end_with_one(tmp_path: Path, run: Run) -> None:
    words = site(tmp_path, [*alone(), *sums(200e6, 199e6, 201e6)])
    line, _ = measured(run, words, code=1)
    assert "give 600.0 MB/s, 110 % of the 545.0 MB/s of ctl: they do not all cross it" in line


def test_json_has_the_differences_and_the_parts_that_are_proven(tmp_path: Path, run: Run) -> None:
    words = site(tmp_path, [*alone(), *sums(180e6, 180e6, 180e6)])
    assert run(*words, "--json").document["wiring"] == {
        "differences": [],
        "proven": ["ctl"],
        "unmeasured": ["the devices of oss1", "the devices of oss2"],
        "served": [],
    }


def test_damaged_and_failed_sums_do_not_count(tmp_path: Path, run: Run) -> None:
    bad = sums(180e6, 180e6, 180e6, details={"flows": [{"component": 7, "rate_Bps": "x"}, 5]})
    lines = measured(run, site(tmp_path, [*alone(), *bad, *sums(200e6, 200e6, 200e6)[:2]]))
    assert "the reads of ctl" in lines[0]
    assert lines[-1] == "measured: nothing is read at once that asks a part for more than it gives"


def test_a_history_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    *words, path = site(tmp_path, [])
    with pytest.raises(StoreError, match="there is no history"):
        call(*words, f"{path}.none")


def test_sums_that_others_disturbed_do_not_count(tmp_path: Path, run: Run) -> None:
    disturbed = sums(200e6, 200e6, 200e6, coverage=0.5)
    lines = measured(run, site(tmp_path, [*alone(), *disturbed]))
    assert "the reads of ctl" in lines[0]


def test_an_ost_that_is_recorded_on_another_server_is_a_difference(
    tmp_path: Path, run: Run
) -> None:
    folder = lustre(tmp_path)
    path = tmp_path / "history.sqlite"
    away = {"versions": {"nid": "10.0.0.2@tcp"}, "flags": (Flag.FAILED_OVER,)}
    rows: list[tuple[str, dict[str, Any]]] = [
        ("fs1-OST0000", {"versions": {"nid": "10.0.0.1@tcp"}}),
        # where it was before it was moved says nothing of today
        ("fs1-OST0001", {"versions": {"nid": "10.0.0.2@tcp"}}),
        ("fs1-OST0001", {"versions": {"nid": "10.0.0.1@tcp"}}),
        # the first of two servers that take over for each other need not be its own
        ("fs1-OST0000", away),
    ]
    with History(path) as history:
        for component, details in rows:
            history.save(record(component=component, **details))
    lines = measured(run, ("topology", "check", "-i", folder, "--measured", str(path)), code=1)
    assert lines[0] == (
        "measured: fs1-OST0001 is served by oss1 (10.0.0.1@tcp), but the topology has it behind "
        "oss2: a fault would be blamed on the wrong server"
    )
    assert "measured: on the server that Lustre names: 1 OST" in lines
