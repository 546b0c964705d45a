"""What each node of a site measures and remembers, from its plan and the history of all nodes."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, NamedTuple, Sequence

from plumbline.errors import StoreError
from plumbline.judge.weighing import Weighing
from plumbline.model.expectation import Expectation, Expectations
from plumbline.store.history import History
from plumbline.store.plan import SitePlan
from plumbline.store.recent import Recent, groups_of


class Remembered(NamedTuple):
    """A node of a site: what it measures, what it remembers, and what is known of it together."""

    node: str
    chosen: Sequence[Expectation]
    memory: Recent
    known: Weighing


def memories(plan: SitePlan, history: Path) -> Iterator[Remembered]:
    """Yield the nodes of a plan; each remembers until the next is asked for.

    Raises:
        StoreError: there is no such history, or it cannot be read.
        DocumentError: the expectations of a node are damaged.
    """
    with opened(history) as kept:
        for node in plan.nodes.values():
            yield remembered(node, kept)


def remembered(node: Expectations, history: History) -> Remembered:
    """Return a node with what an open history holds of it."""
    chosen = node.every()
    memory = Recent(history, groups_of(chosen))
    return Remembered(node.node, chosen, memory, Weighing({node.node: chosen}, {node.node: memory}))


@contextmanager
def opened(history: Path) -> Iterator[History]:
    """Open the history of a site for reading; raise StoreError where there is none."""
    require(history)
    with History(history) as kept:
        yield kept


def require(history: Path) -> None:
    """Raise StoreError where there is no such history: to open it would make one."""
    if not history.exists():
        raise StoreError(
            f"there is no history {history}; name with --history the one that holds the records "
            "of all nodes"
        )
