"""What measures targets and devices one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, Mapping, Sequence

from plumbline.layers.ost import OST
from plumbline.layers.raw import RAW

if TYPE_CHECKING:
    from plumbline.model.expectation import Expectation
    from plumbline.run.unit_context import Unit


def _targets(entries: Sequence[Expectation]) -> list[Unit]:
    from plumbline.run.ost import TargetUnit

    return [TargetUnit(entry) for entry in entries]


def _devices(entries: Sequence[Expectation]) -> list[Unit]:
    from plumbline.run.raw import units

    return list(units(entries))


UNITS: Mapping[str, Callable[[Sequence[Expectation]], list[Unit]]] = {
    OST.name: _targets,
    RAW.name: _devices,
}
"""What measures each layer with groups."""


def units_of(layer: str, entries: Sequence[Expectation]) -> list[Unit]:
    """Return the units of a layer whose components are measured one by one, in measuring order.

    Raises:
        DocumentError: an expectation does not say how its target is reached.
    """
    return UNITS[layer](entries)
