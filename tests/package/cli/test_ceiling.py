"""``plumbline ceiling`` prints each rate with the part that sets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.package.cli.driver import call, inventory
from tests.package.sites import part, site


def test_each_operation_has_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("ceiling", "-i", inventory(tmp_path)) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["ost", "scratch-OST2", "write", "80.0", "MB/s", "oss2-disk1"] in lines
    assert ["raw", "oss1-disk1", "read", "together", "80.0", "MB/s", "oss1-disk1"] in lines
    assert not [line for line in lines if "-" in line]


def test_pairs_are_shown_with_their_layer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("ceiling", "-i", inventory(tmp_path), "--layer", "net") == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    pair = ["net", "oss1", "-", "oss2", "send", "or", "receive"]
    assert [*pair, "125.0", "MB/s", "oss1-nic,", "oss2-nic"] in lines


def test_programs_get_the_same_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = site()
    part(document, "oss[1-2]-disk[1-2]").pop("rate")
    assert call("ceiling", "-i", inventory(tmp_path, document), "--json") == 0
    lines = json.loads(capsys.readouterr().out)
    raw = next(line for line in lines if line["layer"] == "raw")
    assert (raw["rate_Bps"], raw["limited_by"]) == (None, [])
    target = next(line for line in lines if line["component"] == "scratch-OST3")
    assert (target["rate_Bps"], target["limited_by"]) == (125e6, ["oss2-nic"])
    assert target["path"][-1] == "scratch-OST3"
    assert [line["partner"] for line in lines if line["partner"]] == ["oss2"]


def test_a_path_without_rates_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = site()
    part(document, "oss[1-2]-disk[1-2]").pop("rate")
    assert call("ceiling", "-i", inventory(tmp_path, document), "--layer", "raw") == 0
    assert "no part on the path has a rate" in capsys.readouterr().out
