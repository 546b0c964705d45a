"""``plumbline ceiling``: the theoretical rate of every measurement, and the parts that set it."""

from __future__ import annotations

import argparse
import json
from itertools import chain
from typing import TYPE_CHECKING, Optional

from plumbline.cli.options import common, option
from plumbline.model.layers import LAYERS

if TYPE_CHECKING:
    from plumbline.plan.policy import Policy
    from plumbline.plan.references import Line
    from plumbline.topology.graph import Topology

_ZONES = ("fastest", "average", "slowest")


HELP = "show the ceilings of the hardware"
DESCRIPTION = """Print the highest rate that each measurement can have by the topology, the parts
that set it, and what comes next when these are made faster."""
EPILOG = "For example: plumbline ceiling -i inventories/mysite --layer ost"


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    option(parser, "--layer", "only this layer; net with its pairs", choices=LAYERS)
    option(
        parser,
        "--zone",
        "place on the disks, where the topology gives rates of several",
        choices=_ZONES,
        default=_ZONES[0],
    )
    common(parser, "--inventory", "--json")


def run(arguments: argparse.Namespace) -> int:
    """Print the ceilings and return 0."""
    from plumbline.plan.policy import load
    from plumbline.site.inventory import read_inventory, topology_of

    inventory = read_inventory(arguments.inventory)
    topology = topology_of(inventory, arguments.zone)
    lines = _lines(topology, load(inventory.policy), arguments.layer)
    if arguments.json:
        # a line each: quick to write for many, and still to be searched
        print(
            "[" + ",\n ".join(json.dumps(line.to_json(), allow_nan=False) for line in lines) + "]"
        )
        return 0
    from plumbline.doors.ceilings import tables
    from plumbline.doors.table import render

    shown = [render(table.headers, table.rows) for table in tables(topology, lines)]
    print("\n\n".join(shown) or f"nothing is measured in layer {arguments.layer}")
    return 0


def _lines(topology: Topology, policy: Policy, layer: Optional[str]) -> list[Line]:
    from plumbline.plan.assignments import assignments
    from plumbline.plan.references import at_once, measurements, pairs

    measured = assignments(topology, policy)
    every = chain(measurements(topology, measured), at_once(topology))
    lines = [line for line in every if layer in (None, line.layer)]
    return lines + (list(pairs(topology, measured)) if layer and LAYERS[layer].paired else [])
