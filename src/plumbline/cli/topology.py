"""``plumbline topology check``: whether the parts of a site fit together, and what they come to."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from typing import TYPE_CHECKING, Any, Collection

if TYPE_CHECKING:
    from plumbline.topology.graph import Component, Topology


def add(subparsers: Any) -> None:
    """Declare the arguments."""
    parser = subparsers.add_parser("topology", help="check the description of a site")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    check = actions.add_parser("check", help="read all documents, follow every path, count")
    check.description = (
        "Read topology, policy and baselines of an inventory, follow the path of everything that "
        "is measured, and count.  Nothing is measured."
    )
    check.epilog = "For example: plumbline topology check -i inventories/mysite"
    check.add_argument("-i", "--inventory", required=True, help="folder of the inventory")
    check.add_argument("--json", action="store_true", help="print the components for programs")
    check.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print what the site is made of and return 0; trouble is an error in one sentence."""
    from plumbline.cli.inventory import deployed_hosts, plan_of, read_inventory, topology_of

    inventory = read_inventory(arguments.inventory)
    topology = topology_of(inventory)
    plan = plan_of(inventory)  # follows every path, so that a check finds what a plan would
    notes = _notes(topology, deployed_hosts(inventory))
    if arguments.json:
        print(json.dumps({**_document(topology), "notes": notes}, indent=1, allow_nan=False))
        return 0
    _print(topology)
    for note in notes:
        print(f"note: {note}")
    count = sum(len(entries) for entries in plan.expectations.values())
    print(f"{topology.site} is sound: {count} measurements, {len(plan.services)} services")
    return 0


def _notes(topology: Topology, deployed: Collection[str]) -> list[str]:
    """Return what is no error but surprises later."""
    missing = [host.name for host in topology.hosts() if deployed and host.name not in deployed]
    return [f"{name} is not in hosts.yml, so Ansible will not install it" for name in missing]


def _document(topology: Topology) -> dict[str, Any]:
    return {
        "schema": 1,
        "site": topology.site,
        "components": [part._asdict() for part in topology.components.values()],
        "targets": [target._asdict() for target in topology.targets.values()],
    }


def _print(topology: Topology) -> None:
    from plumbline.output.table import render

    counts = Counter((part.kind, _rates(part)) for part in topology.components.values())
    rows = [(str(count), kind, rates) for (kind, rates), count in counts.items()]
    for name in dict.fromkeys(target.file_system for target in topology.targets.values()):
        targets = [one for one in topology.targets.values() if one.file_system == name]
        retired = sum(target.retired for target in targets)
        note = f"{name}, {retired} retired" if retired else name
        rows.append((str(len(targets)), "target", note))
    print(render(("number", "kind", "read / write"), rows))


def _rates(part: Component) -> str:
    from plumbline.units import format_rate

    rates = dict.fromkeys((part.read_Bps, part.write_Bps))
    return " / ".join("never limits" if rate is None else format_rate(rate) for rate in rates)
