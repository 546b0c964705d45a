"""Findings give path services the verdicts that all observations would give them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Mapping

import pytest

from plumbline.model.codec import compact, read_document
from plumbline.parts.locate.findings import Findings
from plumbline.parts.locate.paths import Site, explained, path_verdicts, path_votes
from plumbline.parts.locate.site import locate_in, sentences
from plumbline.site.nodes import judgement
from plumbline.store.plan import load_plan
from tests.package.parts.locate.scenes import LaneRates, both
from tests.package.parts.locate.test_verb_locate import all_slower, measured, plan
from tests.package.records import night_after_night, save

FAULTS: Mapping[str, LaneRates] = {
    "healthy": {},
    "link": {"oss3-nic": both(25e6)},
    "disk": {"oss1-disk1": both(60e6)},
    "link and disks": {
        "oss3-nic": both(25e6),
        "oss1-disk1": both(60e6),
        "oss3-disk1": both(10e6),
    },
    "server": {"oss2": both(30e6)},
}


@pytest.mark.slow
@pytest.mark.parametrize("contended", [False, True])
@pytest.mark.parametrize("faults", [*FAULTS, "all slower"])
def test_findings_are_as_good_as_all_observations(
    tmp_path: Path, faults: str, contended: bool
) -> None:
    path, history = tmp_path / "plan.json", tmp_path / "history.sqlite"
    path.write_text(json.dumps(plan()), encoding="utf-8")
    scene = all_slower() if faults == "all slower" else measured(FAULTS[faults])
    nights = [
        # every fourth measurement does not vote
        record._replace(coverage=0.2) if contended and number % 4 == 0 else record
        for number, record in enumerate(night_after_night(scene))
    ]
    save(history, nights)
    now = max(record.finished_at for record in nights) + 60
    site_plan = load_plan(str(path))
    with judgement(site_plan, history, now) as site:
        located = locate_in(site)
        judged = site.services()
        findings = Findings.of(site, located, judged)
    kept = read_document(Findings, json.loads(compact(findings)))
    assert kept == findings
    suspects = kept.suspects(located.symptoms, now)
    of_plan = Site.of(site_plan)
    votes = path_votes(of_plan, located.located)
    names = [service.name for service in site_plan.paths]
    for standing in ((), names[:3], names):
        anew = path_verdicts(of_plan, located, sentences(site_plan, located), votes, standing)
        texts = kept.texts(located.symptoms.symptoms)
        assert path_verdicts(kept.site, suspects, texts, kept.votes, standing) == anew
        bearers = explained(of_plan, located.located, standing)
        assert explained(kept.site, suspects.located, standing) == bearers
