"""Look for the suspects of a simulated site day after day, as ``plumbline publish`` does."""

from __future__ import annotations

from typing import Mapping, Sequence

from plumbline.judge.past import Past
from plumbline.judge.weighing import Weighing
from plumbline.locate.measurables import Site as Measured
from plumbline.locate.observe import observe
from plumbline.locate.suspects import locate
from plumbline.model.alarming import Alarming
from plumbline.model.reason import Reason
from plumbline.model.standing import NOTHING
from plumbline.model.state import State
from plumbline.model.verdict import Verdict
from plumbline.site.locate import SiteLocated
from plumbline.site.paths import LAYER, Site, explained, path_verdicts
from plumbline.site.shared import less_shared, shared_losses
from plumbline.site.standing import Scene, settle
from plumbline.symptoms.reported import Said

_NOTIFIED_AFTER_S = 1800.0
"""Shorter than a day, in which alarms of the day before have been notified."""


class SuspectingDaily:
    """Finds which path services of one fleet are in alarm; symptoms play no part."""

    def __init__(self, site: Site) -> None:
        """Know nothing of the days before."""
        self._site = site
        self._standing = NOTHING
        self._past = Past()

    def __call__(self, day: Alarming) -> frozenset[str]:
        """Return the names of those in alarm.

        Suspects are looked for when an alarm is new, and as long as one of them is in alarm.
        """
        verdicts: Mapping[str, Verdict] = {
            path.name: Verdict(LAYER, path.name, State.OK, Reason.FINE, "")
            for path in self._site.paths
        }
        by: Mapping[tuple[str, str], Sequence[str]] = {}
        if day.new or self._standing.suspicions:
            found = self._located(day)
            said, before = [""] * len(found.located.sets), self._standing.suspicions
            verdicts = path_verdicts(self._site, found, said, before)
            by = explained(self._site, found.located, before)
        paths, services = self._site.paths, self._site.services
        scene = Scene(paths, services, day.alarms, by, day.now, _NOTIFIED_AFTER_S)
        settled, self._standing = settle(scene, verdicts, self._standing)
        return frozenset(name for name, one in settled.items() if one.state.alarm)

    def _located(self, day: Alarming) -> SiteLocated:
        known = Weighing(day.nodes, dict.fromkeys(day.nodes, day.memory), self._past)
        site = Measured(day.nodes)
        observed = [
            one for node in day.nodes for one in observe(site.of(node), day.memory, day.now, known)
        ]
        located, shared = less_shared(locate(observed), tuple(shared_losses(day.nodes, known)))
        return SiteLocated(located, (), Said(), {}, shared)
