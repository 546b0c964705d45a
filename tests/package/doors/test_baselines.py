"""Output of baseline diff and age; docs/baselines.md shows the same text."""

from __future__ import annotations

from datetime import date

import pytest

from plumbline.doors.baselines import age_lines, change_lines
from plumbline.model.conditions import of_baseline
from plumbline.model.limits import Baseline, Limits, Reference
from plumbline.plan.baseline import Candidate, Key, biggest_first, compare
from plumbline.plan.capture import ages, capture
from tests.package.plan.test_baseline import BASELINE
from tests.package.plan.test_capture import SPEC, expected, runs
from tests.project.repository import ROOT

NAMES = [f"scratch-OST000{index}" for index in range(5)]
OLD = BASELINE._replace(first="2026-05-20", last="2026-05-31", runs=12, spec_hash=SPEC.hash())
NEW = OLD._replace(first="2026-11-16", last="2026-11-20", runs=5, versions={"client": "2.18.0"})
OUTLIER = "61.0 MB/s is 53 % of its peers' 116.1 MB/s"
WRITE = {"write/single": Reference(None, None)}
WEAK = "rests on 3 runs of 5 needed"


def key(name: str) -> Key:
    return Key("ost", name, "write", "single")


def diff_text() -> str:
    accepted = {key(name): OLD for name in NAMES[:4]}
    candidates = {
        key(NAMES[0]): Candidate(NEW._replace(median=116.3e6)),
        key(NAMES[1]): Candidate(NEW._replace(median=115.9e6, fill=0.44, runs=3), weak=WEAK),
        key(NAMES[2]): Candidate(NEW._replace(median=104.1e6, spread=0.021)),
        key(NAMES[3]): Candidate(NEW._replace(median=61.0e6), OUTLIER),
        key(NAMES[4]): Candidate(NEW._replace(median=116.8e6)),
    }
    return "\n".join(change_lines(biggest_first(compare(accepted, candidates))))


def age_text() -> str:
    site = {("ost", name): expected(name)._replace(references=WRITE) for name in NAMES}
    accepted: dict[Key, Baseline] = {key(name): OLD for name in NAMES[:3]}
    accepted[key(NAMES[2])] = NEW._replace(terms=OLD.terms)
    accepted[key("home-OST0000")] = OLD
    newest = {key(name): of_baseline(NEW) for name in NAMES[:3]}
    review = ages(accepted, site, newest, date(2026, 12, 1))
    return "\n".join(age_lines(review, compared=True))


@pytest.mark.parametrize("text", [diff_text(), age_text()], ids=["diff", "age"])
def test_the_documentation_shows_the_real_output_which_fits_a_terminal(text: str) -> None:
    assert f"\n```\n{text}\n```\n" in (ROOT / "docs/baselines.md").read_text(encoding="utf-8")
    assert max(map(len, text.splitlines())) <= 120


def test_outliers_are_all_marked_and_the_first_ten_listed() -> None:
    slow = {key(f"t{index:03d}"): Candidate(NEW, OUTLIER) for index in range(30)}
    lines = "\n".join(change_lines(compare({}, slow))).splitlines()
    assert lines[1] == "without a baseline so far: 30"
    assert len([line for line in lines if line.startswith("to be accepted by name: ost t")]) == 10
    assert "to be accepted by name: 20 more, see the notes" in lines
    assert sum(line.endswith("outlier") for line in lines) == 30


def test_reasons_that_do_not_fit_are_counted() -> None:
    site = {("ost", "a"): expected("a")._replace(references=WRITE)}
    now = {key("a"): of_baseline(NEW._replace(host="client2", tool="fio 3.40"))}
    review = ages({key("a"): OLD}, site, now, date(2026, 12, 1))
    text = "\n".join(age_lines(review, compared=True))
    assert "184 d old, limit 180 d; client 2.17.0 -> 2.18.0; 2 more" in text


def test_no_candidates_are_reported() -> None:
    assert list(change_lines(())) == ["no candidates; capture some first"]


def test_valid_baselines_are_one_line() -> None:
    site = {("ost", "a"): expected("a")}
    captured = capture(runs("a", [200] * 5), site).candidates
    accepted = {name: candidate.baseline for name, candidate in captured.items()}
    review = ages(accepted, site, {}, date(1970, 1, 6))
    assert list(age_lines(review, compared=True)) == ["BASELINES OK - 1 hold"]
    assert Limits().max_age_s == 180 * 86400
