"""Judge what all nodes of a site have measured, from its plan and the history of all nodes.

Nodes do not depend on one another, so a large site is dealt out to processes: the history is read
once, by whoever judges the node.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, NamedTuple, Sequence

from plumbline.cli.verdicts import Judging
from plumbline.errors import StoreError
from plumbline.model.expectation import Expectation, Expectations
from plumbline.output.batch import Judged
from plumbline.store.days import Member
from plumbline.store.history import History
from plumbline.store.plan import SitePlan
from plumbline.store.recent import Recent

_WORTH_A_PROCESS = 500
"""Components; to start a process takes as long as to judge some of these."""

_PROCESSES = 4
"""At most: each takes some 100 MB."""


class _Task(NamedTuple):
    """What one process is to judge; ``evidence`` says whether the verdicts keep theirs."""

    nodes: tuple[Expectations, ...]
    history: Path
    now: float
    evidence: bool


def judge_site(
    plan: SitePlan, history: Path, now: float, *, evidence: bool = False
) -> list[Judged]:
    """Return the verdicts on all components and groups of a plan, node by node in its order.

    Raises:
        StoreError: there is no such history, or it cannot be read.
        DocumentError: the expectations of a node are damaged.
    """
    if not history.exists():
        raise StoreError(
            f"there is no history {history}; name with --history the one that holds the records "
            "of all nodes"
        )
    shares = _shares(tuple(plan.nodes.values()))
    tasks = [_Task(share, history, now, evidence) for share in shares]
    with without_collector():
        if len(tasks) == 1:
            return _judge(tasks[0])
        with multiprocessing.get_context("fork").Pool(len(tasks)) as pool:
            found = [one for part in pool.map(_judge, tasks, chunksize=1) for one in part]
    places = {name: place for place, name in enumerate(plan.nodes)}
    return sorted(found, key=lambda one: places[one.node])


def _shares(nodes: Sequence[Expectations]) -> list[tuple[Expectations, ...]]:
    """Deal the nodes out, the largest first, each to whoever has least."""
    components = sum(len(node.entries) for node in nodes)
    processors = len(os.sched_getaffinity(0))
    count = max(1, min(_PROCESSES, processors, len(nodes), components // _WORTH_A_PROCESS))
    shares: list[list[Expectations]] = [[] for _ in range(count)]
    sizes = [0] * count
    for node in sorted(nodes, key=lambda node: -len(node.entries)):
        least = sizes.index(min(sizes))
        shares[least].append(node)
        sizes[least] += len(node.entries)
    return [tuple(share) for share in shares]


def _judge(task: _Task) -> list[Judged]:
    with History(task.history) as history:
        return [one for node in task.nodes for one in _judge_node(node, history, task)]


def _judge_node(node: Expectations, history: History, task: _Task) -> Iterator[Judged]:
    chosen = _all_of(node)
    groups = {
        (each.layer, each.component): Member(each.group, each.limits.min_coverage)
        for each in chosen
    }
    judging = Judging(Recent(history, groups, task.now), task.now, evidence=task.evidence)
    for verdict in (*judging.components(chosen), *judging.groups(chosen)):
        kept = verdict if task.evidence else verdict._replace(evidence=())
        yield Judged(node.node, task.now, kept)


def _all_of(node: Expectations) -> list[Expectation]:
    layers = dict.fromkeys(entry["layer"] for entry in node.entries)
    return [each for layer in layers for each in node.find(layer)]


@contextmanager
def without_collector() -> Iterator[None]:
    """Do without the collector of cycles, of which there are none here.

    It would look through a million values again and again, which takes as long as to judge them.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
