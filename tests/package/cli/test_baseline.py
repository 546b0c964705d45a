"""``plumbline baseline``: from records to an accepted document, and nothing unsaid."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from plumbline.cli.inventory import plan_of, read_inventory
from plumbline.errors import DocumentError, UsageError
from tests.package.cli.driver import call, inventory
from tests.package.records import record

TARGETS = [f"scratch-OST{index}" for index in range(4)]


class Site:
    """An inventory, and the records of its targets."""

    def __init__(self, folder: Path) -> None:
        self.inventory = inventory(folder / "site")
        self.records = folder / "records.jsonl"
        entry = plan_of(read_inventory(self.inventory)).expectations["client1"][0]
        self.spec_hash = entry.spec.hash()

    def write(self, rates_MBps: dict[str, float], runs: int = 3) -> str:
        found = [
            record(
                component=component,
                rate_Bps=rate * 1e6,
                started_at=86400.0 * day,
                spec_hash=self.spec_hash,
                versions={"client": "2.17.0"},
            )
            for component, rate in rates_MBps.items()
            for day in range(runs)
        ]
        lines = (json.dumps(one.to_json()) + "\n" for one in found)
        self.records.write_text("".join(lines), encoding="utf-8")
        return str(self.records)

    def capture(self, rates_MBps: dict[str, float], *argv: str) -> int:
        return self.call("capture", "--records", self.write(rates_MBps), *argv)

    def call(self, action: str, *argv: str) -> int:
        return call("baseline", action, "-i", self.inventory, *argv)

    def accepted(self) -> dict[str, Any]:
        path = Path(self.inventory) / "group_vars" / "all" / "baselines.yml"
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
        found: dict[str, Any] = raw["plumbline_baselines"]["accepted"]["ost"]
        return found


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_captured_compared_accepted_and_planned(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    assert site.capture(dict.fromkeys(TARGETS, 75.0)) == 0
    assert "4 candidates in" in capsys.readouterr().out
    assert site.call("diff") == 0
    assert "new" in capsys.readouterr().out
    assert site.call("accept", "--reason", "first light", "--by", "ada") == 0
    assert "4 baselines accepted" in capsys.readouterr().out
    entry = site.accepted()["scratch-OST2"]["read/single"]
    assert (entry["median"], entry["accepted_by"]) == ("75 MB/s", "ada")
    references = plan_of(read_inventory(site.inventory)).expectations["client1"][2].references
    baseline = references["read/single"].baseline
    assert baseline
    assert baseline.median_Bps == pytest.approx(75e6)


def test_a_diff_tells_the_change(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    site.capture({"scratch-OST0": 80.0})
    site.call("accept", "--reason", "first", "--by", "ada")
    site.capture({"scratch-OST0": 60.0})
    capsys.readouterr()
    site.call("diff")
    line = capsys.readouterr().out.splitlines()[-1]
    assert "-25.0 %" in line
    site.call("diff", "--json")
    (change,) = json.loads(capsys.readouterr().out)
    assert change["ratio"] == pytest.approx(0.75)


def test_accepting_keeps_what_has_no_candidate(site: Site) -> None:
    site.capture({"scratch-OST0": 80.0, "scratch-OST1": 80.0})
    site.call("accept", "--reason", "first", "--by", "ada")
    site.capture({"scratch-OST1": 75.0})
    site.call("accept", "--reason", "new firmware", "--by", "bob")
    medians = {name: steps["read/single"]["median"] for name, steps in site.accepted().items()}
    assert medians == {"scratch-OST0": "80 MB/s", "scratch-OST1": "75 MB/s"}
    assert site.accepted()["scratch-OST0"]["read/single"]["reason"] == "first"


def test_capturing_replaces_no_baseline(site: Site) -> None:
    site.capture({"scratch-OST0": 80.0})
    site.call("accept", "--reason", "first", "--by", "ada")
    before = site.accepted()
    site.capture({"scratch-OST0": 40.0})
    assert site.accepted() == before


def test_a_slow_sibling_is_said_and_refused(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    rates = {**dict.fromkeys(TARGETS[:3], 75.0), TARGETS[3]: 30.0}
    site.capture(rates)
    said = "scratch-OST3 read: 30.0 MB/s is 40 % of its siblings' 75.0 MB/s"
    assert said in capsys.readouterr().out
    with pytest.raises(DocumentError, match="a slow part must not become the reference"):
        site.call("accept", "--reason", "first", "--by", "ada")
    assert not (Path(site.inventory) / "group_vars" / "all" / "baselines.yml").exists()
    named = ("--component", "scratch-OST3")
    assert site.call("accept", "--reason", "an older disk", "--by", "ada", *named) == 0
    assert list(site.accepted()) == ["scratch-OST3"]


def test_the_login_name_accepts_when_nobody_is_named(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", "grace")
    site.capture({"scratch-OST0": 80.0})
    site.call("accept", "--reason", "first")
    assert site.accepted()["scratch-OST0"]["read/single"]["accepted_by"] == "grace"


def test_candidates_can_lie_elsewhere(site: Site, tmp_path: Path) -> None:
    path = tmp_path / "candidates.yml"
    site.capture({"scratch-OST0": 80.0}, "--output", str(path))
    with pytest.raises(DocumentError, match="there are no candidates"):
        site.call("diff")
    assert site.call("diff", "--candidates", str(path)) == 0


def test_programs_are_told_what_was_left_out(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    site.capture({"scratch-OST0": 80.0, "scratch-OST1": 500.0}, "--json")
    told = json.loads(capsys.readouterr().out)
    assert told["left_out"] == {"above the ceiling": 3}
    assert [one["component"] for one in told["captured"]] == ["scratch-OST0"]
    site.call("accept", "--reason", "first", "--by", "ada", "--json")
    told = json.loads(capsys.readouterr().out)
    assert [one["component"] for one in told["accepted"]] == ["scratch-OST0"]


def test_records_come_from_standard_input(
    site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = Path(site.write({"scratch-OST0": 80.0})).read_text(encoding="utf-8")
    monkeypatch.setattr("sys.stdin", io.StringIO(text + "\n"))
    assert site.call("capture", "--records", "-") == 0
    assert "1 candidates" in capsys.readouterr().out


def test_records_that_make_no_baseline_say_why(site: Site) -> None:
    with pytest.raises(DocumentError, match=r"can make a baseline \(3 above the ceiling\)"):
        site.capture({"scratch-OST1": 500.0})


@pytest.mark.parametrize("line", ["{", "[]", '{"schema": 9}', '{"schema": 1}'])
def test_a_line_that_is_no_record_is_named(site: Site, line: str) -> None:
    site.write({"scratch-OST0": 80.0}, runs=1)
    with site.records.open("a", encoding="utf-8") as stream:
        stream.write(line + "\n")
    with pytest.raises(DocumentError, match=r"records\.jsonl line 2 is no record: .*history --js"):
        site.call("capture", "--records", str(site.records))


def test_a_missing_records_file_is_named(site: Site) -> None:
    with pytest.raises(DocumentError, match=r"records nowhere\.jsonl cannot be read"):
        site.call("capture", "--records", "nowhere.jsonl")


def test_no_runs_make_no_baseline(site: Site) -> None:
    with pytest.raises(UsageError, match="--last 0 leaves no run"):
        site.capture({"scratch-OST0": 80.0}, "--last", "0")
