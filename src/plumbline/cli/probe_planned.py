"""Measure what the plan lets this node measure, or the named components of it."""

from __future__ import annotations

import argparse
import time
from typing import Optional, Sequence

from plumbline.cli.measuring import history_of_run, run_options
from plumbline.cli.options import deployed, own_expectations, refuse_elsewhere
from plumbline.cli.output import say
from plumbline.cli.progress import print_commands, show_result, verdict_table
from plumbline.measure.slots import slot_of
from plumbline.measure.unit_context import Unit
from plumbline.measure.units import pair_of, units_of
from plumbline.model.expectation import Expectation, Expectations
from plumbline.model.layers import LAYERS
from plumbline.site.measure import measure


def probe(arguments: argparse.Namespace) -> int:
    """Measure the components; return the exit code."""
    expectations = deployed(arguments)
    chosen = _chosen(expectations, arguments)
    expectations = own_expectations(arguments, expectations, chosen)
    if LAYERS[arguments.layer].paired:
        units = _pairs(chosen, arguments.slot)
    else:
        units = units_of(arguments.layer, chosen)
    if arguments.dry_run:
        return print_commands(units)
    if not units:
        return 0
    with history_of_run(arguments) as history:
        options = run_options(arguments, keep_files=True)
        result = measure(expectations, units, history, options)
    return show_result(arguments, result, verdict_table)


def _chosen(expectations: Expectations, arguments: argparse.Namespace) -> list[Expectation]:
    """Return the expectations to measure, in measuring order; refuse an unknown name."""
    if not arguments.component:
        return list(expectations.find(arguments.layer))
    for name in arguments.component:
        refuse_elsewhere(expectations, arguments.layer, name)
    entries = [
        entry for name in arguments.component for entry in expectations.find(arguments.layer, name)
    ]
    return list({entry.component: entry for entry in entries}.values())


def _pairs(entries: Sequence[Expectation], number: Optional[int]) -> list[Unit]:
    """Return the pairs of this slot; print the reason for each host without a partner."""
    units: list[Unit] = []
    for entry in entries:
        slot = slot_of(entry, time.time(), number)
        if slot.turn is None or slot.idle(entry.component):
            say(slot.idle(entry.component))
        else:
            units.append(pair_of(entry, slot.turn.partner))
    return units
