"""Publish the verdicts of a node again, and those on its looks for symptoms."""

from __future__ import annotations

import time
from contextlib import suppress
from math import inf
from pathlib import Path

from plumbline.judge.symptoms import JudgedLook, ahead, judge_kind, judge_looks, stale
from plumbline.judge.weighing import Weighing
from plumbline.model.ages import OpenMoment
from plumbline.model.codec import compact
from plumbline.model.errors import DocumentError
from plumbline.model.published import Part, Published, Stage, parts
from plumbline.model.series import Snapshot
from plumbline.model.service import SYMPTOMS
from plumbline.model.symptom import KINDS, VALID_S, Report, title
from plumbline.model.verdict_files import SYMPTOMS_FILE
from plumbline.site.checks import published_by
from plumbline.store import facts
from plumbline.store.files import DATABASE, READERS, SNAPSHOT_FILE, seal
from plumbline.store.history import History
from plumbline.store.publish import Publisher
from plumbline.store.recent import groups_of
from plumbline.store.replacing import replace_own
from plumbline.store.snapshot import load_expectations


def publish(expectations: str, state: Path) -> int:
    """Judge this node's records by its present expectations; return how many verdicts changed.

    Without a history the verdicts are on a node that has not measured.  Raises as ``Verdicts``
    does, and StoreError if the history cannot be read.
    """
    verdicts = published_by(expectations, state)
    with suppress(DocumentError):
        # a look from before an upgrade
        publish_symptoms(facts.load_report(str(state / facts.SYMPTOMS_FILE)), state)
    node, now = load_expectations(expectations), time.time()
    if not (state / DATABASE).exists():
        return verdicts(Snapshot(node.node, now, (), {}, {}))
    changes: list[int] = []
    expected = node.every()
    with History(state / DATABASE) as history:
        publisher = Publisher(
            history,
            state / SNAPSHOT_FILE,
            node.node,
            groups_of(expected),
            lambda snapshot: changes.append(verdicts(snapshot)),
        )
        publisher(now, lambda memory: Weighing({node.node: expected}, {node.node: memory}).all())
    return sum(changes)


def publish_symptoms(report: Report, state: Path) -> None:
    """Write the verdicts on the last look for symptoms; raise StoreError if that fails."""
    text = seal(compact(symptoms_document(report)))
    replace_own(state / SYMPTOMS_FILE, text, mode=0o640, group=READERS)


def symptoms_document(report: Report) -> Published:
    """Return the verdicts on a look for symptoms: on the look, and on each kind of parts."""
    at = OpenMoment(report.looked_at)
    judged = JudgedLook(report, at, inf)
    kinds = {"": judge_looks(judged), **{kind: judge_kind(judged, kind) for kind in KINDS}}
    return Published(
        SYMPTOMS,
        report.node,
        False,
        "",
        report.looked_at,
        {
            kind: Part((Stage.of(0.0, verdict),), title=f"{title(report.node, kind)}: ")
            for kind, verdict in kinds.items()
        },
        parts(ahead(report, at)),
        stale=parts(stale(report, at, "{limit}")),
        stale_after_s=VALID_S,
    )
