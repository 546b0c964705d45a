"""What measures targets and devices one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Sequence

if TYPE_CHECKING:
    from plumbline.model.expectation import Expectation
    from plumbline.run.bench import Unit


def units_of(layer: str, entries: Sequence[Expectation]) -> list[Unit]:
    """Return the units of layer ``ost`` or ``raw``, in measuring order.

    Raises:
        DocumentError: an expectation does not say how its target is reached.
    """
    if layer == "ost":
        from plumbline.run.ost import TargetUnit

        return [TargetUnit(entry) for entry in entries]
    from plumbline.run.raw import units

    return list(units(entries))
