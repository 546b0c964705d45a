"""Choice of the units that measure the components of a layer one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Sequence

from plumbline.model.layers import LAYERS

if TYPE_CHECKING:
    from plumbline.measure.unit_context import Unit
    from plumbline.model.expectation import Expectation


def units_of(layer: str, entries: Sequence[Expectation]) -> list[Unit]:
    """Return the units of a layer whose components are measured one by one, in measuring order.

    Raises:
        DocumentError: the target of an expectation is unusable.
    """
    if LAYERS[layer].on_devices:
        from plumbline.measure.raw import units

        return list(units(entries))
    from plumbline.measure.ost import TargetUnit

    return [TargetUnit(entry) for entry in entries]
