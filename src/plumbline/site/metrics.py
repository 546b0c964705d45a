"""The figures of a node, or of each node of a site, for whoever keeps metrics."""

from __future__ import annotations

from pathlib import Path
from typing import Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.errors import DocumentError
from plumbline.judge.component import rulings_on
from plumbline.judge.finding import Ruling
from plumbline.judge.node import JudgedNode, judge_node
from plumbline.judge.pair import rulings_on_host
from plumbline.layers import PAIRED, WHOLE
from plumbline.model.expectation import Expectation, Expectations
from plumbline.model.memory import Memory
from plumbline.model.series import Snapshot
from plumbline.model.verdict import Verdict
from plumbline.site.judging import Judging
from plumbline.site.nodes import memories, require
from plumbline.store.plan import SitePlan
from plumbline.store.symptoms import collected_reports
from plumbline.symptoms.symptom import Report


class Step(NamedTuple):
    """One operation of a component; ``retransmitted`` is a share of all segments, if known."""

    expectation: Expectation
    ruling: Ruling
    retransmitted: Optional[float] = None


class NodeVerdicts(NamedTuple):
    """What was judged of one node: its components, its groups, each operation, and its probes.

    ``probes`` is None where nothing is expected to be measured, ``symptoms`` where no report of
    them could be read.  ``devices`` are the components that are devices of the node, each with the
    kernel's name of it; of a whole site they are not known.
    """

    node: str
    components: tuple[tuple[Expectation, Verdict], ...]
    groups: tuple[Verdict, ...]
    steps: tuple[Step, ...]
    probes: Optional[Verdict]
    symptoms: Optional[Report] = None
    devices: Mapping[str, str] = {}


def tell_node(
    expectations: Expectations, snapshot: Snapshot, since: float, now: float
) -> NodeVerdicts:
    """Return what a node tells at ``now`` of what is expected ``since``, in epoch seconds.

    Raises:
        DocumentError: the expectations are damaged.
    """
    judging = Judging(snapshot, snapshot, now, evidence=False)
    every = expectations.every()
    return _judged_node(JudgedNode(expectations, since, now, every), every, snapshot, judging)


def tell_site(plan: SitePlan, history: Path, since: float, now: float) -> Iterator[NodeVerdicts]:
    """Yield what each node of a site tells, by the history of all.

    Raises:
        StoreError: there is no such history, or it cannot be read.
        DocumentError: the expectations of a node are damaged.
    """
    require(history)
    reports = collected_reports(history, plan.nodes, now)
    for one in memories(plan, history):
        judging = Judging(one.memory, one.known, now, evidence=False)
        asked = JudgedNode(plan.nodes[one.node], since, now, one.chosen)
        found = _judged_node(asked, one.chosen, one.memory, judging)
        yield found._replace(symptoms=reports[one.node].report)


def _judged_node(
    asked: JudgedNode, chosen: Sequence[Expectation], memory: Memory, judging: Judging
) -> NodeVerdicts:
    # of what is driven at once the whole has a verdict, among the groups
    alone = [each for each in chosen if each.layer not in WHOLE]
    return NodeVerdicts(
        asked.expectations.node,
        tuple(zip(alone, judging.components(alone))),
        tuple(judging.groups(chosen)),
        tuple(_steps_of(chosen, memory, asked.now)),
        judge_node(asked, memory) if asked.expectations.entries else None,
    )


def _steps_of(chosen: Sequence[Expectation], memory: Memory, now: float) -> Iterator[Step]:
    return (step for each in chosen for step in _steps(each, memory, now))


def _steps(entry: Expectation, memory: Memory, now: float) -> list[Step]:
    """Return the operations of a component; of a damaged document none, as its verdict says."""
    try:
        series = memory.of(entry.layer, entry.component)
        if entry.layer in PAIRED:
            return [Step(entry, *found) for found in rulings_on_host(entry, series, now)]
        return [Step(entry, ruling) for ruling in rulings_on(entry, series, now)]
    except DocumentError:
        return []
