"""The path: ceiling of each part and rate of each layer, end to end.

A path is one operation on the targets of one file system, from the client to the disk.

It follows section III of the Red Storm report: from client to disk, with ceiling and demonstrated
rate, and the narrowest part marked.
"""

from __future__ import annotations

from math import isfinite
from typing import Any, Iterator, NamedTuple, Optional, Sequence

from plumbline.model.layers import LAYERS
from plumbline.model.layers.net import NET
from plumbline.model.layers.oss import OSS
from plumbline.model.layers.raw import RAW
from plumbline.model.limits import Reference
from plumbline.model.quantity import BYTES_PER_S
from plumbline.model.record import Operation
from plumbline.model.units import format_rate
from plumbline.parts.report.figure import (
    BASELINE,
    CEILING,
    NOW,
    RED,
    Figure,
    Plot,
    Row,
    Table,
    megabytes,
    percent,
    shown,
)
from plumbline.parts.report.site import Member, Metric, Metrics, Site, by_group, middle

_AWAY = ("write", "send")


class Stage(NamedTuple):
    """One row of the path: all parts of a kind, or a layer; rates are for one flow, in B/s."""

    name: str
    number: int
    ceiling_rate: Optional[float]
    sum_Bps: Optional[float]
    baseline_rate: Optional[float]
    now_rate: Optional[float]
    limits: bool


class Path(NamedTuple):
    """Path of one operation to the targets of one file system; ``whole`` is the last stage."""

    metric: Metric
    group: str
    parts: Sequence[Stage]
    layers: Sequence[Stage]
    whole: Stage

    @property
    def name(self) -> str:
        """Return e.g. ``ost write scratch``."""
        return f"{self.metric} {self.group}".rstrip()

    @property
    def stages(self) -> list[Stage]:
        """Return all stages, client end first, the whole path last."""
        return [*self.parts, *self.layers, self.whole]

    def shape(self) -> tuple[object, ...]:
        """Return a key that is equal for paths drawn as one plot."""
        rates = [(stage.name, _digits(stage.ceiling_rate), stage.limits) for stage in self.parts]
        return (self.metric.layer, _digits(self.whole.ceiling_rate), *rates)


def find_path(site: Site, metrics: Metrics, metric: Metric, members: Sequence[Member]) -> Path:
    """Return the path of some members, without the name of their group."""
    layers = list(_layers(metrics, metric)) if LAYERS[metric.layer].per_target else []
    whole = _measured(f"whole path: {metric.layer} {metric.operation}", members)
    return Path(metric, "", list(_parts(site, metric, members)), layers, whole)


def _parts(site: Site, metric: Metric, members: Sequence[Member]) -> Iterator[Stage]:
    longest = max((member.entry.path for member in members), key=len, default=())
    crossed = dict.fromkeys(name for member in members for name in member.entry.path)
    limiting = {
        name
        for member in members
        if member.reference.ceiling
        for name in member.reference.ceiling.limited_by
    }
    for kind in dict.fromkeys(site.parts[name].kind for name in longest if name in site.parts):
        names = [name for name in crossed if name in site.parts and site.parts[name].kind == kind]
        outward = metric.operation in _AWAY
        rates = [
            site.parts[name].write_Bps if outward else site.parts[name].read_Bps for name in names
        ]
        rated = [rate for rate in rates if rate is not None]
        if rated:
            total = sum(rated) if len(rated) == len(names) else None
            limits = not limiting.isdisjoint(names)
            yield Stage(kind, len(names), middle(rated), total, None, None, limits)


def _layers(metrics: Metrics, topmost: Metric) -> Iterator[Stage]:
    """Yield stages of the layers below: the network in this direction, the servers, the disks."""
    operations = {
        NET.name: "send" if topmost.operation in _AWAY else "receive",
        OSS.name: topmost.operation,
        RAW.name: topmost.operation,
    }
    for layer, operation in operations.items():
        members = [
            member
            for metric, measured in metrics.items()
            if (metric.layer, metric.operation, metric.scenario) == (layer, operation, "single")
            for member in measured
        ]
        if members:
            yield _measured(f"{layer} {operation}", members)


