"""The path: what each part can carry and each layer gives, end to end, one flow at a time.

It reads as section III of the Red Storm report does: from the client's end to the disk, theory
beside what was demonstrated, the narrowest part marked.
"""

from __future__ import annotations

from math import isfinite
from typing import Any, Iterator, NamedTuple, Optional, Sequence

from plumbline.report.figure import (
    Figure,
    Plot,
    Row,
    Table,
    megabytes,
    percent,
    shown,
)
from plumbline.report.palette import BASELINE, CEILING, NOW, RED
from plumbline.report.site import Cohort, Cohorts, Member, Site, by_group, middle
from plumbline.units import format_rate

ABOUT = (
    "What one flow can have of each part of the path, from the client to the disk, and what each "
    "layer gives: the ceiling by the hardware, the baseline that was accepted, and the latest "
    "measurement, each the median over all alike. The part that limits the whole is marked. "
    "Bars end where they say nothing any more; their numbers are written beside them."
)
HEADERS = ("path", "stage", "number", "ceiling", "all together", "baseline", "now", "limits")
_NUMBERS = (
    "path",
    "stage",
    "number",
    "ceiling_Bps",
    "all_together_Bps",
    "baseline_Bps",
    "now_Bps",
    "limits",
)
_AWAY = ("write", "send")
_WIDEST = 4.0
"""Bars end at this multiple of the longest that was measured or limits."""

_ROW_PX = 54


class Stage(NamedTuple):
    """One line of the path: all parts of a kind, or a layer; rates are of one flow, in B/s."""

    name: str
    number: int
    ceiling_Bps: Optional[float]
    sum_Bps: Optional[float]
    baseline_Bps: Optional[float]
    now_Bps: Optional[float]
    limits: bool


def path_figure(site: Site, cohorts: Cohorts) -> Figure:
    """Return the figure: a picture for each file system and direction."""
    drawn = [
        (f"{of} {group}", stages(site, cohorts, of, members))
        for of in _whole(cohorts)
        for group, members in _paths(of, cohorts[of]).items()
    ]
    figure = Figure("path", "The path", ABOUT)
    if not drawn:
        return figure._replace(absent="the plan names nothing that is measured across a path")
    return figure._replace(
        finding="\n".join([*(_finding(name, found) for name, found in drawn), *_at_once(site)]),
        plots=[_plot(name, found) for name, found in drawn],
        table=Table(HEADERS, [Row(_cells(name, one)) for name, found in drawn for one in found]),
        numbers=[_NUMBERS, *([name, *one] for name, found in drawn for one in found)],
    )


def _at_once(site: Site) -> Iterator[str]:
    """Yield what the targets of each file system gave together in its latest parallel run."""
    groups = dict.fromkeys(one.group for one in site.expectations if one.layer == "ost")
    for course in site.courses:
        if course.layer == "fs" and course.component in groups:
            rates = [rate for rate in course.rates if isfinite(rate)]
            if rates:
                latest = format_rate(rates[-1])
                yield f"fs {course.component} {course.operation}: {latest} from all at once."


def _whole(cohorts: Cohorts) -> list[Cohort]:
    """Return what crosses the whole path: targets, or disks where no target is measured."""
    targets = [of for of in cohorts if of.scenario == "single" and of.layer == "ost"]
    return targets or [of for of in cohorts if of.scenario == "single" and of.layer != "net"]


def _paths(of: Cohort, members: Sequence[Member]) -> dict[str, list[Member]]:
    """Return the targets of each file system; disks are alike wherever they are."""
    return by_group(members) if of.layer == "ost" else {"": list(members)}


def stages(site: Site, cohorts: Cohorts, of: Cohort, members: Sequence[Member]) -> list[Stage]:
    """Return the stages that the bytes of some members cross, client end first, the whole last."""
    found = list(_parts(site, of, members))
    if of.layer == "ost":
        found += _layers(cohorts, of)
    return [*found, _measured(f"whole path: {of.layer} {of.operation}", members)]


