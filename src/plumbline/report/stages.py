"""The stages of a path: what each part can carry and each layer gives, one flow at a time.

A path is that of one operation to the targets of one file system, from the client to the disk.
"""

from __future__ import annotations

from typing import Iterator, NamedTuple, Optional, Sequence

from plumbline.layers import SINGLE_TARGETS
from plumbline.layers.net import NET
from plumbline.layers.raw import RAW
from plumbline.report.site import Member, Metric, Metrics, Site, middle

_AWAY = ("write", "send")


class Stage(NamedTuple):
    """One line of the path: all parts of a kind, or a layer; rates are of one flow, in B/s."""

    name: str
    number: int
    ceiling_Bps: Optional[float]
    sum_Bps: Optional[float]
    baseline_Bps: Optional[float]
    now_Bps: Optional[float]
    limits: bool


class Path(NamedTuple):
    """The way of one operation to the targets of one file system; ``whole`` is the last stage."""

    of: Metric
    group: str
    parts: Sequence[Stage]
    layers: Sequence[Stage]
    whole: Stage

    @property
    def name(self) -> str:
        """Return e.g. ``ost write scratch``."""
        return f"{self.of} {self.group}".rstrip()

    @property
    def stages(self) -> list[Stage]:
        """Return what the bytes cross, client end first, the whole last."""
        return [*self.parts, *self.layers, self.whole]

    def shape(self) -> tuple[object, ...]:
        """Return what is the same for paths that are drawn as one."""
        rates = [(one.name, _digits(one.ceiling_Bps), one.limits) for one in self.parts]
        return (self.of.layer, _digits(self.whole.ceiling_Bps), *rates)


def find_path(site: Site, metrics: Metrics, metric: Metric, members: Sequence[Member]) -> Path:
    """Return the path that the bytes of some members cross, without the name of a group."""
    layers = list(_layers(metrics, metric)) if metric.layer in SINGLE_TARGETS else []
    whole = _measured(f"whole path: {metric.layer} {metric.operation}", members)
    return Path(metric, "", list(_parts(site, metric, members)), layers, whole)


def _parts(site: Site, metric: Metric, members: Sequence[Member]) -> Iterator[Stage]:
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
        away = metric.operation in _AWAY
        rates = [
            site.parts[name].write_Bps if away else site.parts[name].read_Bps for name in names
        ]
        rated = [rate for rate in rates if rate is not None]
        if rated:
            total = sum(rated) if len(rated) == len(names) else None
            limits = not limiting.isdisjoint(names)
            yield Stage(kind, len(names), middle(rated), total, None, None, limits)


def _layers(metrics: Metrics, topmost: Metric) -> Iterator[Stage]:
    """Yield what the layers below show: the network for this direction, the disks for reads."""
    wanted = {
        NET.name: "send" if topmost.operation in _AWAY else "receive",
        RAW.name: topmost.operation,
    }
    for layer, operation in wanted.items():
        members = [
            one
            for metric, found in metrics.items()
            if (metric.layer, metric.operation, metric.scenario) == (layer, operation, "single")
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


def _digits(rate_Bps: Optional[float]) -> str:
    """Return a rate as far as it can be told apart in a picture."""
    return "" if rate_Bps is None else f"{rate_Bps:.3g}"
