"""Symptoms by host and kind, with the measurements that they may explain."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from plumbline.model.names import anchor
from plumbline.model.suspects import Suspects
from plumbline.model.symptom import Direction, Symptom
from plumbline.model.verdict import State
from plumbline.parts.report.figure import Row, numbers
from plumbline.parts.report.overview import Kind, overview
from plumbline.parts.report.page import pages
from plumbline.parts.report.read import SiteLooks, looks_of
from plumbline.parts.report.site import Metrics, Site, find_metrics
from plumbline.parts.report.symptoms import symptoms_figure
from plumbline.store.facts import COLLECTED_SYMPTOMS as COLLECTED
from plumbline.store.history import History
from plumbline.store.plan import load_plan
from tests.package.parts.locate.scenes import lab
from tests.package.parts.report.sites import HOSTILE, draw, look, save_report
from tests.package.parts.report.test_drawn_figures import EMPTY, extras
from tests.package.parts.report.years import NOW, document, plan_of


def rows(site: Site) -> dict[str, Row]:
    """Return the rows of the table by the text of their symptom."""
    return {row.cells[5]: row for row in symptoms_figure(site, extras().suspects).table.rows}


def test_each_symptom_has_a_row_with_state_time_and_its_possible_effect(site: Site) -> None:
    by_text = rows(site)
    medium = by_text["kernel: I/O errors of sdc (14 times)"]
    assert medium.cells == (
        *("oss2", "kernel", "CRITICAL", "2026-09-16 14:13 UTC", "oss2-disk1"),
        *("kernel: I/O errors of sdc (14 times)", "suspect oss2-disk1"),
    )
    assert (medium.anchor, medium.to) == (anchor("symptoms", "oss2 kernel"), "suspects")
    errors = by_text["312 errors in 1804211 packets of link ens1f0"]
    assert errors.cells[2:4] == ("WARNING", "2026-09-20 14:13 UTC")
    assert errors.to.startswith(("ost-", "net-"))


def test_a_passing_symptom_is_ok_and_shows_when_it_was_seen(
    site: Site,
) -> None:
    rebuild = rows(site)["recovery of array md3 runs (no suspicion)"]
    assert rebuild.cells[2:4] == ("OK", "seen 2026-09-21 14:10 UTC")


def test_a_host_without_symptoms_has_a_row_with_its_collectors(site: Site) -> None:
    fine = rows(site)["no symptoms; looked at: md 2"]
    assert fine.cells[:4] == ("oss1", "arrays", "OK", "")
    assert fine.anchor == anchor("symptoms", "oss1 arrays")


def test_the_worst_hosts_come_first_and_hosts_without_looks_are_named(site: Site) -> None:
    figure = symptoms_figure(site, Suspects())
    assert figure.finding == (
        "3 hosts: 1 CRITICAL, 2 WARNING. 1 symptom besides will pass, or raise no suspicion. "
        "No symptoms are read on 1 host: client1."
    )
    assert figure.plots[0].layout["yaxis"]["ticktext"] == ["oss2", "oss3", "oss1"]
    assert [trace["name"] for trace in figure.plots[0].data] == ["CRITICAL", "WARNING", "OK"]


def test_the_first_screen_links_to_symptoms_and_those_of_a_suspect_are_explained(
    site: Site, metrics: Metrics
) -> None:
    entries = {entry.component: entry for entry in overview(site, metrics, extras().suspects)}
    medium = entries["symptoms oss2 kernel"]
    assert (medium.kind, medium.state, medium.since) == (
        *(Kind.EXPLAINED, State.CRITICAL),
        "2026-09-16 14:13 UTC",
    )
    assert medium.next == "see suspect oss2-disk1"
    degraded = entries["symptoms oss2 arrays"]
    assert (degraded.kind, degraded.since) == (Kind.SYMPTOM, "")
    assert degraded.anchor == anchor("symptoms", "oss2 arrays")
    assert degraded.next.startswith("on oss2: plumbline symptoms; may explain: ")


def test_all_links_to_and_from_symptoms_have_anchors(
    site: Site,
) -> None:
    content = extras()
    entries = overview(site, find_metrics(site), content.suspects)
    page = pages(site, draw(site, content), entries)["index.html"]
    figure = symptoms_figure(site, content.suspects)
    places = [row.to for row in figure.table.rows if row.to]
    places += [entry.anchor for entry in entries if entry.component.startswith("symptoms ")]
    assert places
    assert [place for place in places if f'id="{place}"' not in page] == []
    assert 'href="#suspects">suspect oss2-disk1</a>' in page


def test_a_site_without_symptoms_names_the_setting_for_them() -> None:
    figure = symptoms_figure(EMPTY, Suspects())
    assert "symptoms_enabled: true" in figure.absent


def looks(folder: Path, *, services: bool = False) -> SiteLooks:
    raw = document(plan_of(lab()))
    if services:
        of_disks = {"host": "oss1", "node": "oss1", "layer": "symptoms", "component": "oss1 disks"}
        raw["services"].append({**raw["services"][0], **of_disks, "freshness_s": 3600})
    (folder / "plan.json").write_text(json.dumps(raw), encoding="utf-8")
    with History(folder / "history.sqlite"):
        pass
    return looks_of(load_plan(str(folder / "plan.json")), folder / "history.sqlite", NOW)


def test_a_host_without_a_look_is_unknown_if_it_has_a_service(
    tmp_path: Path,
) -> None:
    assert looks(tmp_path) == SiteLooks((), ("oss1", "oss2", "oss3", "client1"))
    (missing,) = looks(tmp_path, services=True).looks
    assert (missing.host, missing.verdict.state) == ("oss1", State.UNKNOWN)
    assert "plumbline collect brings it" in missing.verdict.sentence


@pytest.mark.parametrize("age_s", [3601.0, -3600.0])
def test_a_stale_look_shows_no_symptoms(tmp_path: Path, age_s: float) -> None:
    bad = Symptom("md", "oss1", "degraded", State.CRITICAL, Direction.RAISES, "it is degraded")
    save_report(tmp_path, "oss1", NOW - age_s, look("md", bad))
    stale = looks(tmp_path).looks
    assert {entry.verdict.state for entry in stale} == {State.UNKNOWN}
    assert [entry.symptoms for entry in stale] == [(), ()]


def test_a_damaged_report_is_unknown(tmp_path: Path) -> None:
    save_report(tmp_path, "oss1", NOW, look("md"))
    (tmp_path / COLLECTED / "oss1.json").write_text("{")
    (damaged,) = looks(tmp_path).looks
    assert damaged.verdict.state is State.UNKNOWN
    figure = symptoms_figure(EMPTY._replace(looks=[damaged]), Suspects())
    assert figure.absent.startswith("no host has a look that can be read")
    assert figure.table.rows[0].cells[:3] == ("oss1", "the look", "UNKNOWN")


def test_hostile_names_and_sentences_are_text(tmp_path: Path, site: Site) -> None:
    bad = [
        Symptom("md", name, "degraded", State.CRITICAL, Direction.RAISES, name) for name in HOSTILE
    ]
    save_report(tmp_path, "oss1", NOW, look("md", *bad))
    site = site._replace(looks=looks(tmp_path).looks)
    figure = symptoms_figure(site, Suspects())
    page = pages(site, [figure], overview(site, find_metrics(site), Suspects()))
    assert "<script>alert" not in page["index.html"]
    assert "<img src=x" not in page["index.html"]
    ((_, lines),) = numbers([figure])
    text = "".join(lines)
    assert "\n=cmd" not in text
    assert "'=cmd" in text


def test_at_a_large_site_the_picture_has_the_worst_hosts_and_the_table_all(site: Site) -> None:
    kinds = [entry for entry in site.looks if entry.kind]
    many = [entry._replace(host=f"n{n:04}") for n in range(1000) for entry in kinds]
    figure = symptoms_figure(site._replace(looks=many), Suspects())
    assert "the worst 40 of 1000" in figure.plots[0].title
    assert len(figure.plots[0].layout["yaxis"]["ticktext"]) == 40
    assert len(figure.table.rows) > 5000
