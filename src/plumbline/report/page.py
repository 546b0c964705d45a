"""Figures -> the files of a report: one page, its style and script, and a CSV for each figure.

The page runs no script but those beside it (its policy says so to the browser), so a name that
looks like one stays a name.
"""

from __future__ import annotations

import csv
import io
from datetime import datetime, timezone
from typing import Any, Sequence

from jinja2 import Environment, PackageLoader, StrictUndefined

from plumbline.layers import WHOLE
from plumbline.model.state import State
from plumbline.report.figure import Cell, Figure
from plumbline.report.overview import RANK, Entry
from plumbline.report.site import Site

PAGE = "index.html"
LIBRARY = "plotly.min.js"
"""What must lie beside the page: Plotly's own file, copied once."""

_ASSETS = ("report.css", "report.js")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_LISTED = 30


def pages(site: Site, figures: Sequence[Figure], entries: Sequence[Entry] = ()) -> dict[str, str]:
    """Return the text of each file of the report by its name, Plotly's library apart.

    ``entries`` are the rows of the first screen.
    """
    environment = Environment(
        loader=PackageLoader("plumbline.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    text = environment.get_template("page.html").render(
        site=site.name,
        drawn_at=datetime.fromtimestamp(site.now, timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        figures=figures,
        plots=_plots(figures),
        counts=_counts(site),
        entries=entries[:_LISTED],
        more=len(entries[_LISTED:]),
        dated_later=site.dated_later(),
        thinned_until=site.thinned_until(),
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
    """Return how many are in which state: components; groups and symptoms that are not OK."""
    states = [verdict.state for verdict in site.verdicts.values()]
    # a file system whose targets are driven at once is a component as well
    groups = [one for (layer, _), one in site.groups.items() if layer not in WHOLE and one.counts]
    looks = (one.verdict for one in site.looks)
    states += [one.state for one in (*groups, *looks) if one.state is not State.OK]
    return [(state.name, states.count(state)) for state in RANK]


def _csv(rows: Sequence[Sequence[Cell]]) -> str:
    text = io.StringIO()
    # with both characters as the end of a line (RFC 4180) a cell that holds one of them is quoted
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerows([_harmless(cell) for cell in row] for row in rows)
    return text.getvalue()


def _harmless(cell: Cell) -> Cell:
    """Return a cell that no spreadsheet takes for a formula."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell
