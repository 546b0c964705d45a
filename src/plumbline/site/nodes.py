"""What each node of a site measures and remembers, from its plan and the history of all nodes."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.errors import StoreError
from plumbline.judge.weighing import Weighing
from plumbline.model.expectation import Expectation, Expectations
from plumbline.store.database import Component
from plumbline.store.history import History
from plumbline.store.plan import SitePlan
from plumbline.store.recent import Recent, groups_of


class Remembered(NamedTuple):
    """A node of a site: what it measures, what it remembers, and what is known of it together."""

    node: str
    chosen: Sequence[Expectation]
    memory: Recent
    known: Weighing


class Memories:
    """What nodes measure and remember, read once for all who ask about a site at a moment."""

    def __init__(self, history: Path) -> None:
        """Read nothing yet."""
        self.history = history
        self._read: dict[str, tuple[tuple[Expectation, ...], Recent]] = {}
        self._opened: Optional[History] = None
        self._revisions: Mapping[Component, int] = {}

    def read(self, nodes: Iterable[Expectations]) -> None:
        """Read some nodes in advance; raise as :func:`memories` does."""
        with opened(self.history) as kept:
            for node in nodes:
                chosen, memory = self.of(node, kept)
                self._read[node.node] = chosen, memory.settled()

    def release(self, name: str) -> None:
        """Forget a node; who asks for it once more reads it again."""
        self._read.pop(name, None)

    def measured(self, node: Expectations) -> tuple[Expectation, ...]:
        """Return what a node measures; raise DocumentError where that is damaged."""
        found = self._read.get(node.node)
        return found[0] if found else node.every()

    def of(self, node: Expectations, history: History) -> tuple[tuple[Expectation, ...], Recent]:
        """Return what a node measures and remembers, read again where that has changed since."""
        chosen, found = self.measured(node), self._read.get(node.node)
        memory = found[1].again(history, self._revisions_in(history)) if found else None
        return chosen, memory or Recent(history, groups_of(chosen))

    def _revisions_in(self, history: History) -> Mapping[Component, int]:
        """Return how often records have changed, asked for once in each opening of the history."""
        if self._opened is not history:
            self._opened, self._revisions = history, history.revisions()
        return self._revisions


def memories(plan: SitePlan, history: Path) -> Iterator[Remembered]:
    """Yield the nodes of a plan; each remembers until the next is asked for.

    Raises:
        StoreError: there is no such history, or it cannot be read.
        DocumentError: the expectations of a node are damaged.
    """
    with opened(history) as kept:
        for node in plan.nodes.values():
            yield remembered(node, kept)


def remembered(node: Expectations, history: History, read: Optional[Memories] = None) -> Remembered:
    """Return a node with what an open history holds of it; some nodes may be ``read`` already."""
    chosen, memory = (read or Memories(history.path)).of(node, history)
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
