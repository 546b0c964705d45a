"""Files of a node with its last look at space: for metrics, and for check_space."""

from __future__ import annotations

from math import inf
from pathlib import Path

from plumbline.model.ages import OpenMoment
from plumbline.model.codec import compact
from plumbline.model.published import Part, Published, Stage, parts
from plumbline.model.space import SPACE, SpaceReport
from plumbline.model.verdict_files import SPACE_FILE
from plumbline.parts.space.verdict import ahead, judge_space, stale
from plumbline.store.facts import SPACE_REPORT
from plumbline.store.files import READERS, seal
from plumbline.store.replacing import replace_own


def publish(report: SpaceReport, state: Path) -> None:
    """Replace the files of a report with at least one file system; raise StoreError."""
    replace_own(state / SPACE_REPORT, compact(report), group=READERS)
    text = seal(compact(published(report)))
    replace_own(state / SPACE_FILE, text, mode=0o640, group=READERS)


def published(report: SpaceReport) -> Published:
    """Return the verdicts on the file systems of a report, all of the same time."""
    looked_at = max(system.at for system in report.systems)
    at = OpenMoment(looked_at)
    return Published(
        SPACE,
        report.node,
        False,
        "",
        looked_at,
        {
            system.name: Part(
                (Stage.of(0.0, judge_space(system, at, inf)),), title=f"{system.name}: "
            )
            for system in report.systems
        },
        parts(ahead(looked_at, at)),
        stale=parts(stale(looked_at, at, "{limit}")),
        stale_after_s=max(system.terms.stale_after_s for system in report.systems),
    )
