"""Baselines: writing and reading, comparison, review and acceptance."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from plumbline.model.errors import DocumentError, UsageError
from plumbline.model.limits import Baseline
from plumbline.model.quantity import BYTES_PER_S
from plumbline.model.units import parse_rate
from plumbline.plan.baseline import (
    Candidate,
    Change,
    Key,
    accept,
    biggest_first,
    compare,
    read_baselines,
    read_candidates,
    review,
    write_baselines,
    write_candidates,
)
from tests.package.recorded import table
from tests.package.sites import DATA

KEY = Key("ost", "scratch-OST0003", "write", "single")
BASELINE = Baseline(
    115.2e6,
    0.0042,
    12,
    "2026-11-01",
    "2026-11-20",
    "1a2b3c4d5e6f",
    {"client": "2.17.0"},
    "ada",
    "new disks",
    "fio, 1 GiB, transfer 1 MiB, depth 8, direct",
    "client1",
    "fio 3.39",
    0.31,
)


def document() -> dict[str, Any]:
    return dict(write_baselines({KEY: BASELINE})["plumbline_baselines"])


def entry(raw: dict[str, Any]) -> dict[str, Any]:
    raw_entry: dict[str, Any] = raw["accepted"]["ost"]["scratch-OST0003"]["write/single"]
    return raw_entry


def test_a_candidate_survives_with_its_remarks() -> None:
    remarks = ("40 % of its peers' 200.0 MB/s", "rests on 3 runs of 5 needed")
    candidate = Candidate(BASELINE._replace(accepted_by="", reason=""), *remarks)
    raw = write_candidates({KEY: candidate})["plumbline_candidates"]
    assert read_candidates(raw) == {KEY: candidate}


def test_the_documented_example_is_read_and_written_unchanged() -> None:
    raw = yaml.safe_load((DATA / "baseline" / "accepted.yml").read_text(encoding="utf-8"))
    baselines = read_baselines(raw["plumbline_baselines"])
    assert baselines[KEY] == BASELINE
    assert write_baselines(baselines) == raw


def test_entries_are_sorted() -> None:
    keys = [KEY, KEY._replace(operation="read"), KEY._replace(component="a"), Key("net", *KEY[1:])]
    accepted = write_baselines(dict.fromkeys(keys, BASELINE))["plumbline_baselines"]["accepted"]
    assert list(accepted) == ["net", "ost"]
    assert list(accepted["ost"]) == ["a", "scratch-OST0003"]
    assert list(accepted["ost"]["scratch-OST0003"]) == ["read/single", "write/single"]


REFUSED = table("baseline/refused.yml")


@pytest.mark.parametrize("case", REFUSED["entries"], ids=str)
def test_a_damaged_entry_is_named(case: dict[str, Any]) -> None:
    raw = document()
    entry(raw).update(case["change"])
    with pytest.raises(DocumentError) as caught:
        read_baselines(raw)
    assert case["says"] in str(caught.value)
    assert "scratch-OST0003" in str(caught.value)


@pytest.mark.parametrize("case", REFUSED["documents"], ids=str)
def test_an_invalid_document_is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(DocumentError) as caught:
        read_baselines(case["document"])
    assert case["says"] in str(caught.value)


@pytest.mark.parametrize(
    ("rate", "text"),
    [
        (115.2e6, "115.2 MB/s"),
        (115234567.0, "115.23 MB/s"),
        (1.25e9, "1250 MB/s"),
        (48e9, "48 GB/s"),
        (4321.0, "4.321 kB/s"),
        (43.0, "43 B/s"),
    ],
)
def test_a_rate_is_written_with_a_precision_of_one_in_ten_thousand(rate: float, text: str) -> None:
    assert BYTES_PER_S.text(rate) == text
    assert parse_rate(text) == pytest.approx(rate, rel=1e-4)


def test_a_key_is_named_as_people_say_it() -> None:
    assert str(KEY) == "ost scratch-OST0003 write"
    assert str(Key("raw", "d", "read", "together")) == "raw d read together"


def test_a_profile_is_written_as_one_line_of_percents() -> None:
    profile = tuple(point / 100 for point in (160, 120, *[90] * 18))
    written = write_baselines({KEY: BASELINE._replace(profile=profile)})["plumbline_baselines"]
    assert entry(written)["profile"] == " ".join(["160", "120", *["90"] * 18])
    assert read_baselines(written)[KEY].profile == profile
    assert "profile" not in entry(document())


def test_missing_conditions_of_an_older_document_stay_missing() -> None:
    raw = document()
    for name in ("terms", "host", "tool", "fill"):
        entry(raw).pop(name)
    (baseline,) = read_baselines(raw).values()
    assert baseline == BASELINE._replace(terms="", host="", tool="", fill=None)
    assert write_baselines({KEY: baseline})["plumbline_baselines"] == raw


@given(st.floats(1, 1e14), st.floats(0, 60), st.floats(0, 1))
def test_writing_and_reading_is_stable(rate: float, spread: float, fill: float) -> None:
    once = write_baselines({KEY: BASELINE._replace(median=rate, spread=spread, fill=fill)})
    again = write_baselines(read_baselines(once["plumbline_baselines"]))
    assert again == once


def test_an_accepted_shortfall_below_the_floor_is_written() -> None:
    low = BASELINE._replace(below_floor="115.2 MB/s is 22 % of the ceiling 523.6 MB/s, floor 30 %")
    raw = write_baselines({KEY: low})
    assert read_baselines(raw["plumbline_baselines"]) == {KEY: low}
    candidates = write_candidates({KEY: Candidate(low)})
    assert read_candidates(candidates["plumbline_candidates"]) == {KEY: Candidate(low)}
    assert "below_floor" not in yaml.safe_dump(write_baselines({KEY: BASELINE}))


def test_a_change_has_a_ratio_and_changed_conditions() -> None:
    new = BASELINE._replace(
        median=57.6e6, spec_hash="other", versions={"client": "2.18.0", "server": "2.17.0"}
    )
    (change,) = compare({KEY: BASELINE}, {KEY: Candidate(new, "slow")})
    assert change.ratio == pytest.approx(0.5)
    assert tuple(map(str, change.conditions)) == (
        "specification 1a2b3c4d5e6f -> other",
        "client 2.17.0 -> 2.18.0",
        "server unknown -> 2.17.0",
    )
    assert change.outlier == "slow"
    assert json.loads(json.dumps(change.to_json()))["ratio"] == pytest.approx(0.5)


def test_a_baseline_without_a_candidate_is_not_compared() -> None:
    assert compare({KEY: BASELINE}, {}) == ()


def test_a_change_of_fill_is_shown_below_its_limit() -> None:
    (change,) = compare({KEY: BASELINE}, {KEY: Candidate(BASELINE._replace(fill=0.40))})
    assert [str(condition) for condition in change.conditions] == ["fill 31 % -> 40 %"]


def test_outliers_come_first_and_then_the_biggest_changes() -> None:
    rates = {"same": 115.2e6, "down": 90e6, "up": 150e6, "slow": 115e6, "new": 200e6}
    keys = {name: KEY._replace(component=name) for name in rates}
    accepted = {key: BASELINE for name, key in keys.items() if name != "new"}
    candidates = {
        keys[name]: Candidate(BASELINE._replace(median=rate), "slow" if name == "slow" else "")
        for name, rate in rates.items()
    }
    ordered = biggest_first(compare(accepted, candidates))
    assert [change.key.component for change in ordered] == ["slow", "up", "down", "same", "new"]


def keys(number: int, operation: str = "read") -> list[Key]:
    return [Key("ost", f"scratch-OST{index:04x}", operation, "single") for index in range(number)]


def changes(candidates: dict[Key, dict[str, Any]]) -> tuple[Change, ...]:
    """Return the changes from the baseline to candidates with the given values."""
    new = {key: Candidate(BASELINE._replace(**values)) for key, values in candidates.items()}
    return compare(dict.fromkeys(candidates, BASELINE), new)


def test_a_changed_condition_is_listed_once_with_its_count() -> None:
    newer = {"versions": {"client": "2.18.0"}}
    candidates = {**dict.fromkeys(keys(300), newer), **{key: {} for key in keys(2, "write")}}
    summary = review(changes(candidates))
    assert [tuple(line) for line in summary.conditions] == [("a", "client 2.17.0 -> 2.18.0", 300)]
    assert set(summary.marks) == set(keys(300))
    assert set(summary.marks.values()) == {"a"}


def test_a_row_has_the_marks_of_all_its_conditions() -> None:
    first, second = keys(2)
    newer = {"versions": {"client": "2.18.0"}}
    summary = review(changes({first: {**newer, "host": "client2"}, second: newer}))
    assert [line.text for line in summary.conditions] == [
        "client 2.17.0 -> 2.18.0",
        "host client1 -> client2",
    ]
    assert summary.marks == {first: "a b", second: "a"}


def test_a_condition_with_many_different_changes_is_one_line() -> None:
    candidates = {key: {"fill": 0.2 + index / 10} for index, key in enumerate(keys(7))}
    (line,) = review(changes(candidates)).conditions
    assert (line.text, line.number) == ("fill by -11 to +49 % of the target", 6)
    moved = {key: {"versions": {"nid": f"10.0.0.{key.component}"}} for key in keys(30)}
    texts = [line.text for line in review(changes(moved)).conditions]
    assert texts == ["client 2.17.0 -> unknown", "nid: 30 different changes"]


def test_more_conditions_than_letters_have_distinct_marks() -> None:
    values = {"versions": {f"setting{number:02d}": "on" for number in range(30)}}
    marks = [line.mark for line in review(changes({keys(1)[0]: values})).conditions]
    assert marks[25:28] == ["z", "a1", "b1"]
    assert len(set(marks)) == 31


def test_each_operation_has_its_median_and_extreme_changes() -> None:
    rates = (57.6e6, 115.2e6, 126.72e6)
    candidates = {key: {"median": rate} for key, rate in zip(keys(3), rates)}
    (moved,) = review(changes(candidates)).moved
    assert (moved.layer, moved.operation, moved.number) == ("ost", "read", 3)
    assert moved.ratio == pytest.approx(1.0)
    assert (moved.least.ratio, moved.most.ratio) == pytest.approx((0.5, 1.1))
    assert moved.least.key.component == "scratch-OST0000"


def test_a_first_baseline_has_no_change() -> None:
    assert review(compare({}, {keys(1)[0]: Candidate(BASELINE)})).moved == ()


OLD = BASELINE._replace(median=100e6)
NEW = BASELINE._replace(median=120e6, accepted_by="", reason="")
OTHER = KEY._replace(component="scratch-OST0009")
SLOW = {KEY: Candidate(NEW), OTHER: Candidate(NEW, "50.0 MB/s is 40 % of its peers'")}


def test_a_baseline_without_a_candidate_stays() -> None:
    merged = accept({OTHER: OLD}, {KEY: Candidate(NEW)}, [], "ada", "new")
    assert merged[OTHER] == OLD
    assert set(merged) == {KEY, OTHER}


def test_an_outlier_refuses_the_whole_acceptance() -> None:
    with pytest.raises(DocumentError, match="40 % of its peers'; a slow part must not") as error:
        accept({}, SLOW, [], "ada", "new")
    assert "--component scratch-OST0009" in str(error.value)


@pytest.mark.parametrize(("by", "reason"), [("ada", " "), (" ", "new")])
def test_reason_and_person_are_needed(by: str, reason: str) -> None:
    with pytest.raises(UsageError, match="needs a reason and a person"):
        accept({}, {KEY: Candidate(NEW)}, [], by, reason)


def test_a_name_without_candidate_is_refused() -> None:
    with pytest.raises(UsageError, match="no candidate of oss9; capture one first"):
        accept({}, SLOW, ["oss9"], "ada", "new")
