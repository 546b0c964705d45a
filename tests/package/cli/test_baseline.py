"""``plumbline baseline``: capture, compare, accept and review baselines."""

from __future__ import annotations

import io
import json
import time
from pathlib import Path
from typing import Any, Mapping, Optional

import pytest
import yaml

from plumbline.judge.measured import doubt_about
from plumbline.model.errors import DocumentError
from plumbline.model.record import Operation, Scenario
from plumbline.site.documents import read_records
from plumbline.site.inventory import plan_of, read_inventory
from tests.package.cli.driver import Printed, Run, call, inventory
from tests.package.records import record

TARGETS = [f"scratch-OST{index}" for index in range(4)]


class Site:
    """An inventory and the records of its targets."""

    def __init__(self, folder: Path, run: Run, policy: Optional[dict[str, Any]] = None) -> None:
        self._run = run
        self.inventory = inventory(folder / "site", policy=policy)
        self.records = folder / "records.jsonl"
        entry = plan_of(read_inventory(self.inventory)).expectations["client1"][0]
        self.spec_hash = entry.spec.hash()

    def write(
        self,
        rates_MBps: dict[str, float],
        runs: int = 3,
        first_day: int = 0,
        versions: Mapping[str, str] = {"client": "2.17.0"},
    ) -> str:
        records = [
            record(
                component=component,
                rate=rate * 1e6,
                started_at=86400.0 * (first_day + day),
                spec_hash=self.spec_hash,
                versions=versions,
                fill=0.3,
            )
            for component, rate in rates_MBps.items()
            for day in range(runs)
        ]
        lines = (json.dumps(entry.to_json()) + "\n" for entry in records)
        self.records.write_text("".join(lines), encoding="utf-8")
        return str(self.records)

    def capture(self, rates_MBps: dict[str, float], *argv: str) -> Printed:
        return self.run("capture", "--records", self.write(rates_MBps), *argv)

    def accept(self, rates_MBps: dict[str, float], reason: str = "first", by: str = "ada") -> None:
        self.capture(rates_MBps)
        self.run("accept", "--reason", reason, "--by", by)

    def run(self, action: str, *argv: str, code: Optional[int] = 0) -> Printed:
        return self._run("baseline", action, "-i", self.inventory, *argv, code=code)

    @property
    def baselines(self) -> Path:
        return Path(self.inventory) / "group_vars" / "all" / "baselines.yml"

    def accepted(self) -> dict[str, Any]:
        raw = yaml.safe_load(self.baselines.read_text(encoding="utf-8"))
        entries: dict[str, Any] = raw["plumbline_baselines"]["accepted"]["ost"]
        return entries


@pytest.fixture
def site(tmp_path: Path, run: Run) -> Site:
    return Site(tmp_path, run)


def test_captured_compared_accepted_and_planned(site: Site) -> None:
    output = site.capture(dict.fromkeys(TARGETS, 75.0)).out
    assert "4 too weak to alarm: rests on 3 runs of 5 needed" in output
    assert "4 candidates in" in output
    assert "new" in site.run("diff").out
    accepted = site.run("accept", "--reason", "first light", "--by", "ada").out
    assert "4 baselines accepted" in accepted
    entry = site.accepted()["scratch-OST2"]["read/single"]
    assert (entry["median"], entry["accepted_by"]) == ("75 MB/s", "ada")
    references = plan_of(read_inventory(site.inventory)).expectations["client1"][2].references
    baseline = references["read/single"].baseline
    assert baseline
    assert baseline.median == pytest.approx(75e6)


def test_a_parallel_run_gets_a_baseline_for_the_file_system_and_for_each_target(
    tmp_path: Path,
) -> None:
    rules = {"clients": ["client1"], "tests": ["ost"]}
    folder = inventory(tmp_path / "site", policy={"schema": 1, "layers": {"fs": rules}})
    *targets, file_system = plan_of(read_inventory(folder)).node("client1").find("fs")
    measured = [
        record(
            layer="fs",
            component=entry.component,
            operation=operation,
            scenario=Scenario.TOGETHER,
            rate=factor * 60e6,
            started_at=86400.0 * day,
            spec_hash=entry.spec.hash(),
        )
        for entry, factor in (*((target, 1) for target in targets), (file_system, 4))
        for operation in (Operation.WRITE, Operation.READ, Operation.REREAD)
        for day in range(5)
    ]
    records = tmp_path / "records.jsonl"
    records.write_text("".join(json.dumps(record.to_json()) + "\n" for record in measured))
    assert call("baseline", "capture", "-i", folder, "--records", str(records)) == 0
    accept = ("baseline", "accept", "-i", folder, "--reason", "first light", "--by", "ada")
    assert call(*accept) == 0
    planned = plan_of(read_inventory(folder)).node("client1").find("fs")
    baselines = [entry.references["reread/together"].baseline for entry in planned]
    assert [base and round(base.median / 1e6) for base in baselines] == [60, 60, 60, 60, 240]


def test_capture_does_not_replace_an_accepted_baseline(site: Site) -> None:
    site.accept({"scratch-OST0": 80.0})
    before = site.accepted()
    site.capture({"scratch-OST0": 40.0})
    assert site.accepted() == before


def test_a_sibling_slower_than_the_others_is_reported_and_not_accepted(site: Site) -> None:
    rates = {**dict.fromkeys(TARGETS[:3], 75.0), TARGETS[3]: 30.0}
    sentence = "scratch-OST3 read: 30.0 MB/s is 40 % of its peers' 75.0 MB/s"
    assert sentence in site.capture(rates).out
    with pytest.raises(DocumentError, match="a slow part must not become the reference"):
        site.run("accept", "--reason", "first", "--by", "ada")
    assert not (Path(site.inventory) / "group_vars" / "all" / "baselines.yml").exists()
    by_name = ("--component", "scratch-OST3")
    site.run("accept", "--reason", "an older disk", "--by", "ada", *by_name)
    assert list(site.accepted()) == ["scratch-OST3"]


