"""Suspects of a report, located in a separate process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from plumbline.model.codec import read_all
from plumbline.model.service import PathService, Service
from plumbline.model.verdict import State
from plumbline.parts.locate.paths import Site, shown_states
from plumbline.parts.locate.sentences import sentence
from plumbline.parts.locate.site import locate_site
from plumbline.parts.report.read import find_suspects
from plumbline.store.plan import load_plan
from tests.package.parts.locate.scenes import LAB, both, lab
from tests.package.parts.report.sites import SICK
from tests.package.parts.report.years import NOW, document, plan_of, records, write


def test_suspects_of_a_report_equal_those_of_locate(tmp_path: Path) -> None:
    plan = plan_of(lab())
    path, history = write(tmp_path, document(plan), records(plan, SICK))
    located = locate_site(load_plan(str(path)), history, NOW)
    suspects = find_suspects(str(path), history, NOW)
    found = [(suspect.alternatives, suspect.state) for suspect in suspects.sets]
    states = [State.WARNING for _ in located.located.sets]
    assert found == list(zip((each.alternatives for each in located.located.sets), states))
    assert found
    assert [each.sentence for each in suspects.sets] == [
        sentence(located.located, each, plan.parts, probe)
        for each, probe in zip(located.located.sets, located.probes)
    ]


@pytest.mark.parametrize(
    ("slow", "state"), [("oss2-disk1", State.WARNING), ("oss3-nic", State.CRITICAL)]
)
def test_a_suspect_has_the_state_of_its_service(slow: str, state: State) -> None:
    """A disk has no path service: its target alarms, and the file system is WARNING."""
    plan = json.loads(json.dumps(LAB.plan.to_json()))
    services = read_all(PathService, plan["paths"]), read_all(Service, plan["services"])
    located = LAB.locate({slow: both(20e6)})
    observations = tuple(
        observation._replace(state=State.CRITICAL) for observation in located.observations
    )
    site = Site(*services, LAB.plan.parts)
    assert shown_states(site, located._replace(observations=observations)) == [state]


def test_a_plan_without_parts_has_no_suspects(tmp_path: Path) -> None:
    plan = plan_of(lab())
    raw = {**document(plan), "parts": {}}
    path, history = write(tmp_path, raw, [])
    suspects = find_suspects(str(path), history, NOW)
    assert "write it again" in suspects.unknown
    assert not suspects.sets