def _parts(site: Site, of: Cohort, members: Sequence[Member]) -> Iterator[Stage]:
    longest = max((one.of.path for one in members), key=len, default=())
    crossed = dict.fromkeys(name for one in members for name in one.of.path)
    limiting = {
        name
        for one in members
        if one.reference.ceiling
        for name in one.reference.ceiling.limited_by
    }
    for kind in dict.fromkeys(site.parts[name].kind for name in longest if name in site.parts):
        names = [name for name in crossed if name in site.parts and site.parts[name].kind == kind]
        away = of.operation in _AWAY
        rates = [
            site.parts[name].write_Bps if away else site.parts[name].read_Bps for name in names
        ]
        rated = [rate for rate in rates if rate is not None]
        if rated:
            total = sum(rated) if len(rated) == len(names) else None
            limits = not limiting.isdisjoint(names)
            yield Stage(kind, len(names), middle(rated), total, None, None, limits)


def _layers(cohorts: Cohorts, of: Cohort) -> Iterator[Stage]:
    """Yield what the layers below show: the network for this direction, the disks for reads."""
    wanted = {"net": "send" if of.operation in _AWAY else "receive", "raw": of.operation}
    for layer, operation in wanted.items():
        members = [
            one
            for cohort, found in cohorts.items()
            if (cohort.layer, cohort.operation, cohort.scenario) == (layer, operation, "single")
            for one in found
        ]
        if members:
            yield _measured(f"{layer} {operation}", members)


def _measured(name: str, members: Sequence[Member]) -> Stage:
    return Stage(
        name,
        len(members),
        middle(one.ceiling_Bps for one in members),
        None,
        middle(one.baseline_Bps for one in members),
        middle(one.now_Bps for one in members),
        False,
    )


def _finding(name: str, found: Sequence[Stage]) -> str:
    whole = found[-1]
    limits = [one.name for one in found if one.limits]
    text = f"{name}: "
    if whole.now_Bps is None:
        return text + "not measured."
    text += format_rate(whole.now_Bps)
    if whole.ceiling_Bps:
        text += f", {percent(whole.now_Bps / whole.ceiling_Bps)} of the ceiling"
    return text + (f", limited by {' and '.join(limits)}." if limits else ".")


def _plot(name: str, found: Sequence[Stage]) -> Plot:
    ends = [rate for one in found for rate in (one.baseline_Bps, one.now_Bps) if rate]
    ends += [one.ceiling_Bps for one in found if one.limits and one.ceiling_Bps]
    ends += [found[-1].ceiling_Bps] if found[-1].ceiling_Bps else []
    every = [rate for one in found for rate in one[2:6:3] if rate]
    end = megabytes(min(_WIDEST * max(ends, default=1e6), max(every + ends, default=1e6))) or 1.0
    labels = [shown(one.name) + (" (limits)" if one.limits else "") for one in found]
    series = (
        ("ceiling", CEILING, [one.ceiling_Bps for one in found]),
        ("baseline", BASELINE, [one.baseline_Bps for one in found]),
        ("now", NOW, [one.now_Bps for one in found]),
    )
    data = [_bars(title, colour, rates, found) for title, colour, rates in series]
    layout = {
        "barmode": "group",
        "xaxis": {"title": {"text": "MB/s"}, "range": [0, 1.15 * end]},
        "yaxis": {
            "tickvals": list(range(len(found))),
            "ticktext": labels,
            "autorange": "reversed",
            "automargin": True,
        },
        "shapes": [_limit(number) for number, one in enumerate(found) if one.limits],
    }
    return Plot(name, data, layout, 110 + _ROW_PX * len(found))


def _bars(
    title: str, colour: str, rates: Sequence[Optional[float]], found: Sequence[Stage]
) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "name": title,
        "marker": {"color": colour},
        "x": [megabytes(rate) for rate in rates],
        "y": list(range(len(found))),
        "text": [format_rate(rate) if rate else "" for rate in rates],
        "textposition": "outside",
        "textfont": {"size": 11},
        "cliponaxis": False,
        "customdata": [shown(one.name) for one in found],
        "hovertemplate": f"%{{customdata}}: {title} %{{text}}<extra></extra>",
    }


def _limit(number: int) -> dict[str, Any]:
    """Return the frame around a stage that limits."""
    return {
        "type": "rect",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "y0": number - 0.48,
        "y1": number + 0.48,
        "line": {"color": RED, "width": 2, "dash": "dot"},
        "fillcolor": "rgba(0, 0, 0, 0)",
    }


def _cells(name: str, one: Stage) -> tuple[str, ...]:
    rates = (one.ceiling_Bps, one.sum_Bps, one.baseline_Bps, one.now_Bps)
    words = tuple(format_rate(rate) if rate else "" for rate in rates)
    return (name, one.name, str(one.number), *words, "limits" if one.limits else "")
