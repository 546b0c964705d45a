"""All that the report draws of a site: what was measured, judged and located."""

from __future__ import annotations

from pathlib import Path
from typing import Iterable, Optional

from plumbline.layers import GROUPED, WHOLE
from plumbline.model.state import worst
from plumbline.model.verdict import Verdict
from plumbline.report.site import Site
from plumbline.report.suspects import Found
from plumbline.site.changed import condition_changes
from plumbline.site.judge import Other, Task, judge_site
from plumbline.site.locate import locate_site
from plumbline.site.looks import looks_of
from plumbline.site.used_meanwhile import used_meanwhile
from plumbline.store.notes import read_notes
from plumbline.store.plan import SitePlan, load_plan
from plumbline.store.trends import Pictures
from plumbline.units import DAY_S


def read_site(plan: SitePlan, path: Path, now: float, days: int) -> Site:
    """Return everything that is drawn, read and judged at ``now``, in seconds since the epoch.

    Raises:
        StoreError: there is no such history, or it cannot be read.
        DocumentError: the plan or a record is damaged.
    """
    looks = looks_of(plan, path, now)
    judged = [one.verdict for one in judge_site(plan, path, now, members=True)]
    measured = plan.measured()
    since = now - days * DAY_S
    with Pictures(path, since) as pictures:
        return Site(
            name=plan.site,
            now=now,
            expectations=[each for found in measured.values() for each in found],
            parts=plan.parts,
            verdicts={(one.layer, one.component): one for one in judged if not one.group},
            groups=_groups(one for one in judged if one.group),
            courses=pictures.courses(),
            pairs=pictures.pairs(),
            run=pictures.latest_run((*WHOLE, *GROUPED)),
            notes=[one for one in read_notes(path) if one.at >= since],
            changes=pictures.version_changes(),
            conditions=condition_changes(plan, path, since),
            looks=looks.found,
            unseen=looks.unseen,
            nodes={
                (each.layer, each.component): name
                for name, found in measured.items()
                for each in found
            },
        )


def find_suspects(plan: str, history: Path, now: float) -> Optional[Found]:
    """Return the suspects of a site; None for a plan that does not say what the parts are.

    They are found in a process of its own, to be called before the plan in this file is read here:
    of a large site that takes some 800 MB, which would not be given back before the page is drawn.

    Raises:
        DocumentError: the plan or a record is damaged.
        StoreError: there is no such history, or it cannot be read.
    """
    task = Task((), history, now, evidence=False)
    other = Other(task, lambda asked: [_suspects(load_plan(plan), asked.history, asked.now)])
    try:
        (found,) = other.result()
    finally:
        other.end()
    return found


def _suspects(plan: SitePlan, history: Path, now: float) -> Optional[Found]:
    if not plan.parts:
        return None
    found = locate_site(plan, history, now)
    jobs = used_meanwhile(plan, history, found.located)
    return Found(found.located, found.probes, [one.sentence for one in found.shared], jobs)


def _groups(judged: Iterable[Verdict]) -> dict[tuple[str, str], Verdict]:
    """Return the verdict on each group, the worst where several nodes measure it."""
    found: dict[tuple[str, str], Verdict] = {}
    for one in judged:
        other = found.setdefault((one.layer, one.component), one)
        if worst((one.state, other.state)) is not other.state:
            found[one.layer, one.component] = one
    return found
