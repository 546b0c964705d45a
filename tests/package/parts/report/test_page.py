"""The page: every figure with anchor, table and CSV, and all names escaped."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

from plumbline.model.suspects import Suspects
from plumbline.model.verdict import State
from plumbline.parts.report.figure import numbers
from plumbline.parts.report.overview import Entry, Kind, overview
from plumbline.parts.report.page import Extras, pages
from plumbline.parts.report.site import Metrics, Site, find_metrics
from tests.package.parts.locate.scenes import lab
from tests.package.parts.report.sites import HOSTILE, draw, hostile, read
from tests.package.parts.report.test_drawn_figures import IDS, extras
from tests.package.parts.report.years import plan_of


class Tags(HTMLParser):
    """The tags and ids of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.sources: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        values = dict(attributes)
        self.ids += [values["id"] or ""] if "id" in values else []
        self.sources += [values[key] or "" for key in ("src", "href") if key in values]


def test_every_figure_has_an_anchor_and_a_csv(site: Site) -> None:
    figures = draw(site, Extras())
    files = pages(site, figures)
    tags = Tags(files["index.html"])
    assert [name for name in tags.ids if name in IDS] == IDS
    assert len(tags.ids) == len(set(tags.ids))
    names = {*files, *dict(numbers(figures))}
    assert {"report.css", "report.js", "data/targets.csv"} <= names
    linked = [source for source in tags.sources if not source.startswith(("#", "data:"))]
    assert set(linked) == {*names, "plotly.min.js"} - {"index.html"}


def test_links_to_alarms_have_anchors(site: Site, metrics: Metrics) -> None:
    entries = overview(site, metrics, extras().suspects)
    tags = Tags(pages(site, draw(site, Extras()), entries)["index.html"])
    inside = [source[1:] for source in tags.sources if source.startswith("#")]
    assert "ost-scratch-OST0002" in inside
    assert set(inside) <= set(tags.ids)


def test_every_nagios_service_has_an_anchor(site: Site) -> None:
    tags = Tags(pages(site, draw(site, Extras()))["index.html"])
    services = plan_of(lab()).services
    # a node has no anchor: its service links to the targets
    assert {service.layer for service in services if not service.anchor} == {"node"}
    anchors = [service.anchor for service in services if service.anchor]
    assert len(anchors) == len(set(anchors)) == 12 + 4 + 4
    assert set(anchors) <= set(tags.ids)


def test_the_page_loads_nothing_from_other_sites(site: Site) -> None:
    files = pages(site, draw(site, Extras()))
    assert not [source for source in Tags(files["index.html"]).sources if "//" in source]
    assert "//" not in re.sub(r"^\s*//.*$", "", files["report.js"], flags=re.M)
    assert "script-src 'self' file:;" in files["index.html"]


def test_watched_components_are_folded_below_the_alarms(site: Site) -> None:
    alarm = Entry(Kind.ALARM, "ost a", State.CRITICAL, "", "ost a is slow", "look", "targets")
    watched = alarm._replace(kind=Kind.WATCHED, state=State.OK, sentence="ost b was low")
    page = pages(site, [], [alarm, watched])["index.html"]
    assert page.index("ost a is slow") < page.index("<summary>Watched: 1.")
    assert page.index("<summary>Watched: 1.") < page.index("ost b was low")
    assert "<summary>Watched" not in pages(site, [], [alarm])["index.html"]


def test_hostile_names_add_no_tags_and_end_no_script(tmp_path: Path) -> None:
    site = read(*hostile(tmp_path))
    site = site._replace(name=HOSTILE[0])
    bad = {
        place: verdict._replace(state=State.CRITICAL, sentence=f"{HOSTILE[1]} \x1b[2J \u202e")
        for place, verdict in site.verdicts.items()
    }
    entries = overview(site._replace(verdicts=bad), find_metrics(site), Suspects())
    assert len(entries) == len(bad)
    text = pages(site, draw(site, Extras()), entries)["index.html"]
    tags = Tags(text)
    assert tags.tags.count("script") == 3
    assert "img" not in tags.tags
    assert "b" not in tags.tags
    assert "{{ 7 * 7 }}" in text
    assert "".join(re.split(r"[\n\N{NO-BREAK SPACE}]", text)).isprintable()
    (embedded,) = re.findall(r'<script type="application/json" id="plots">(.*?)</script>', text)
    assert "path-0" in json.loads(embedded)