def _measured(name: str, members: Sequence[Member]) -> Stage:
    return Stage(
        name,
        len(members),
        middle(member.ceiling_rate for member in members),
        None,
        middle(member.demonstrated_rate for member in members),
        middle(member.now_rate for member in members),
        False,
    )


def _digits(rate: Optional[float]) -> str:
    """Return a rate with the digits visible in a plot."""
    return "" if rate is None else f"{rate:.3g}"


ABOUT = (
    "What one flow can have of each part of the path, from the client to the disk, and what each "
    "layer gives: the ceiling by the hardware, the baseline that was accepted, and the latest "
    "measurement, each the median over all alike. The part that limits the whole is marked. File "
    "systems and directions whose parts have the same rates share a picture. Bars end where they "
    "say nothing any more; their numbers are written beside them."
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
_WIDEST = 4.0
"""Bars end at this multiple of the largest rate that was measured or limits."""

_ROW_PX = 54

_MAX_WHOLES = 12
"""Most file systems and directions in one plot, the slowest; table and text have all."""


def path_figure(site: Site, metrics: Metrics) -> Figure:
    """Return the figure: a plot for all file systems and directions with equal parts."""
    paths = [
        find_path(site, metrics, metric, members)._replace(group=group)
        for metric in _whole(metrics)
        for group, members in _paths(metric, metrics[metric]).items()
    ]
    figure = Figure("path", "The path", ABOUT)
    if not paths:
        return figure._replace(absent="the plan names nothing that is measured across a path")
    shapes: dict[tuple[object, ...], list[Path]] = {}
    for path in paths:
        shapes.setdefault(path.shape(), []).append(path)
    rows = [(path.name, stage) for path in paths for stage in path.stages]
    return figure._replace(
        finding="\n".join([*map(_finding, paths), *_at_once(site)]),
        plots=[_plot(_title(group), _together(group)) for group in shapes.values()],
        table=Table(HEADERS, [Row(_cells(name, stage)) for name, stage in rows]),
        numbers=[_NUMBERS, *([name, *stage] for name, stage in rows)],
    )


def _title(paths: Sequence[Path]) -> str:
    """Return e.g. ``ost write and read of fs1, fs2``, or every name if they do not combine."""
    steps = list(dict.fromkeys(path.metric.step for path in paths))
    groups = list(dict.fromkeys(path.group for path in paths))
    if len(paths) == 1 or len(paths) < len(steps) * len(groups):
        return ", ".join(path.name for path in paths)
    title = f"{paths[0].metric.layer} {' and '.join(steps)}"
    return f"{title} of {', '.join(groups)}" if any(groups) else title


def _together(paths: Sequence[Path]) -> list[Stage]:
    """Return the stages of one plot: the common parts, and the whole of each path."""
    if len(paths) == 1:
        return paths[0].stages
    layers = {stage.name: stage for path in paths for stage in path.layers}
    slowest = sorted(paths, key=_share)[:_MAX_WHOLES]
    wholes = [
        path.whole._replace(name=f"{path.whole.name} {path.group}".rstrip())
        for path in paths
        if path in slowest
    ]
    return [*paths[0].parts, *layers.values(), *wholes]


def _share(path: Path) -> float:
    """Return the rate of a path as a share of its ceiling, 0 if not measured."""
    whole = path.whole
    return whole.now_rate / whole.ceiling_rate if whole.now_rate and whole.ceiling_rate else 0.0


def _at_once(site: Site) -> Iterator[str]:
    """Yield rates of all targets of each file system together: last run, demonstrated baseline."""
    groups = dict.fromkeys(
        expectation.group
        for expectation in site.expectations
        if LAYERS[expectation.layer].per_target
    )
    for course in site.courses:
        if LAYERS[course.layer].whole and course.component in groups:
            rates = [rate for rate in course.rates if isfinite(rate)]
            if rates:
                name = f"{course.layer} {course.component} {course.operation}"
                latest = Operation(course.operation).quantity.format(rates[-1])
                yield f"{name}: {latest} from all at once."
    for expectation in site.expectations:
        for step, reference in expectation.references.items() if expectation.parallel else ():
            if reference.baseline and reference.baseline.demonstrated:
                operation = Operation(step.partition("/")[0])
                name = f"{expectation.layer} {expectation.component} {operation.value}"
                yield f"{name}: {_demonstrated(operation, reference)}."


def _demonstrated(operation: Operation, reference: Reference) -> str:
    """Return a baseline and its share of the ceiling as text."""
    assert reference.baseline is not None
    form, ceiling = operation.quantity.format, reference.ceiling
    text = f"{form(reference.baseline.median)} demonstrated"
    if ceiling is None:
        return text
    share = percent(reference.baseline.median / ceiling.rate)
    return f"{text}, {share} of the ceiling {form(ceiling.rate)}"


def _whole(metrics: Metrics) -> list[Metric]:
    """Return the metrics of single targets in bytes/s, or of disks if no target is measured."""
    single = [key for key in metrics if key.scenario == "single" and key.quantity == BYTES_PER_S]
    targets = [metric for metric in single if LAYERS[metric.layer].per_target]
    return targets or [metric for metric in single if not LAYERS[metric.layer].paired]


def _paths(metric: Metric, members: Sequence[Member]) -> dict[str, list[Member]]:
    """Return the targets by file system; all disks as one group."""
    return by_group(members) if LAYERS[metric.layer].per_target else {"": list(members)}


def _finding(path: Path) -> str:
    whole = path.whole
    limits = [stage.name for stage in path.parts if stage.limits]
    text = f"{path.name}: "
    if whole.now_rate is None:
        return text + "not measured."
    text += format_rate(whole.now_rate)
    if whole.ceiling_rate:
        text += f", {percent(whole.now_rate / whole.ceiling_rate)} of the ceiling"
    return text + (f", limited by {' and '.join(limits)}." if limits else ".")


def _plot(name: str, stages: Sequence[Stage]) -> Plot:
    ends = [rate for stage in stages for rate in (stage.baseline_rate, stage.now_rate) if rate]
    ends += [stage.ceiling_rate for stage in stages if stage.limits and stage.ceiling_rate]
    ends += [stages[-1].ceiling_rate] if stages[-1].ceiling_rate else []
    rates = [rate for stage in stages for rate in stage[2:6:3] if rate]
    end = megabytes(min(_WIDEST * max(ends, default=1e6), max(rates + ends, default=1e6))) or 1.0
    labels = [shown(stage.name) + (" (limits)" if stage.limits else "") for stage in stages]
    series = (
        ("ceiling", CEILING, [stage.ceiling_rate for stage in stages]),
        ("baseline", BASELINE, [stage.baseline_rate for stage in stages]),
        ("now", NOW, [stage.now_rate for stage in stages]),
    )
    data = [_bars(title, colour, rates, stages) for title, colour, rates in series]
    layout = {
        "barmode": "group",
        "xaxis": {"title": {"text": "MB/s"}, "range": [0, 1.15 * end]},
        "yaxis": {
            "tickvals": list(range(len(stages))),
            "ticktext": labels,
            "autorange": "reversed",
            "automargin": True,
        },
        "shapes": [_limit(number) for number, stage in enumerate(stages) if stage.limits],
    }
    return Plot(name, data, layout, 110 + _ROW_PX * len(stages))


def _bars(
    title: str, colour: str, rates: Sequence[Optional[float]], stages: Sequence[Stage]
) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "name": title,
        "marker": {"color": colour},
        "x": [megabytes(rate) for rate in rates],
        "y": list(range(len(stages))),
        "text": [format_rate(rate) if rate else "" for rate in rates],
        "textposition": "outside",
        "textfont": {"size": 11},
        "cliponaxis": False,
        "customdata": [shown(stage.name) for stage in stages],
        "hovertemplate": f"%{{customdata}}: {title} %{{text}}<extra></extra>",
    }


def _limit(number: int) -> dict[str, Any]:
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


def _cells(name: str, stage: Stage) -> tuple[str, ...]:
    rates = (stage.ceiling_rate, stage.sum_Bps, stage.baseline_rate, stage.now_rate)
    words = tuple(format_rate(rate) if rate else "" for rate in rates)
    return (name, stage.name, str(stage.number), *words, "limits" if stage.limits else "")
