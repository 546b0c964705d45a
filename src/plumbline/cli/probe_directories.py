"""Compare directories given as NAME=PATH, which need no inventory."""

from __future__ import annotations

import argparse
from functools import partial

from plumbline.cli.options import named_directories
from plumbline.cli.output import say
from plumbline.cli.progress import print_commands, progress, show_result
from plumbline.doors.ranks import comparison
from plumbline.measure.units import units_of
from plumbline.model.layers import LAYERS
from plumbline.model.small_reads import SMALL_READS, TAILS
from plumbline.observe.command import locate
from plumbline.site import comparison as comparing


def probe(arguments: argparse.Namespace) -> int:
    """Measure directories given as NAME=PATH, print how they compare, and return the exit code."""
    layer = LAYERS[arguments.layer]
    # one metadata target has no peers on most sites either
    directories = named_directories(arguments.directory, least=1 if layer.of_metadata else 2)
    size = 0 if layer.of_metadata else arguments.bytes or comparing.FILE_BYTES
    operations = layer.operations
    if arguments.random_reads:
        operations = (*operations, *SMALL_READS, *TAILS)
    expectations = comparing.expected(directories, size, layer, operations)
    units = units_of(layer.name, expectations.find(layer.name))
    if arguments.dry_run:
        return print_commands(units)
    # report a missing tool once, not for each directory
    locate(units[0].commands()[0][0])
    caveat = comparing.caveat(directories, size, comparing.memory_bytes(), size)
    if caveat and not arguments.json:
        say(caveat)
    locks, steps = comparing.own_locks(directories), partial(progress, arguments.quiet)
    result = comparing.measure_once(expectations, units, locks, steps)
    return show_result(arguments, result, partial(comparison, operations=operations))
