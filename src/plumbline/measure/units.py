"""Units of a layer: what is measured in one go, by the module that the layer names.

Only the module of the measured layer is loaded.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Sequence

from plumbline.measure.unit_context import Unit
from plumbline.model.expectation import Expectation
from plumbline.model.layers import LAYERS


def units_of(layer: str, entries: Sequence[Expectation]) -> list[Unit]:
    """Return the units of a layer that measures components one at a time, in measuring order.

    Raises:
        DocumentError: the target of an expectation is unusable.
    """
    return list(_module(layer).units(entries))


def pair_of(entry: Expectation, partner: str) -> Unit:
    """Return the unit of a host or adapter and its partner; raise as ``units_of`` does."""
    unit: Unit = _module(entry.layer).pair_unit(entry, partner)
    return unit


def _module(layer: str) -> ModuleType:
    return import_module(f"plumbline.measure.{LAYERS[layer].measured_by}")
