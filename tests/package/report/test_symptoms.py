"""Symptoms are shown by host and kind, beside the measurements that they may explain."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from plumbline.model.names import anchor
from plumbline.model.verdict import State
from plumbline.observe.symptom import Direction, Symptom
from plumbline.report.figure import Row, numbers
from plumbline.report.overview import Kind, overview
from plumbline.report.page import pages
from plumbline.report.site import Metrics, Site, find_metrics
from plumbline.report.symptoms import symptoms_figure
from plumbline.site.report import SiteLooks, looks_of
from plumbline.store.facts import COLLECTED_SYMPTOMS as COLLECTED
from plumbline.store.history import History
from plumbline.store.plan import load_plan
from tests.package.locate.scenes import lab
from tests.package.report.sites import HOSTILE, draw, look, say
from tests.package.report.test_drawn_figures import EMPTY, extras
from tests.package.report.years import NOW, document, plan_of


def rows(site: Site) -> dict[str, Row]:
    """Return the rows of the table by what they say of the symptom."""
    return {row.cells[5]: row for row in symptoms_figure(site, extras().suspects).table.rows}


def test_each_symptom_has_its_row_with_state_time_and_what_it_may_explain(site: Site) -> None:
    found = rows(site)
    medium = found["kernel: I/O errors of sdc (14 times)"]
    assert medium.cells == (
        *("oss2", "kernel", "CRITICAL", "2026-09-16 14:13 UTC", "oss2-disk1"),
        *("kernel: I/O errors of sdc (14 times)", "suspect oss2-disk1"),
    )
    assert (medium.anchor, medium.to) == (anchor("symptoms", "oss2 kernel"), "suspects")
    errors = found["312 errors in 1804211 packets of link ens1f0"]
    assert errors.cells[2:4] == ("WARNING", "2026-09-20 14:13 UTC")
    assert errors.to.startswith(("ost-", "net-"))


def test_what_passes_is_no_alarm_and_of_no_time_that_is_known_it_says_when_seen(
    site: Site,
) -> None:
    rebuild = rows(site)["recovery of array md3 runs (no suspicion)"]
    assert rebuild.cells[2:4] == ("OK", "seen 2026-09-21 14:10 UTC")


def test_what_was_found_fine_is_a_row_that_says_what_was_looked_at(site: Site) -> None:
    fine = rows(site)["no symptoms; looked at: md 2"]
    assert fine.cells[:4] == ("oss1", "arrays", "OK", "")
    assert fine.anchor == anchor("symptoms", "oss1 arrays")


def test_the_worst_hosts_stand_first_and_hosts_nobody_looks_at_are_named(site: Site) -> None:
    figure = symptoms_figure(site, None)
    assert figure.finding == (
        "3 hosts: 1 CRITICAL, 2 WARNING. 1 symptom besides will pass, or raise no suspicion. "
        "No symptoms are read on 1 host: client1."
    )
    assert figure.plots[0].layout["yaxis"]["ticktext"] == ["oss2", "oss3", "oss1"]
    assert [trace["name"] for trace in figure.plots[0].data] == ["CRITICAL", "WARNING", "OK"]


def test_the_first_screen_leads_there_and_a_suspects_symptom_is_behind_it(
    site: Site, metrics: Metrics
) -> None:
    found = {one.component: one for one in overview(site, metrics, extras().suspects)}
    medium = found["symptoms oss2 kernel"]
    assert (medium.kind, medium.state, medium.since) == (
        *(Kind.EXPLAINED, State.CRITICAL),
        "2026-09-16 14:13 UTC",
    )
    assert medium.next == "see suspect oss2-disk1"
    degraded = found["symptoms oss2 arrays"]
    assert (degraded.kind, degraded.since) == (Kind.SYMPTOM, "")
    assert degraded.anchor == anchor("symptoms", "oss2 arrays")
    assert degraded.next.startswith("on oss2: plumbline symptoms; may explain: ")


def test_every_link_and_every_row_of_the_first_screen_leads_to_a_place_in_the_page(
    site: Site,
) -> None:
    more = extras()
    entries = overview(site, find_metrics(site), more.suspects)
    page = pages(site, draw(site, more), entries)["index.html"]
    figure = symptoms_figure(site, more.suspects)
    places = [row.to for row in figure.table.rows if row.to]
    places += [one.anchor for one in entries if one.component.startswith("symptoms ")]
    assert places
    assert [place for place in places if f'id="{place}"' not in page] == []
    assert 'href="#suspects">suspect oss2-disk1</a>' in page


def test_a_site_at_which_nobody_looks_says_how_to_begin() -> None:
    figure = symptoms_figure(EMPTY, None)
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


def test_without_a_look_a_host_is_unseen_and_unknown_where_it_has_a_service(
    tmp_path: Path,
) -> None:
    assert looks(tmp_path) == SiteLooks((), ("oss1", "oss2", "oss3", "client1"))
    (missing,) = looks(tmp_path, services=True).looks
    assert (missing.host, missing.verdict.state) == ("oss1", State.UNKNOWN)
    assert "plumbline collect brings it again" in missing.verdict.sentence


@pytest.mark.parametrize("age_s", [3601.0, -3600.0])
def test_a_look_that_does_not_hold_shows_no_symptom(tmp_path: Path, age_s: float) -> None:
    bad = Symptom("md", "oss1", "degraded", State.CRITICAL, Direction.RAISES, "it is degraded")
    say(tmp_path, "oss1", NOW - age_s, look("md", bad))
    found = looks(tmp_path).looks
    assert {one.verdict.state for one in found} == {State.UNKNOWN}
    assert [one.symptoms for one in found] == [(), ()]


def test_a_damaged_copy_is_unknown_and_said(tmp_path: Path) -> None:
    say(tmp_path, "oss1", NOW, look("md"))
    (tmp_path / COLLECTED / "oss1.json").write_text("{")
    (damaged,) = looks(tmp_path).looks
    assert damaged.verdict.state is State.UNKNOWN
    figure = symptoms_figure(EMPTY._replace(looks=[damaged]), None)
    assert figure.absent.startswith("no host has a look that can be read")
    assert figure.table.rows[0].cells[:3] == ("oss1", "the look", "UNKNOWN")


def test_a_hostile_name_or_sentence_is_text(tmp_path: Path, site: Site) -> None:
    bad = [
        Symptom("md", name, "degraded", State.CRITICAL, Direction.RAISES, name) for name in HOSTILE
    ]
    say(tmp_path, "oss1", NOW, look("md", *bad))
    site = site._replace(looks=looks(tmp_path).looks)
    figure = symptoms_figure(site, None)
    page = pages(site, [figure], overview(site, find_metrics(site), None))
    assert "<script>alert" not in page["index.html"]
    assert "<img src=x" not in page["index.html"]
    ((_, lines),) = numbers([figure])
    text = "".join(lines)
    assert "\n=cmd" not in text
    assert "'=cmd" in text


def test_of_a_large_site_the_picture_has_the_worst_hosts_and_the_table_all(site: Site) -> None:
    many = [one._replace(host=f"n{n:04}") for n in range(1000) for one in site.looks if one.kind]
    figure = symptoms_figure(site._replace(looks=many), None)
    assert "the worst 40 of 1000" in figure.plots[0].title
    assert len(figure.plots[0].layout["yaxis"]["ticktext"]) == 40
    assert len(figure.table.rows) > 5000
