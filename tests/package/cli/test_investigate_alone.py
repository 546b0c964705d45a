"""Where no baseline is firm an investigation names the slow component, and says why."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, Iterable, Mapping, Optional, Sequence

import pytest

from plumbline.model.record import Record
from plumbline.model.series import Sample, Series, Snapshot
from plumbline.store.publish import operation_entry
from tests.package.cli.driver import Run
from tests.package.cli.test_locate import LAB, measured
from tests.package.locate.scenes import both

NAME, DISK = "scratch-OST0002", "oss2-disk1"
SLOW_DISK = {DISK: both(8e6)}
BEGUN = dict.fromkeys(("client1", "oss1", "oss2", "oss3"), 0.0)


def bare_plan(runs: Optional[int] = None) -> dict[str, Any]:
    """Return the lab's plan without baselines, or with ones that rest on too few runs."""
    raw: dict[str, Any] = json.loads(json.dumps(LAB.plan.to_json()))
    found = {
        (one.layer, one.component): one
        for entries in LAB.plan.expectations.values()
        for one in entries
    }
    for node in raw["nodes"].values():
        for entry in node["entries"] if runs else ():
            spec = found[entry["layer"], entry["component"]].spec
            for reference in entry["references"].values():
                if reference["ceiling"]:
                    reference["baseline"] = {
                        "median": reference["ceiling"]["rate"],
                        "spread": 0.01,
                        "runs": runs,
                        "first": "2026-11-01",
                        "last": "2026-11-03",
                        "versions": {},
                        "accepted_by": "ada",
                        "reason": "first",
                        "spec_hash": spec.hash(),
                    }
    return raw


class Site:
    """The lab with faults: each step gives the records that its units would."""

    def __init__(self, folder: Path, run: Run, plan: dict[str, Any], **asked: Any) -> None:
        self._folder, self._run, self._asked = folder, run, asked
        self._night = list(measured(SLOW_DISK))
        self._records: list[Record] = []
        self.done: list[dict[str, Any]] = []
        self.snapshots: list[str] = []
        (folder / "plan.json").write_text(json.dumps(plan), encoding="utf-8")

    def follow(self, most: int = 20) -> dict[str, Any]:
        """Return the answer at the end, or after ``most`` steps."""
        while True:
            answer = self._ask()
            if answer["next"] is None or len(self.done) == most:
                return answer
            self.done.append(answer["next"])
            self._records += self._measure(answer["next"])
            assert len(self.done) < 20, "it does not end"

    def _measure(self, step: dict[str, Any]) -> Iterable[Record]:
        for one in self._night:
            if one.layer != step["layer"] or step["component"] not in ("", one.component):
                continue
            if step["layer"] == "net" or (step["component"] and one.scenario.value == "together"):
                continue
            number = len(self.done)
            yield one._replace(
                id=f"{one.id} {number}",
                run_id=f"{one.run_id} {number}",
                started_at=one.started_at + number,
            )

    def _ask(self) -> dict[str, Any]:
        elapsed = sum(one["seconds"] for one in self.done)
        request = {"begun": BEGUN, "done": self.done, "elapsed_s": elapsed, **self._asked}
        (self._folder / "request.json").write_text(json.dumps(request), encoding="utf-8")
        lines = "".join(json.dumps(one.to_json()) + "\n" for one in self._records)
        (self._folder / "all.jsonl").write_text(lines, encoding="utf-8")
        names = [str(self._folder / name) for name in ("plan.json", "request.json", "all.jsonl")]
        arguments = ["--plan", names[0], "--request", names[1], "--records", names[2]]
        found = self._run("investigate", *arguments, "--snapshots", *self.snapshots).document
        return dict(found)

    def remember(self, days: float, peers_rate: Optional[float]) -> None:
        """Have client1 remember a run of the target some days ago, at a thirtieth of its peers."""
        now = time.time()
        series: list[Mapping[str, Any]] = []
        for one in self._night:
            if (one.layer, one.component) == ("ost", NAME):
                at = now - days * 86400
                latest = one._replace(started_at=at, finished_at=at + 1)
                peers = 5 if peers_rate else 0
                sample = Sample(at, latest.rate, None, peers_rate, peers, None)
                series.append(operation_entry(Series(latest, (sample,))))
        known = {f"ost/{NAME}": {"evidence": None, "operations": series}}
        document = Snapshot("client1", now, (), {}, known).to_json()
        path = self._folder / "client1.snapshot"
        path.write_text(json.dumps(document), encoding="utf-8")
        self.snapshots = [str(path)]