def test_the_login_name_is_the_default_for_accepted_by(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", "grace")
    site.capture({"scratch-OST0": 80.0})
    site.run("accept", "--reason", "first")
    assert site.accepted()["scratch-OST0"]["read/single"]["accepted_by"] == "grace"


def test_candidates_can_be_written_to_another_file(site: Site, tmp_path: Path) -> None:
    path = tmp_path / "candidates.yml"
    site.capture({"scratch-OST0": 80.0}, "--output", str(path))
    with pytest.raises(DocumentError, match="there are no candidates"):
        site.run("diff")
    site.run("diff", "--candidates", str(path))


def test_records_are_read_from_standard_input(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    text = Path(site.write({"scratch-OST0": 80.0})).read_text(encoding="utf-8")
    monkeypatch.setattr("sys.stdin", io.StringIO(text + "\n"))
    assert "1 candidates" in site.run("capture", "--records", "-").out


def test_records_without_a_baseline_get_a_reason(site: Site) -> None:
    with pytest.raises(DocumentError, match=r"can make a baseline \(3 above the ceiling\)"):
        site.capture({"scratch-OST1": 500.0})


@pytest.mark.parametrize("line", ["{", "[]", '{"schema": 9}', '{"schema": 1}'])
def test_a_damaged_line_of_records_is_named(site: Site, line: str) -> None:
    site.write({"scratch-OST0": 80.0}, runs=1)
    with site.records.open("a", encoding="utf-8") as stream:
        stream.write(line + "\n")
    with pytest.raises(DocumentError, match=r"records\.jsonl line 2 is no record: .*history --js"):
        site.run("capture", "--records", str(site.records))


def test_accepting_twice_changes_nothing(site: Site) -> None:
    site.accept(dict.fromkeys(TARGETS, 75.0))
    before = site.baselines.stat()
    assert (
        "has all of this already; nothing changed"
        in site.run("accept", "--reason", "first", "--by", "ada").out
    )
    assert site.baselines.stat().st_ino == before.st_ino


def test_a_dry_run_shows_the_baselines_to_accept_and_writes_nothing(site: Site) -> None:
    site.capture(dict.fromkeys(TARGETS, 75.0))
    file = read_inventory(site.inventory).baselines_file
    preview = site.run("accept", "--reason", "first", "--by", "ada", "--dry-run", "--json").document
    assert (preview["changed"], preview["before"], file.exists()) == (True, "", False)
    assert preview["sentences"][-1] == f"4 baselines would be accepted in {file}"
    assert (
        site.run("accept", "--reason", "first", "--by", "ada", "--json").document["after"]
        == preview["after"]
        == file.read_text()
    )
    assert (
        site.run("accept", "--reason", "first", "--by", "ada", "--json").document["changed"]
        is False
    )


def test_accepting_one_component_changes_only_its_block(site: Site) -> None:
    site.accept(dict.fromkeys(TARGETS, 75.0))
    before = site.baselines.read_text(encoding="utf-8").splitlines()
    site.capture(dict.fromkeys(TARGETS, 72.0))
    site.run("accept", "--reason", "new disk", "--by", "bob", "--component", "scratch-OST1")
    after = site.baselines.read_text(encoding="utf-8").splitlines()
    changed = [number for number, pair in enumerate(zip(before, after)) if len(set(pair)) > 1]
    assert [after[number].strip() for number in changed] == [
        "median: 72 MB/s",
        "accepted_by: bob",
        "reason: new disk",
    ]
    assert len(before) == len(after)
    assert max(changed) < after.index("      scratch-OST2:")


def test_comments_of_a_person_are_preserved_or_the_file_is_refused(site: Site) -> None:
    site.accept(dict.fromkeys(TARGETS, 75.0))
    text = site.baselines.read_text(encoding="utf-8")
    site.baselines.write_text("# Ask ada before you change this.\n" + text, encoding="utf-8")
    site.run("accept", "--reason", "second", "--by", "ada")
    text = site.baselines.read_text(encoding="utf-8")
    assert "# Ask ada before you change this.\n" in text
    noted = text.replace("median: 75 MB/s", "median: 75 MB/s  # slow", 1)
    site.baselines.write_text(noted, encoding="utf-8")
    with pytest.raises(DocumentError, match=r"baselines\.yml line \d+ has a comment that would be"):
        site.run("accept", "--reason", "third", "--by", "ada")
    assert site.baselines.read_text(encoding="utf-8") == noted


@pytest.mark.parametrize(
    ("runs", "limits", "changes", "doubt"),
    [
        (5, {}, {}, ""),
        (3, {"min_runs": 3}, {}, ""),
        (3, {}, {}, "its baseline rests on 3 runs of 5 needed"),
        (5, {}, {"versions": {}}, "its baseline was taken under client 2.17.0, now unknown"),
        (
            5,
            {"fill_change": "5 %"},
            {"host": "client2", "fill": 0.4},
            "its baseline was taken under host client1, now client2; under fill 30 %, now 40 %",
        ),
        (5, {}, {"fill": 0.45}, ""),
    ],
)
def test_a_doubtful_baseline_gives_its_reason(
    *,
    tmp_path: Path,
    run: Run,
    runs: int,
    limits: dict[str, Any],
    changes: dict[str, Any],
    doubt: str,
) -> None:
    site = Site(tmp_path, run, {"schema": 1, "limits": limits})
    site.run("capture", "--records", site.write({"scratch-OST0": 75.0}, runs=runs))
    site.run("accept", "--reason", "first", "--by", "ada")
    (entry, *_) = plan_of(read_inventory(site.inventory)).expectations["client1"]
    entry = type(entry).from_json(json.loads(json.dumps(entry.to_json())))
    baseline = entry.references["read/single"].baseline
    assert baseline
    (now,) = read_records([site.write({"scratch-OST0": 75.0}, runs=1)])
    assert doubt_about(baseline, now._replace(**changes), entry.limits) == doubt


def test_a_diff_is_sorted_by_the_given_column(site: Site) -> None:
    site.accept(dict.fromkeys(TARGETS, 75.0))
    site.capture(dict(zip(TARGETS, (75.0, 74.0, 72.0, 79.0))))
    for sort, order in (("change", (3, 2, 1, 0)), ("component", (0, 1, 2, 3))):
        rows = site.run("diff", "--json", "--sort", sort).document
        assert [row["component"] for row in rows] == [TARGETS[index] for index in order]


def test_a_site_without_baselines_has_no_old_baselines(site: Site) -> None:
    assert site.run("age").out.startswith("BASELINES OK - there are none yet")


def test_an_old_baseline_is_a_warning_with_the_remedy(site: Site) -> None:
    site.accept({"scratch-OST0": 75.0})
    first, *rows, remedy, missing, hint = site.run("age", code=1).out.splitlines()
    assert first.startswith("BASELINES WARNING - 1 of 1 are to be renewed, most often: ")
    assert "limit 180 d" in rows[-1]
    assert remedy == "remedy for 1: measure, capture and accept again"
    assert missing.endswith("measurements have no baseline, such as net oss1 receive")
    assert hint == "versions and settings were not compared: give --records"


def test_a_baseline_of_other_versions_is_a_warning(site: Site) -> None:
    now = round(time.time() / 86400.0) - 3
    records = site.write({"scratch-OST0": 75.0}, first_day=now)
    site.run("capture", "--records", records)
    site.run("accept", "--reason", "first", "--by", "ada")
    site.run("age", "--records", records)
    upgraded = site.write({"scratch-OST0": 75.0}, first_day=now, versions={"client": "2.18.0"})
    review = site.run("age", "--json", "--records", upgraded, code=1).document
    assert (review["state"], review["compared"], review["total"]) == ("WARNING", True, 1)
    assert review["aged"][0]["reasons"] == ["client 2.17.0 -> 2.18.0"]


def test_a_baseline_below_its_floor_is_accepted_only_with_the_flag(site: Site) -> None:
    text = "scratch-OST0 read: 10.0 MB/s is 12.5 % of the ceiling 80.0 MB/s, floor 30 %"
    assert f"below its floor: ost {text}" in site.capture(dict.fromkeys(TARGETS, 10.0)).out
    differences = site.run("diff").out
    assert f"below its floor: ost {text}" in differences
    assert sum(line.endswith("below floor, weak") for line in differences.splitlines()) == 4
    with pytest.raises(DocumentError, match=r"floor 30 % \(and 3 more\); mend what limits it"):
        site.run("accept", "--reason", "first", "--by", "ada")
    assert not site.baselines.exists()
    options = ("--reason", "old shelves", "--by", "ada", "--below-floor")
    assert f"below its floor: ost {text}" in site.run("accept", *options).out
    entry = site.accepted()["scratch-OST0"]["read/single"]
    assert entry["below_floor"] == text.partition("read: ")[2]


def test_baseline_age_lists_baselines_accepted_below_their_floor(site: Site) -> None:
    now = round(time.time() / 86400.0) - 3
    site.run("capture", "--records", site.write(dict.fromkeys(TARGETS, 10.0), first_day=now))
    site.run("accept", "--reason", "old shelves", "--by", "ada", "--below-floor")
    lines = site.run("age").out.splitlines()
    assert lines[:2] == [
        "BASELINES OK - 4 hold",
        "accepted below its floor: ost scratch-OST0 read: 10.0 MB/s is 12.5 % of the ceiling "
        "80.0 MB/s, floor 30 %; accepted by ada: old shelves",
    ]
    review = site.run("age", "--json").document
    assert [row["component"] for row in review["below_floor"]] == TARGETS
    # a new baseline above the floor removes the mark
    site.run("capture", "--records", site.write(dict.fromkeys(TARGETS, 60.0), first_day=now))
    site.run("accept", "--reason", "new shelves", "--by", "ada")
    assert "below its floor" not in site.run("age").out
