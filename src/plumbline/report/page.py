"""Figures -> the files of a report: one page, its style and script, and a CSV for each figure.

The page runs no script but those beside it (its policy says so to the browser), so a name that
looks like one stays a name.
"""

from __future__ import annotations

import csv
import io
from datetime import datetime, timezone
from typing import Any, NamedTuple, Sequence

from jinja2 import Environment, PackageLoader, StrictUndefined

from plumbline.model.anchor import anchor
from plumbline.model.state import State
from plumbline.report.figure import Cell, Figure
from plumbline.report.site import Site

PAGE = "index.html"
LIBRARY = "plotly.min.js"
"""What must lie beside the page: Plotly's own file, copied once."""

_ASSETS = ("report.css", "report.js")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_RANK = (State.CRITICAL, State.UNKNOWN, State.WARNING)
_LISTED = 30


class Alarm(NamedTuple):
    """A component that is not OK, and where in the page it stands."""

    state: str
    layer: str
    component: str
    sentence: str
    anchor: str


def pages(site: Site, figures: Sequence[Figure]) -> dict[str, str]:
    """Return the text of each file of the report by its name, Plotly's library apart."""
    environment = Environment(
        loader=PackageLoader("plumbline.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    alarms = list(_alarms(site))
    text = environment.get_template("page.html").render(
        site=site.name,
        drawn_at=datetime.fromtimestamp(site.now, timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        figures=figures,
        plots=_plots(figures),
        counts=_counts(site),
        alarms=alarms[:_LISTED],
        more=len(alarms) - len(alarms[:_LISTED]),
        dated_later=site.dated_later(),
        library=LIBRARY,
    )
    found = {PAGE: text}
    for name in _ASSETS:
        assert environment.loader
        found[name] = environment.loader.get_source(environment, name)[0]
    found.update({f"data/{one.id}.csv": _csv(one.numbers) for one in figures if one.numbers})
    return found


def _plots(figures: Sequence[Figure]) -> dict[str, dict[str, Any]]:
    """Return what Plotly draws by the id of its place."""
    return {
        f"{figure.id}-{number}": {"data": plot.data, "layout": plot.layout}
        for figure in figures
        for number, plot in enumerate(figure.plots)
    }


def _counts(site: Site) -> list[tuple[str, int]]:
    states = [verdict.state for verdict in site.verdicts.values()]
    return [(state.name, states.count(state)) for state in (*_RANK, State.OK)]


def _alarms(site: Site) -> list[Alarm]:
    found = [
        (_RANK.index(verdict.state), layer, name, verdict)
        for (layer, name), verdict in site.verdicts.items()
        if verdict.state is not State.OK
    ]
    return [
        Alarm(verdict.state.name, layer, name, verdict.sentence, anchor(layer, name))
        for _, layer, name, verdict in sorted(found, key=lambda each: each[:3])
    ]


def _csv(rows: Sequence[Sequence[Cell]]) -> str:
    text = io.StringIO()
    # with both characters as the end of a line (RFC 4180) a cell that holds one of them is quoted
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerows([_harmless(cell) for cell in row] for row in rows)
    return text.getvalue()


def _harmless(cell: Cell) -> Cell:
    """Return a cell that no spreadsheet takes for a formula."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell
