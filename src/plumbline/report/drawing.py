"""All figures of a report, in the order of the page."""

from __future__ import annotations

from typing import Iterator, NamedTuple, Optional

from plumbline.parallel.profile import Profile
from plumbline.report.calls import calls_figure
from plumbline.report.change import change_figure
from plumbline.report.composite import composite_figure
from plumbline.report.figure import Figure
from plumbline.report.heat_map import heat_map_figure
from plumbline.report.moment import Past, Probed, moment_figure, past_runs_figure
from plumbline.report.network import network_figure
from plumbline.report.path import path_figure
from plumbline.report.site import Metrics, Site, find_metrics
from plumbline.report.suspects import Found, suspects_figure
from plumbline.report.symptoms import symptoms_figure
from plumbline.report.targets import targets_figure


class Extras(NamedTuple):
    """What not every site has: a moment to see changes since, a call profile, what was located.

    ``against`` is in seconds since the epoch.  ``past`` and ``probed`` are of a moment that
    somebody asked about.
    """

    against: Optional[float] = None
    profile: Optional[Profile] = None
    found: Optional[Found] = None
    past: Optional[Past] = None
    probed: Probed = Probed(())


def draw(site: Site, extras: Extras) -> list[Figure]:
    """Return every figure; one that cannot be drawn says why."""
    return figures(site, find_metrics(site, extras.against), extras)


def figures(site: Site, metrics: Metrics, extras: Extras) -> list[Figure]:
    """Return the same for whoever has the metrics already."""
    return [
        *_around(extras.past, extras.probed),
        path_figure(site, metrics),
        targets_figure(site, metrics),
        heat_map_figure(metrics),
        change_figure(site, metrics, extras.against),
        network_figure(site),
        composite_figure(site),
        calls_figure(extras.profile, site.run),
        suspects_figure(extras.found, site.parts),
        symptoms_figure(site, extras.found),
    ]


def _around(past: Optional[Past], probed: Probed) -> Iterator[Figure]:
    """Yield the figures of a moment, where somebody asked about one."""
    if past:
        yield moment_figure(past)
        yield past_runs_figure(past, probed)
