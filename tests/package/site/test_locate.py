"""One fault is one alarm, whether a part or a whole group bears it."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any, Mapping

import pytest

from plumbline.judge.phrases import moment
from plumbline.locate.observation import Measurable, Observation, Vote
from plumbline.locate.suspects import AmbiguitySet, Located
from plumbline.model.record import Record
from plumbline.model.units import DAY_S
from plumbline.model.verdict import State, Verdict
from plumbline.report.overview import Entry, Kind, overview
from plumbline.report.page import pages
from plumbline.report.site import Site, find_metrics
from plumbline.site.locate import SharedLoss, less_shared
from plumbline.site.nodes import judgement
from plumbline.site.publish import Terms, publish
from plumbline.site.report import find_suspects, read_site
from plumbline.store.history import History
from plumbline.store.plan import SitePlan, load_plan
from tests.package.cli.test_locate import measured, plan
from tests.package.locate.scenes import both
from tests.package.records import night_after_night

# --- What a whole group has lost accuses no part of it, unless that explains most of the group.


MEMBERS = ("OST0", "OST1", "OST2", "OST3", "OST4", "OST5")
DISK = "disk0"
LOSS = SharedLoss("ost", "s", "All lost a third.", frozenset(MEMBERS), frozenset({"OST5"}))


def observation(name: str) -> Observation:
    layer = "raw" if name == DISK else "ost"
    of = Measurable(f"{layer} {name} read", layer, name, "read", ("oss1", name), 200e6)
    return Observation(of, Vote.BAD, 130e6, 0.02, 0.0, 0.0, "slow")


OBSERVATIONS = tuple(map(observation, (*MEMBERS, DISK)))


def explaining(*names: str) -> AmbiguitySet:
    every = (*MEMBERS, DISK)
    return AmbiguitySet((("part",),), (), tuple(map(every.index, names)))


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
def test_a_part_is_suspected_of_more_than_its_group_has_lost(
    names: tuple[str, ...], *, suspected: bool, shared: bool
) -> None:
    of = explaining(*names)
    located, losses = less_shared(Located(OBSERVATIONS, (of,), ()), [LOSS])
    assert located.sets == ((of,) if suspected else ())
    assert losses == ((LOSS,) if shared else ())


def test_without_a_shared_loss_all_suspects_remain() -> None:
    sets = (explaining("OST0"), explaining("OST1", "OST2"))
    assert less_shared(Located(OBSERVATIONS, sets, ()), []) == (
        Located(OBSERVATIONS, sets, ()),
        (),
    )


# --- One fault has one figure and one state: in its services, in Nagios' suspect and in the report.


LINK = {"oss3-nic": both(48e6)}
"""The link of oss3 at two fifths of its rate of 119.6 MB/s."""

EVENING = 1795291200.0
"""2026-11-21 20:00 UTC."""

BEHIND = ("scratch-OST0004", "scratch-OST0005")


class Console:
    """A console: plan and history of the lab, and the moment after the last run."""

    def __init__(self, folder: Path, critical: str = "50:") -> None:
        raw = plan()
        for node in raw["nodes"].values():
            for entry in node["entries"]:
                entry["limits"].update(alarm_odds=20.0, critical=critical)
        self.plan_path, self.history = folder / "plan.json", folder / "history.sqlite"
        self.to = folder / "paths.json"
        self.plan_path.write_text(json.dumps(raw), encoding="utf-8")
        # the runs of the fault are of one day, whenever the test runs
        since_s = time.time() - EVENING
        with History(self.history) as opened:
            for one in night_after_night(measured({})):
                opened.save(earlier(one, since_s + DAY_S / 2))
            # two good runs within ten minutes of the fault, and two slow ones
            for minutes, left in ((9.0, {}), (6.0, {}), (3.0, LINK), (0.0, LINK)):
                for one in measured(left):
                    last = earlier(one, since_s + 60 * minutes)
                    opened.save(last)
            self.now = last.finished_at + 60

    @property
    def plan(self) -> SitePlan:
        return load_plan(str(self.plan_path))

    def services(self) -> dict[tuple[str, str], Verdict]:
        """Return the verdicts that Nagios gets, of single components."""
        with judgement(self.plan, self.history, self.now) as site:
            judged = site.services()
        verdicts = (one.verdict for one in judged)
        return {(one.layer, one.component): one for one in verdicts if not one.group}

    def paths(self) -> Mapping[str, Verdict]:
        """Return the verdicts of the path services."""
        return publish(self.plan, self.history, self.to, self.now, Terms(DAY_S, 1200.0)).verdicts

    def report(self) -> tuple[Site, list[Entry]]:
        """Return what the report draws, and the rows of its first screen."""
        site = read_site(self.plan, self.history, self.now, 30)
        found = find_suspects(str(self.plan_path), self.history, self.now)
        return site, overview(site, find_metrics(site), found)


def earlier(one: Record, seconds: float) -> Record:
    """Return a record as that of a run some time before."""
    changes: dict[str, Any] = {
        "id": f"{one.id} {seconds:g}",
        "run_id": f"{one.run_id} {seconds:g}",
        "started_at": one.started_at - seconds,
        "finished_at": one.finished_at - seconds,
    }
    return one._replace(**changes)


def percent(verdict: Verdict) -> int:
    """Return what a service in alarm gives of its reference over its runs."""
    assert verdict.ratio_runs is not None
    return round(100 * verdict.ratio_runs)


@pytest.mark.parametrize(("critical", "state"), [("50:", State.CRITICAL), ("30:", State.WARNING)])
def test_a_suspect_has_the_figure_and_the_state_of_the_services_it_explains(
    tmp_path: Path, critical: str, state: State
) -> None:
    console = Console(tmp_path, critical)
    services = console.services()
    behind = [services["ost", name] for name in BEHIND]
    assert {(one.state, percent(one)) for one in behind} == {(state, 40)}
    suspect = console.paths()["nic oss3-nic"]
    assert suspect.sentence.startswith("Suspect: nic oss3-nic (2 of 2 slow targets cross it")
    assert "targets 40 % of what is expected" in suspect.sentence
    assert "Reads get 48.0 MB/s of 119.6 MB/s" in suspect.sentence
    assert suspect.sentence.endswith(f" Slow since {moment(console.now - 60 - 10 - 180)}.")
    _, rows = console.report()
    (row,) = [one for one in rows if one.kind is Kind.SUSPECT]
    assert row.sentence in suspect.sentence
    assert (suspect.state, row.state) == (state, state)


def test_the_counts_of_the_page_are_those_of_its_rows(tmp_path: Path) -> None:
    site, rows = Console(tmp_path).report()
    text = pages(site, [], rows)["index.html"]
    alarms = [one for one in rows if one.kind is not Kind.SUSPECT]
    for state in (State.CRITICAL, State.WARNING):
        count = sum(one.state is state for one in alarms)
        words = "component" if count == 1 else "components"
        assert f"{count} {state.name}</span>" in text
        assert not count or f"({count} {words})" in text
    assert sum(one.state is State.CRITICAL for one in alarms) >= len(BEHIND)
    assert "Not counted: 1 suspect, which explains slow measurements" in text
    shown = re.findall(r'<span class="state (CRITICAL|WARNING)">\1</span>', text)
    assert len(shown) == len(alarms) + 1