def layers(done: Sequence[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(one["layer"], one["component"]) for one in done]


@pytest.mark.parametrize("budget", ["5min", "20min", "1h"])
def test_a_slow_target_without_a_baseline_is_named_beside_its_peers(
    tmp_path: Path, run: Run, budget: str
) -> None:
    site = Site(tmp_path, run, bare_plan(), targets=[NAME], budget=budget)
    end = site.follow()
    assert end["slow"]["sets"][0]["alternatives"] == [[DISK]], layers(site.done)
    assert end["sentences"][0].startswith(f"Suspect: disk {DISK}")
    assert end["unused"] == []


def test_all_targets_come_first_where_they_take_less_than_half_of_the_budget(
    tmp_path: Path, run: Run
) -> None:
    rich = Site(tmp_path, run, bare_plan(), targets=[NAME], budget="1h")
    rich.follow()
    assert layers(rich.done)[0] == ("ost", "")
    poor = Site(tmp_path, run, bare_plan(), targets=[NAME], budget="5min")
    poor.follow()
    first = layers(poor.done)[:3]
    assert first[0] == ("ost", NAME)
    assert [layer for layer, _ in first] == ["ost"] * 3
    # on other servers, which share least with it
    assert "scratch-OST0003" not in dict.fromkeys(name for _, name in first)


@pytest.mark.slow
def test_a_provisional_baseline_is_enough_for_a_gross_loss(tmp_path: Path, run: Run) -> None:
    site = Site(tmp_path, run, bare_plan(runs=3), targets=[NAME], budget="20min")
    first = site.follow(most=1)
    assert layers(site.done)[0] == ("ost", NAME)
    assert "its provisional baseline (rests on 3 runs of 5 needed)" in " ".join(first["table"])
    assert site.follow()["sentences"][0].startswith(f"Suspect: disk {DISK}")


def test_peers_of_the_night_before_are_a_reference_for_one_target(tmp_path: Path, run: Run) -> None:
    site = Site(tmp_path, run, bare_plan(), targets=[NAME], budget="5min")
    site.remember(0.2, peers_rate=119e6)
    first = site.follow(most=1)
    assert layers(site.done) == [("ost", NAME)]
    assert "the median of its 5 peers in its last run" in " ".join(first["table"])


@pytest.mark.slow
@pytest.mark.parametrize(("days", "peers_rate"), [(30.0, 119e6), (0.2, None)])
def test_old_runs_and_runs_without_peers_are_not_enough_to_measure_it_alone(
    tmp_path: Path, run: Run, days: float, peers_rate: Optional[float]
) -> None:
    site = Site(tmp_path, run, bare_plan(), targets=[NAME], budget="1h")
    site.remember(days, peers_rate)
    end = site.follow()
    assert layers(site.done)[0] == ("ost", "")
    assert end["slow"]["sets"]


def test_runs_before_do_not_vote(tmp_path: Path, run: Run) -> None:
    site = Site(tmp_path, run, bare_plan(), targets=[NAME], budget="31s")
    site.remember(0.2, peers_rate=119e6)
    end = site.follow()
    assert (site.done, end["slow"]["sets"]) == ([], [])


def test_a_damaged_snapshot_is_said_and_stops_nothing(tmp_path: Path, run: Run) -> None:
    site = Site(tmp_path, run, bare_plan(), targets=[NAME], budget="20min")
    damaged = tmp_path / "client1.snapshot"
    damaged.write_text("{cut", encoding="utf-8")
    site.snapshots = [str(damaged)]
    end = site.follow()
    assert end["slow"]["sets"]
    assert any(one.startswith("Earlier runs are left out: ") for one in end["sentences"])
