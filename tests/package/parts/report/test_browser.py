"""The page in Chromium: drawing, hover, keyboard and both themes.

All tests share one browser.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Iterator

import pytest

from plumbline.parts.report.overview import overview
from plumbline.parts.report.page import LIBRARY, Extras, pages
from plumbline.parts.report.site import Site, find_metrics
from tests.package.parts.report.browser import Browser
from tests.package.parts.report.sites import HOSTILE, draw, hostile, read, sick
from tests.package.parts.report.test_drawn_figures import EMPTY, IDS, ROUNDS, SPACES, extras

pytestmark = pytest.mark.long

PLOTS = """[...document.querySelectorAll('.plot')].map((place) => [
    place.id,
    [...place.querySelectorAll('.trace path, .bars path, .points path, .point path, .hm image')]
        .filter((mark) => mark.getBBox().width > 0).length,
])"""
HOVERED = "[...document.querySelectorAll('.hoverlayer text')].map((one) => one.textContent)"
LIVE_AT = "document.getElementById('live')"
LIVE = f"{LIVE_AT}.textContent"
LABELS = 2
"""Texts of one point: a label, and the name of its trace unless the label contains it."""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = shutil.which("chromium")
    assert program, "requirements/tests.txt names chromium"
    with Browser(program, tmp_path_factory.mktemp("profile")) as browser:
        yield browser


def write_page(folder: Path, site: Site, extras_of_site: Extras) -> str:
    """Write a report and return the address of its page."""
    import plotly

    library = Path(plotly.__file__).parent / "package_data" / LIBRARY
    (folder / LIBRARY).symlink_to(library)
    entries = overview(site, find_metrics(site), extras_of_site.suspects)
    for name, text in pages(site, draw(site, extras_of_site), entries).items():
        (folder / name).write_text(text, encoding="utf-8")
    return (folder / "index.html").as_uri()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    whole = sick()._replace(spaces=SPACES, rounds=ROUNDS)
    return write_page(tmp_path_factory.mktemp("report"), whole, extras())


@pytest.fixture
def opened(browser: Browser, page: str) -> Browser:
    """Return the browser with the page of the lab, opened once for all read-only tests."""
    if browser.address != page:
        browser.open(page)
    return browser


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_figure_is_drawn_in_both_themes(browser: Browser, page: str, theme: str) -> None:
    browser.call(
        "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}]
    )
    browser.open(page)
    drawn = dict(browser.ask(PLOTS))
    assert {name.rsplit("-", 1)[0] for name in drawn} == set(IDS)
    assert [name for name, count in drawn.items() if not count] == []
    paper = browser.ask("getComputedStyle(document.body).backgroundColor")
    assert paper == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 29)"}[theme]
    assert browser.ask("document.querySelector('.plot .bg').style.fill") in ("", paper)
    assert browser.ask("document.querySelector('.main-svg').style.background") == paper
    assert browser.complaints == []


def test_the_button_changes_the_theme(opened: Browser) -> None:
    before = opened.ask("getComputedStyle(document.body).backgroundColor")
    opened.ask("document.getElementById('theme').click()")
    assert opened.ask("getComputedStyle(document.body).backgroundColor") != before
    assert opened.complaints == []


def test_hover_shows_the_components_name(opened: Browser) -> None:
    x, y = opened.ask(
        "(() => { const place = document.getElementById('targets-0');"
        "place.scrollIntoView({ block: 'center' });"
        "const dot = [...place.querySelectorAll('.scatterlayer .trace')].pop()"
        ".querySelector('.point').getBoundingClientRect();"
        "return [dot.x + dot.width / 2, dot.y + dot.height / 2]; })()"
    )
    opened.point_at(x - 3, y)
    opened.point_at(x, y)
    opened.wait(f"{HOVERED}.join().includes('oss2-disk1')")
    assert "CRITICAL" in " ".join(opened.ask(HOVERED))


def test_the_keyboard_moves_from_point_to_point(opened: Browser) -> None:
    opened.ask("document.getElementById('network-0').focus()")
    opened.press("ArrowRight")
    opened.press("ArrowRight")
    opened.wait(f"{HOVERED}.join().includes('oss2')")
    opened.wait(f"{LIVE}.startsWith('oss2, send ')")


def test_every_picture_announces_its_points(opened: Browser) -> None:
    for place, _ in opened.ask(PLOTS):
        opened.ask(f"{LIVE_AT}.textContent = ''")
        opened.ask(f"document.getElementById('{place}').focus()")
        opened.press("ArrowRight")
        shown = f"document.querySelector('#{place} .hoverlayer').textContent"
        # the previous picture may still write its text
        opened.wait(f"{LIVE} && {LIVE}.replaceAll(', ', '') === {shown}.replaceAll(', ', '')")
        # a figure without focus shows no label
        assert opened.ask(f"{HOVERED}.length") <= LABELS, place
    opened.press("Escape")
    opened.wait(f"{HOVERED}.length === 0")
    assert opened.complaints == []


def test_the_keyboard_moves_from_pair_to_pair(opened: Browser) -> None:
    opened.ask("document.getElementById('network-2').focus()")
    opened.press("ArrowRight")
    opened.wait(f"{HOVERED}.join().includes('oss1 send oss')")
    opened.wait(f"{LIVE}.startsWith('oss1 send oss')")


def test_a_link_from_nagios_lands_on_the_component(opened: Browser) -> None:
    opened.ask("location.hash = 'ost-scratch-OST0002'")
    assert opened.ask("document.querySelector(':target').textContent").startswith("WARNING")
    opened.wait(
        "(() => { const at = document.querySelector(':target').getBoundingClientRect();"
        "return at.height > 0 && at.top >= 0 && at.bottom <= innerHeight; })()"
    )


def test_printing_uses_the_light_theme_and_the_width_of_paper(opened: Browser) -> None:
    opened.ask("document.documentElement.dataset.theme = 'dark'")
    opened.ask(
        "addEventListener('beforeprint', () => { window.seen ="
        "[document.documentElement.dataset.theme, document.querySelector('.main-svg').clientWidth];"
        "})"
    )
    assert len(opened.call("Page.printToPDF")["data"]) > 100_000
    assert opened.ask("window.seen") == ["light", 680]
    assert opened.ask("document.documentElement.dataset.theme") == "dark"
    opened.wait("document.querySelector('.main-svg').clientWidth > 1000")
    assert opened.complaints == []


def test_hostile_names_are_text(browser: Browser, tmp_path: Path) -> None:
    site = read(*hostile(tmp_path))
    browser.open(write_page(tmp_path, site._replace(name=HOSTILE[0]), Extras()))
    assert browser.ask("document.querySelector('h1').textContent") == HOSTILE[0]
    assert browser.ask("document.querySelectorAll('main img, figure b').length") == 0
    cells = browser.ask("[...document.querySelectorAll('td')].map((one) => one.textContent)")
    assert set(HOSTILE) <= set(cells)
    drawn = browser.ask(
        "[...document.querySelectorAll('.xtick text, .ytick text')].map((one) => one.textContent)"
    )
    assert HOSTILE[0] in drawn
    assert "{{ 7 * 7 }}" in json.dumps(browser.ask("document.body.textContent"))
    assert browser.complaints == []


def test_an_empty_site_is_shown(browser: Browser, tmp_path: Path) -> None:
    browser.open(write_page(tmp_path, EMPTY, Extras()))
    assert browser.ask("document.querySelectorAll('.figure .absent').length") == len(IDS)
    assert browser.complaints == []
