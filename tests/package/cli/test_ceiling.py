"""``plumbline ceiling`` prints each rate with the parts that set it, and the next ones."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from plumbline.model.units import format_rate
from tests.characterization.product import inventories
from tests.package.cli.driver import Run, inventory
from tests.package.sites import INVENTORIES, part, site


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_alike_measurements_share_a_line(tmp_path: Path, run: Run) -> None:
    found = rows(run("ceiling", "-i", inventory(tmp_path)).out)
    rate, disks = ["80.0", "MB/s"], "oss[1-2]-disk[1-2]"
    at = found.index(["ost", "scratch-OST[0-3]", "write,", "read", *rate, disks])
    assert found[at + 1] == ["next", "125.0", "MB/s", "oss[1-2]-nic"]
    assert found[at + 2] == ["raw", disks, "read,", "read", "together", *rate, disks]
    each, total = ["62.5", "MB/s"], ["125.0", "MB/s"]
    at = found.index(["oss[1-2]", "2", "write,", "read", *each, *total, "oss[1-2]-nic"])
    assert found[at + 1] == ["next", "160.0", "MB/s", disks]
    assert not [line for line in found if "-" in line]


def test_pairs_are_shown_with_their_layer(tmp_path: Path, run: Run) -> None:
    found = rows(run("ceiling", "-i", inventory(tmp_path), "--layer", "net").out)
    pair = ["net", "oss1", "-", "oss2", "send", "or", "receive"]
    assert [*pair, "125.0", "MB/s", "oss[1-2]-nic"] in found


def printed(run: Run, *argv: str) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = run("ceiling", "--json", *argv).document
    return lines


def test_programs_get_the_same_numbers(tmp_path: Path, run: Run) -> None:
    document = site()
    part(document, "oss[1-2]-disk[1-2]").pop("rate")
    folder = inventory(tmp_path, document)
    lines = printed(run, "-i", folder)
    raw = next(line for line in lines if line["layer"] == "raw")
    assert (raw["rate_Bps"], raw["limited_by"], raw["next_Bps"]) == (None, [], None)
    target = next(line for line in lines if line["component"] == "scratch-OST3")
    assert (target["rate_Bps"], target["limited_by"]) == (125e6, ["oss2-nic"])
    assert (target["next_Bps"], target["next_limited_by"]) == (1e9, ["client1"])
    assert (target["flows"], target["number"], target["each_Bps"]) == ("one", 1, [125e6, 125e6])
    assert target["path"][-1] == "scratch-OST3"
    server = next(line for line in lines if line["component"] == "oss2" and line["number"] == 2)
    assert (server["scenario"], server["flows"]) == ("together", "targets")
    assert (server["rate_Bps"], server["each_Bps"]) == (125e6, [62.5e6, 62.5e6])
    whole = next(line for line in lines if line["component"] == "scratch")
    assert (whole["scenario"], whole["number"], whole["rate_Bps"]) == ("all", 4, 250e6)
    pairs = printed(run, "-i", folder, "--layer", "net")
    assert [line["partner"] for line in pairs if line["partner"]] == ["oss2"]


def test_a_path_without_rates_says_so(tmp_path: Path, run: Run) -> None:
    document = site()
    part(document, "oss[1-2]-disk[1-2]").pop("rate")
    assert (
        "unknown  no part on the path has a rate"
        in run("ceiling", "-i", inventory(tmp_path, document), "--layer", "raw").out
    )


def test_a_layer_without_measurements_says_so(run: Run) -> None:
    assert (
        run("ceiling", "-i", str(INVENTORIES / "edison"), "--layer", "raw").out
        == "nothing is measured in layer raw\n"
    )


def test_the_table_has_the_numbers_that_programs_get(run: Run) -> None:
    folder = str(INVENTORIES / "redstorm")
    lines = printed(run, "-i", folder)
    rates = {line[key] for line in lines for key in ("rate_Bps", "next_Bps") if line[key]}
    rates.update(rate for line in lines for rate in line["each_Bps"])
    rates.update(rate for line in lines for rate in line["demonstrated_Bps"].values())
    shown = re.findall(r"[0-9.]+ [kMG]?B/s", run("ceiling", "-i", folder).out)
    assert set(shown) == {format_rate(rate) for rate in rates}
    # the shape of section III of the paper: a port, an adapter, a controller, all of them
    assert {"200.0 MB/s", "400.0 MB/s", "624.0 MB/s", "800.0 MB/s", "64.0 GB/s"} <= set(shown)


def test_what_was_demonstrated_stands_below_its_ceiling(tmp_path: Path, run: Run) -> None:
    found = rows(run("ceiling", "-i", str(INVENTORIES / "redstorm")).out)
    port = ["200.0", "MB/s", "oss[001-160]-fc1,", "ddn[01-40]a-fc[1-4]"]
    at = found.index(["ost", "scratch-OST[0000-009f]", "write,", "read", *port])
    assert found[at + 2] == ["raw", "write", "196.2", "MB/s", "demonstrated,", "98", "%"]
    edison = rows(run("ceiling", "-i", str(INVENTORIES / "edison")).out)
    # both operations that gave the same
    assert ["fs", "write,", "read", "36.0", "GB/s", "demonstrated,", "75", "%"] in edison
    folder = inventory(tmp_path, site())
    baseline = {"median": "60 MB/s", "spread": "1 %", "runs": 12, "spec": "1a2b3c4d5e6f"}
    days = {"first": "2026-11-01", "last": "2026-11-20", "versions": {}}
    entry = {**baseline, **days, "accepted_by": "ada", "reason": "new"}
    steps = {f"scratch-OST{number}": {"read/single": entry} for number in range(4)}
    steps["scratch-OST3"] = {"read/single": {**entry, "median": "70 MB/s"}}
    disk = {"oss1-disk1": {"read/single": {**entry, "median": "95 MB/s"}}}
    accepted = {"ost": steps, "raw": disk}
    document = {"plumbline_baselines": {"schema": 1, "accepted": accepted}}
    path = tmp_path / "group_vars" / "all" / "baselines.yml"
    path.write_text(json.dumps(document), encoding="utf-8")
    # of several the lowest and the highest, and the share of the one in the middle
    own = rows(run("ceiling", "-i", folder).out)
    assert ["ost", "read", "60.0-70.0", "MB/s", "demonstrated,", "75", "%"] in own
    # what a disk gives by itself is more than the way to its target carries, and no share of it
    assert ["raw", "read", "95.0", "MB/s", "demonstrated"] in own
    assert ["raw", "read", "95.0", "MB/s", "demonstrated,", "119", "%"] in own


def test_rates_are_shown_for_a_zone_of_the_disks(tmp_path: Path, run: Run) -> None:
    document = site()
    part(document, "oss[1-2]-disk[1-2]").update(average="70 MB/s", slowest="50 MB/s")
    folder = inventory(tmp_path, document)
    for zone, rate_Bps in (("fastest", 80e6), ("average", 70e6), ("slowest", 50e6)):
        lines = printed(run, "-i", folder, "--layer", "raw", "--zone", zone)
        assert {line["rate_Bps"] for line in lines} == {rate_Bps}


@pytest.mark.parametrize("name", ["lab", "example", "redstorm", "edison", "bgl", "jaguar"])
def test_the_table_fits_120_columns_and_a_screen(name: str, run: Run) -> None:
    # a lab that runs has accepted baselines in its own
    lines = run("ceiling", "-i", str(inventories() / name)).out.splitlines()
    assert max(map(len, lines)) <= 120
    # bgl has hosts and targets of five kinds, in layers of which the others have at most three
    assert len(lines) <= (80 if name == "bgl" else 40)


def test_the_documentation_shows_what_is_printed(run: Run) -> None:
    page = (INVENTORIES.parent / "docs" / "topology.md").read_text(encoding="utf-8")
    command = "$ plumbline ceiling -i inventories/redstorm --layer ost\n"
    block = page.partition(command)[2].partition("...\n")[0]
    assert block.count("\n") > 10
    printed_now = run("ceiling", "-i", str(INVENTORIES / "redstorm"), "--layer", "ost").out
    assert printed_now.startswith(block)
