"""All targets: the latest rate of each as a dot, peers together, problems labelled."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any, Iterable, Optional, Sequence, TypeVar

from plumbline.judge.phrases import number
from plumbline.model.layers import LAYERS
from plumbline.model.names import anchor, group_anchor, several
from plumbline.model.quantity import Quantity
from plumbline.model.verdict import State
from plumbline.parts.report.figure import (
    BASELINE,
    BASELINE_BAND,
    CEILING,
    GREY,
    Cell,
    Figure,
    NamedPoint,
    Plot,
    Row,
    Table,
    labels,
    mark,
    scatter,
    shown,
    value_axis,
)
from plumbline.parts.report.site import Member, Metric, Metrics, Site, by_group

_T = TypeVar("_T")

ABOUT = (
    "The latest rate of every component beside its peers. The line above is the ceiling, the "
    "band is what the baseline allows before a warning, its middle the baseline itself. What is "
    "not OK has its own mark, and its name where there is place; what has no rate stands at zero."
)
NUMBERS = (
    "layer",
    "group",
    "component",
    "operation",
    "scenario",
    "state",
    "now",
    "ceiling",
    "baseline",
    "unit",
    "accepted_below_floor",
    "measured_at",
)
_NAMED = 40
_RANK = (State.CRITICAL, State.WARNING, State.UNKNOWN)


def targets_figure(site: Site, metrics: Metrics) -> Figure:
    """Return the figure: a plot for each metric other than those of the network."""
    drawn = {key: members for key, members in metrics.items() if not LAYERS[key.layer].paired}
    figure = Figure("targets", "All targets", ABOUT)
    if not drawn:
        return figure._replace(absent="the plan has no target and no disk that is measured")
    return figure._replace(
        finding=_finding(site, drawn),
        plots=[_plot(metric, members) for metric, members in drawn.items()],
        table=_table(site, drawn),
        numbers=[NUMBERS, *_numbers(drawn)],
    )


def _finding(site: Site, drawn: Metrics) -> str:
    places = dict.fromkeys(
        (metric.layer, member.name) for metric, members in drawn.items() for member in members
    )
    states = [site.state(*place) for place in places]
    words = [f"{states.count(state)} {state.name}" for state in _RANK if state in states]
    low = {
        (metric.layer, member.name)
        for metric, members in drawn.items()
        for member in members
        if member.below_floor
    }
    accepted = f" Accepted below its floor: {number(len(low), 'component')}." if low else ""
    drawn_here = f"Without the links of hosts: {number(len(places), 'component')}"
    return f"{drawn_here}, {', '.join(words) or 'all OK'}.{accepted}{_above_ceiling(drawn)}"


def _above_ceiling(drawn: Metrics) -> str:
    """Return a sentence on the baselines above their ceilings, empty if there are none."""
    times = {
        f"{member.name} {metric.step}": member.baseline_rate / member.ceiling_rate
        for metric, members in drawn.items()
        for member in members
        if member.baseline_rate and member.ceiling_rate
    }
    above = {name: share for name, share in times.items() if share > 1}
    if not above:
        return ""
    names = sorted(above, key=lambda name: -above[name])
    return (
        f" Baseline above its ceiling: {several(names, 1)}, {100 * above[names[0]]:.0f} % of it. "
        "A burst or a cache may give some percent; with more, correct the baseline or the topology."
    )


def _plot(metric: Metric, members: Sequence[Member]) -> Plot:
    places = list(range(len(members)))
    names = [shown(member.name) for member in members]
    measured = any(member.now_rate is not None for member in members)
    quantity = metric.quantity
    data = (
        [*_band(quantity, members, places, names), *_dots(quantity, members, names)]
        if measured
        else []
    )
    layout = {
        "xaxis": _axis(members, names),
        "shapes": list(_fences(members)),
        "yaxis": value_axis(quantity.axis),
        "annotations": list(_labels(quantity, members)),
    }
    return Plot(str(metric), data, layout)


def _axis(members: Sequence[Member], names: list[str]) -> dict[str, Any]:
    """Return the axis with all names if they fit, else with the groups."""
    axis = {
        "range": [-0.7, len(members) - 0.3],
        "automargin": True,
        "showgrid": False,
        "zeroline": False,
    }
    if len(members) <= _NAMED:
        return {**axis, "tickvals": list(range(len(members))), "ticktext": names}
    groups, start, middles = by_group(members), 0, []
    for peers in groups.values():
        middles.append(start + (len(peers) - 1) / 2)
        start += len(peers)
    step = 1 + len(groups) // _NAMED
    return {
        **axis,
        "tickvals": middles[::step],
        "ticktext": [shown(group) for group in groups][::step],
    }


def _fences(members: Sequence[Member]) -> Iterable[dict[str, Any]]:
    """Yield a line between neighbouring groups."""
    for place, (member, other) in enumerate(zip(members, members[1:])):
        if member.entry.group != other.entry.group:
            ends = {"x0": place + 0.5, "x1": place + 0.5, "y0": 0, "y1": 1}
            yield {"type": "line", "yref": "paper", **ends, "line": {"color": GREY, "width": 1}}


def _band(
    quantity: Quantity, members: Sequence[Member], places: list[int], names: list[str]
) -> list[dict[str, Any]]:
    """Return the traces of the references, as bands and steps, because peers may differ."""
    lows = [quantity.pictured(_lowest(member)) for member in members]
    traces = []
    if any(low is not None for low in lows):
        middles = [quantity.pictured(member.baseline_rate) for member in members]
        line = {"shape": "hvh", "width": 0}
        traces = [
            _reference("warning", lows, places, line),
            {
                **_reference("baseline", middles, places, {**line, "width": 2, "color": BASELINE}),
                "fill": "tonexty",
                "fillcolor": BASELINE_BAND,
                "showlegend": True,
            },
        ]
    if any(member.ceiling_rate for member in members):
        line = {"shape": "hvh", "width": 2, "color": CEILING, "dash": "dash"}
        ceilings = [quantity.pictured(member.ceiling_rate) for member in members]
        traces.append({**_reference("ceiling", ceilings, places, line), "showlegend": True})
    for trace in traces:
        trace["text"] = _widened(names)
    return traces


def _lowest(member: Member) -> Optional[float]:
    """Return the rate below which the baseline warns."""
    if member.baseline_rate is None:
        return None
    return max(0.0, member.entry.limits.warning.start) / 100 * member.baseline_rate


def _reference(
    name: str, heights: Sequence[Optional[float]], places: list[int], line: dict[str, Any]
) -> dict[str, Any]:
    return scatter(
        "lines",
        name,
        x=[places[0] - 0.5, *places, places[-1] + 0.5],
        y=_widened(heights),
        line=line,
        hoverinfo="skip",
        showlegend=False,
    )


def _widened(values: Sequence[_T]) -> list[_T]:
    """Return values with both ends doubled, so a line is visible even for one dot."""
    return [values[0], *values, values[-1]]


def _dots(
    quantity: Quantity, members: Sequence[Member], names: Sequence[str]
) -> Iterable[dict[str, Any]]:
    for state in State:
        places = [number for number, member in enumerate(members) if member.state is state]
        if places:
            yield scatter(
                "markers",
                state.name,
                f"%{{text}}<br>%{{customdata}}, {state.name}",
                x=places,
                y=[quantity.pictured(members[place].now_rate) or 0.0 for place in places],
                text=[names[place] for place in places],
                customdata=[shown(_rate(quantity, members[place])) for place in places],
                marker=mark(state),
            )


def _labels(quantity: Quantity, members: Sequence[Member]) -> Iterable[dict[str, Any]]:
    """Return labels for members that are not OK, the most severe and slowest first."""
    not_ok = [
        (number, member) for number, member in enumerate(members) if member.state is not State.OK
    ]
    not_ok.sort(key=lambda member: (_RANK.index(member[1].state), member[1].now_rate or 0.0))
    rates = [rate for member in members for rate in (member.now_rate, member.ceiling_rate)]
    top = max((rate for rate in map(quantity.pictured, rates) if rate is not None), default=0.0)
    named = (
        NamedPoint(number, quantity.pictured(member.now_rate) or 0.0, member.name)
        for number, member in not_ok
    )
    return labels(named, len(members), top)


def _rate(quantity: Quantity, member: Member) -> str:
    return "no rate" if member.now_rate is None else quantity.format(member.now_rate)


def _table(site: Site, drawn: Metrics) -> Table:
    """Return a row for each component and group, with anchors for links from Nagios."""
    steps = tuple(dict.fromkeys(metric.step for metric in drawn))
    rows: dict[tuple[str, str, str], dict[str, str]] = {}
    low: dict[tuple[str, str], str] = {}
    for metric, members in drawn.items():
        for member in members:
            row = rows.setdefault((metric.layer, member.entry.group, member.name), {})
            row[metric.step] = _rate(metric.quantity, member)
            if member.below_floor:
                text = f"; {metric.step} accepted below its floor: {member.below_floor}"
                low[metric.layer, member.name] = low.get((metric.layer, member.name), "") + text
    components = [
        Row(
            (
                site.state(layer, name).name,
                layer,
                group,
                name,
                *(rates.get(step, "") for step in steps),
                site.sentence(layer, name) + low.get((layer, name), ""),
            ),
            anchor(layer, name),
        )
        for (layer, group, name), rates in rows.items()
    ]
    return Table(
        ("state", "layer", "group", "component", *steps, "verdict"),
        [*_groups(site, drawn, len(steps)), *components],
    )


def _groups(site: Site, drawn: Metrics, width: int) -> Iterable[Row]:
    pairs = ((metric.layer, member) for metric, members in drawn.items() for member in members)
    for layer, group in dict.fromkeys((layer, member.entry.group) for layer, member in pairs):
        verdict = site.groups.get((layer, group))
        if verdict:
            cells = (
                verdict.state.name,
                layer,
                group,
                "whole group",
                *[""] * width,
                verdict.sentence,
            )
            yield Row(cells, group_anchor(layer, group))


def _numbers(drawn: Metrics) -> Iterable[Sequence[Cell]]:
    for metric, members in drawn.items():
        quantity = metric.quantity
        for member in members:
            rates = member.now_rate, member.ceiling_rate, member.baseline_rate
            yield (
                metric.layer,
                member.entry.group,
                member.name,
                metric.operation,
                metric.scenario,
                member.state.name,
                *(None if rate is None else quantity.figure(rate) for rate in rates),
                quantity.unit,
                member.below_floor or None,
                None if member.now_at is None else _moment(member.now_at),
            )


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
