"""Suspects of a report, located in a separate process."""

from __future__ import annotations

from pathlib import Path

from plumbline.report.suspects import Suspects
from plumbline.site.locate import locate_site
from plumbline.site.report import find_suspects
from plumbline.store.plan import load_plan
from tests.package.locate.scenes import lab
from tests.package.report.sites import SICK
from tests.package.report.years import NOW, document, plan_of, records, write


def test_suspects_of_a_report_equal_those_of_locate(tmp_path: Path) -> None:
    plan = plan_of(lab())
    path, history = write(tmp_path, document(plan), records(plan, SICK))
    located = locate_site(load_plan(str(path)), history, NOW)
    suspects = find_suspects(str(path), history, NOW)
    assert suspects == Suspects(located.located, located.probes, [], [])
    assert [suspect.alternatives for suspect in located.located.sets]


def test_a_plan_without_parts_has_no_suspects(tmp_path: Path) -> None:
    plan = plan_of(lab())
    raw = {**document(plan), "parts": {}}
    path, history = write(tmp_path, raw, [])
    assert find_suspects(str(path), history, NOW) is None
