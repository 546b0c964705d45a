"""All figures of a report in order, and its files: a page, its style and script.

The page's content security policy allows only the scripts beside it, so a name with script code in
it is never executed.
"""

from __future__ import annotations

import re
from datetime import datetime, timezone
from typing import Any, NamedTuple, Optional, Sequence

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from plumbline.judge.phrases import number
from plumbline.model.command import printable
from plumbline.model.layers import LAYERS
from plumbline.model.profile import Profile
from plumbline.model.suspects import Suspects
from plumbline.model.verdict import State
from plumbline.parts.report.calls import calls_figure
from plumbline.parts.report.change import change_figure
from plumbline.parts.report.composite import composite_figure
from plumbline.parts.report.figure import Figure, Row
from plumbline.parts.report.heat_map import heat_map_figure
from plumbline.parts.report.moment import Past, Probed, moment_figure, past_runs_figure
from plumbline.parts.report.network import network_figure
from plumbline.parts.report.overview import RANK, Entry, Kind
from plumbline.parts.report.path import path_figure
from plumbline.parts.report.rails import rails_figures
from plumbline.parts.report.rounds import rounds_figure
from plumbline.parts.report.site import Metrics, Site
from plumbline.parts.report.space import space_figure
from plumbline.parts.report.suspects import suspects_figure
from plumbline.parts.report.symptoms import symptoms_figure
from plumbline.parts.report.targets import targets_figure
from plumbline.parts.report.users import users_lines

PAGE = "index.html"
LIBRARY = "plotly.min.js"
"""Plotly's library, copied into the folder of the page."""

_ASSETS = ("report.css", "report.js")
_LISTED = 30
_LONG = 28
"""Most letters of a cell that is no sentence."""


class Extras(NamedTuple):
    """Optional parts of a report: time to compare with, call profile, suspects, past hour.

    ``against`` is in seconds since the epoch.  ``past`` and ``probed`` are data of a past hour.
    """

    against: Optional[float] = None
    profile: Optional[Profile] = None
    suspects: Suspects = Suspects()
    past: Optional[Past] = None
    probed: Probed = Probed(())


def figures(site: Site, metrics: Metrics, extras: Extras) -> list[Figure]:
    """Return every figure; a figure that cannot be drawn has a reason."""
    past = extras.past
    drawn = [
        *((moment_figure(past), past_runs_figure(past, extras.probed)) if past else ()),
        path_figure(site, metrics),
        targets_figure(site, metrics),
        heat_map_figure(metrics),
        change_figure(site, metrics, extras.against),
        network_figure(site),
        *rails_figures(site),
        rounds_figure(site.rounds),
        composite_figure(site),
        calls_figure(extras.profile, site.run),
        suspects_figure(extras.suspects),
        symptoms_figure(site, extras.suspects),
        space_figure(site.spaces),
    ]
    return [figure.without_empty_plots() for figure in drawn]


def pages(site: Site, figures: Sequence[Figure], entries: Sequence[Entry] = ()) -> dict[str, str]:
    """Return the text of each file by name, without Plotly's library and the CSV files.

    ``entries`` are the rows of the first screen.
    """
    environment = Environment(
        loader=PackageLoader("plumbline.parts.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    watched = [entry for entry in entries if entry.kind is Kind.WATCHED]
    urgent = [entry for entry in entries if entry.kind is not Kind.WATCHED]
    text = environment.get_template("page.html").render(
        site=site.name,
        drawn_at=datetime.fromtimestamp(site.now, timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        figures=figures,
        plots=_plots(figures),
        counts=_counts(site),
        users=list(users_lines(site.last_runs)),
        suspects=sum(entry.kind is Kind.SUSPECT for entry in entries),
        entries=urgent[:_LISTED],
        more=len(urgent[_LISTED:]),
        watched=watched,
        dated_later=site.dated_later(),
        thinned_until=site.thinned_until(),
        library=LIBRARY,
        row_of_table=_row,
    )
    files = {PAGE: text}
    for name in _ASSETS:
        assert environment.loader
        files[name] = environment.loader.get_source(environment, name)[0]
    return files


def _printable(value: object) -> object:
    """Return a value of the template without characters that hide or turn other text.

    Texts of figures have line breaks, and spaces that keep a number and its unit together.
    """
    if not isinstance(value, str) or isinstance(value, Markup) or value.isprintable():
        return value
    return re.sub(r"[^\n\N{NO-BREAK SPACE}]+", lambda text: printable(text[0]), value)


def _row(row: Row) -> Markup:
    """Return a row of a table; the page of a large site has a hundred thousand cells."""
    anchor = f' id="{escape(row.anchor)}"' if row.anchor else ""
    cells = [str(escape(_printable(cell))) for cell in row.cells]
    texts = list(map(_unbroken, cells))
    if row.to:
        texts[-1] = f'<a href="#{escape(row.to)}">{cells[-1]}</a>'
    columns = (
        f'<td class="long">{text}</td>' if len(cell) > _LONG else f"<td>{text}</td>"
        for cell, text in zip(row.cells, texts)
    )
    return Markup(f"<tr{anchor}>{''.join(columns)}</tr>")  # noqa: S704 - all of it is escaped


def _unbroken(text: str) -> str:
    """Return a text whose numbers stay in one line with their units."""
    for unit in ("MB/s", "GB/s", "%"):
        text = text.replace(f" {unit}", f"\N{NO-BREAK SPACE}{unit}")
    return text


def _plots(figures: Sequence[Figure]) -> dict[str, dict[str, Any]]:
    """Return Plotly's data and layout by element id."""
    return {
        f"{figure.id}-{number}": {"data": plot.data, "layout": plot.layout}
        for figure in figures
        for number, plot in enumerate(figure.plots)
    }


def _counts(site: Site) -> list[tuple[str, int, str]]:
    """Return each state with its total and a text, such as ``3 components, 1 group``.

    All components count, but only groups and symptoms that are not OK.
    """
    states: dict[str, list[State]] = {
        "component": [verdict.state for verdict in site.verdicts.values()],
        # a file system whose targets are driven at once counts as a component
        "group": [
            verdict.state
            for (layer, _), verdict in site.groups.items()
            if not LAYERS[layer].whole and verdict.counts and verdict.state is not State.OK
        ],
        "symptom": [
            look.verdict.state for look in site.looks if look.verdict.state is not State.OK
        ],
    }
    rows = []
    for state in RANK:
        counts = {noun: values.count(state) for noun, values in states.items()}
        words = [number(count, noun) for noun, count in counts.items() if count]
        rows.append((state.name, sum(counts.values()), ", ".join(words)))
    return rows
