"""One fault raises one alarm, for a part or for a group."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any, Mapping

import pytest

from plumbline.judge.phrases import moment
from plumbline.model.record import Record
from plumbline.model.units import DAY_S
from plumbline.model.verdict import State, Verdict
from plumbline.parts.locate.observation import Measurable, Observation, Vote
from plumbline.parts.locate.publish import Terms, publish
from plumbline.parts.locate.site import SharedLoss, less_shared
from plumbline.parts.locate.suspects import AmbiguitySet, Located
from plumbline.parts.report.overview import Entry, Kind, overview
from plumbline.parts.report.page import pages
from plumbline.parts.report.read import find_suspects, read_site
from plumbline.parts.report.site import Site, find_metrics
from plumbline.site.nodes import judgement
from plumbline.store.history import History
from plumbline.store.plan import SitePlan, load_plan
from tests.package.parts.locate.scenes import both
from tests.package.parts.locate.test_verb_locate import measured, plan
from tests.package.records import night_after_night

# --- A shared loss incriminates a part only if the part explains most of the group.


MEMBERS = ("OST0", "OST1", "OST2", "OST3", "OST4", "OST5")
DISK = "disk0"
LOSS = SharedLoss("ost", "s", "All lost a third.", frozenset(MEMBERS), frozenset({"OST5"}))


def observation(name: str) -> Observation:
    layer = "raw" if name == DISK else "ost"
    measurable = Measurable(f"{layer} {name} read", layer, name, "read", ("oss1", name), 200e6)
    return Observation(measurable, Vote.BAD, 130e6, 0.02, 0.0, 0.0, "slow")


OBSERVATIONS = tuple(map(observation, (*MEMBERS, DISK)))


def explaining(*names: str) -> AmbiguitySet:
    names_of_all = (*MEMBERS, DISK)
    return AmbiguitySet((("part",),), (), tuple(map(names_of_all.index, names)))


@pytest.mark.parametrize(
    ("names", "suspected", "shared"),
    [
        pytest.param(("OST0",), False, True, id="a member as slow as its group"),
        pytest.param(("OST5",), True, True, id="a member that is slower"),
        pytest.param(("OST0", "OST1"), False, True, id="a part of two as slow as their group"),
        pytest.param(("OST0", "OST5"), True, True, id="a part of which one is slower"),
        pytest.param(("OST0", "OST1", "OST2"), False, True, id="a part of half of the group"),
        pytest.param(("OST0", "OST1", "OST2", "OST3"), True, False, id="a part of most of it"),
        pytest.param((DISK,), True, True, id="a device, which is in no such group"),
        pytest.param(("OST0", DISK), True, True, id="a part that slows a device as well"),
    ],
)
def test_a_part_is_suspected_only_of_a_loss_beyond_that_of_its_group(
    names: tuple[str, ...], *, suspected: bool, shared: bool
) -> None:
    suspects = explaining(*names)
    located, losses = less_shared(Located(OBSERVATIONS, (suspects,), ()), [LOSS])
    assert located.sets == ((suspects,) if suspected else ())
    assert losses == ((LOSS,) if shared else ())


def test_without_a_shared_loss_all_suspects_remain() -> None:
    sets = (explaining("OST0"), explaining("OST1", "OST2"))
    assert less_shared(Located(OBSERVATIONS, sets, ()), []) == (
        Located(OBSERVATIONS, sets, ()),
        (),
    )


# --- A fault has the same figure and state in its services, its suspect and the report.


LINK = {"oss3-nic": both(48e6)}
"""The link of oss3 at 40 % of its rate of 119.6 MB/s."""

EVENING = 1795291200.0
"""2026-11-21 20:00 UTC."""

BEHIND = ("scratch-OST0004", "scratch-OST0005")


class Console:
    """A console: plan and history of the lab, and a time after the last run."""

    def __init__(self, folder: Path, critical: str = "50:") -> None:
        raw = plan()
        for node in raw["nodes"].values():
            for entry in node["entries"]:
                entry["limits"].update(alarm_odds=20.0, critical=critical)
        self.plan_path, self.history = folder / "plan.json", folder / "history.sqlite"
        self.to = folder / "paths.json"
        self.plan_path.write_text(json.dumps(raw), encoding="utf-8")
        # all runs with the fault lie within one day, at any time of the test
        now = time.time()
        since_s = now - EVENING
        with History(self.history) as history:
            for record in night_after_night(measured({}, now=now)):
                history.save(earlier(record, since_s + DAY_S / 2))
            # two good runs within ten minutes before the fault, and two slow ones
            for minutes, faults in ((9.0, {}), (6.0, {}), (3.0, LINK), (0.0, LINK)):
                for record in measured(faults, now=now):
                    last = earlier(record, since_s + 60 * minutes)
                    history.save(last)
            self.now = last.finished_at + 60

    @property
    def plan(self) -> SitePlan:
        return load_plan(str(self.plan_path))

    def services(self) -> dict[tuple[str, str], Verdict]:
        """Return the verdicts on components for Nagios."""
        with judgement(self.plan, self.history, self.now) as site:
            judged = site.services()
        verdicts = (result.verdict for result in judged)
        return {
            (verdict.layer, verdict.component): verdict for verdict in verdicts if not verdict.group
        }

    def paths(self) -> Mapping[str, Verdict]:
        """Return the verdicts of the path services."""
        terms = Terms(DAY_S, 1200.0)
        return publish(str(self.plan_path), self.history, self.to, self.now, terms).verdicts

    def report(self) -> tuple[Site, list[Entry]]:
        """Return the site of the report, and the rows of its first screen."""
        site = read_site(self.plan, self.history, self.now, 30)
        suspects = find_suspects(str(self.plan_path), self.history, self.now)
        return site, overview(site, find_metrics(site), suspects)


def earlier(record: Record, seconds: float) -> Record:
    """Return a record moved into the past."""
    changes: dict[str, Any] = {
        "id": f"{record.id} {seconds:g}",
        "run_id": f"{record.run_id} {seconds:g}",
        "started_at": record.started_at - seconds,
        "finished_at": record.finished_at - seconds,
    }
    return record._replace(**changes)


def percent(verdict: Verdict) -> int:
    """Return the percentage of the reference that a service in alarm reaches over its runs."""
    assert verdict.ratio_runs is not None
    return round(100 * verdict.ratio_runs)


@pytest.mark.parametrize(("critical", "state"), [("50:", State.CRITICAL), ("30:", State.WARNING)])
def test_a_suspect_has_the_figure_and_state_of_its_services(
    tmp_path: Path, critical: str, state: State
) -> None:
    console = Console(tmp_path, critical)
    services = console.services()
    behind = [services["ost", name] for name in BEHIND]
    assert {(verdict.state, percent(verdict)) for verdict in behind} == {(state, 40)}
    suspect = console.paths()["nic oss3-nic"]
    assert suspect.sentence.startswith("Suspect: nic oss3-nic (2 of 2 slow targets cross it")
    assert "targets 40 % of what is expected" in suspect.sentence
    assert "Reads get 48.0 MB/s of 119.6 MB/s" in suspect.sentence
    assert suspect.sentence.endswith(f" Slow since {moment(console.now - 60 - 10 - 180)}.")
    _, rows = console.report()
    (row,) = [row for row in rows if row.kind is Kind.SUSPECT]
    assert row.sentence in suspect.sentence
    assert (suspect.state, row.state) == (state, state)


def test_counts_on_the_page_equal_its_rows(tmp_path: Path) -> None:
    site, rows = Console(tmp_path).report()
    text = pages(site, [], rows)["index.html"]
    alarms = [row for row in rows if row.kind is not Kind.SUSPECT]
    for state in (State.CRITICAL, State.WARNING):
        count = sum(alarm.state is state for alarm in alarms)
        words = "component" if count == 1 else "components"
        assert f"{count} {state.name}</span>" in text
        assert not count or f"({count} {words})" in text
    assert sum(alarm.state is State.CRITICAL for alarm in alarms) >= len(BEHIND)
    assert "Not counted: 1 suspect, which explains slow measurements" in text
    states = re.findall(r'<span class="state (CRITICAL|WARNING)">\1</span>', text)
    assert len(states) == len(alarms) + 1
