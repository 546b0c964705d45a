"""Contract of the part locate with the core and other parts; see ``docs/parts.md``."""

from __future__ import annotations

from pathlib import Path
from typing import Mapping, Sequence

from plumbline.judge.judging import Judging
from plumbline.judge.weighing import Weighing
from plumbline.model.codec import read
from plumbline.model.service import PathService, Service, SitePart
from plumbline.model.suspects import Named, Suspects
from plumbline.parts.locate.document import explanations
from plumbline.parts.locate.evidence import Evidence, suspects
from plumbline.parts.locate.observation import Nodes, Site
from plumbline.parts.locate.observe import observe
from plumbline.parts.locate.paths import Site as PathSite
from plumbline.parts.locate.publish import DailySuspects, noted
from plumbline.parts.locate.site import jobs_on_slow_targets, locate_in
from plumbline.parts.locate.suspects import locate
from plumbline.site.kept import KeptJudgement
from plumbline.site.nodes import judgement
from plumbline.store.plan import load_plan

__all__ = ["daily_suspects", "named", "noted", "site_suspects", "suspects"]


def daily_suspects(
    paths: Sequence[PathService], services: Sequence[Service], parts: Mapping[str, SitePart]
) -> DailySuspects:
    """Return who finds the path services of a site in alarm, day after day."""
    return DailySuspects(PathSite(paths, services, parts))


def site_suspects(plan: str, history: Path, now: float) -> Suspects:
    """Return the suspects of a site at ``now``, in seconds since the epoch.

    Raises:
        DocumentError: the plan or a record is damaged.
        StoreError: there is no such history, or it cannot be read.
    """
    kept = KeptJudgement(plan, history, now).evidence()
    site_plan = load_plan(plan)
    if not site_plan.parts:
        unknown = (
            "the plan is of an older version and does not say what the parts are; write it again "
            "with plumbline plan -i INVENTORY --json"
        )
        return Suspects(unknown=unknown)
    if kept is None:
        with judgement(site_plan, history, now) as site:
            evidence = Evidence.of(site_plan, locate_in(site))
    else:
        evidence = read(Evidence, kept)
    jobs = jobs_on_slow_targets(site_plan, history, evidence.slow_runs)
    return evidence.suspects(jobs, now)


def named(nodes: Nodes, judging: Judging, weighing: Weighing) -> Named:
    """Return what is named by the runs of some nodes, all judged at one time."""
    votes = observe(Site(nodes).measurables(), dict.fromkeys(nodes, judging), weighing)
    located = locate(list(votes))
    return Named(
        tuple(ambiguity.alternatives for ambiguity in located.sets),
        frozenset(explanations(located)),
        tuple(located.observations[index].of.name for index in located.unexplained),
    )
