"""Nodes that a limit leaves out while a fault is looked for: nothing is begun on them.

They are not silent: nobody has asked them, so what fails beyond them is judged as anywhere.
"""

from __future__ import annotations

from typing import Collection, Iterator, Mapping, Sequence

from plumbline.errors import UsageError
from plumbline.locate.measurables import Nodes
from plumbline.locate.sentences import listed
from plumbline.model.expectation import Expectation


def within(
    nodes: Nodes, outside: Collection[str], targets: Sequence[str]
) -> Mapping[str, tuple[Expectation, ...]]:
    """Return what the nodes within the limit measure; the others measure nothing.

    Raises:
        UsageError: a limit leaves nothing to measure, or nothing that crosses one of ``targets``.
    """
    own = {name: () if name in outside else tuple(found) for name, found in nodes.items()}
    if not any(own.values()):
        raise UsageError("the limit leaves out every node that measures; widen --limit")
    reached = set(_parts(own))
    for target in targets:
        measuring = [name for name, found in nodes.items() if target in _parts({name: found})]
        if measuring and target not in reached:
            raise UsageError(
                f"{target} is measured by {listed(measuring, ', ')}, which --limit leaves out; "
                "take it into the limit"
            )
    return own


def _parts(nodes: Nodes) -> Iterator[str]:
    """Yield what is measured, and the parts on the way to it."""
    for found in nodes.values():
        for one in found:
            yield one.component
            yield from one.path
